"""Section 5: training."""
