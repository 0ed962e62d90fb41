"""Convert strings to ids and back. Nothing here imports torch."""
