"""Follow runs: their state, and their curves."""
