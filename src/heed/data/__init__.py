"""Text files to batches of ids."""
