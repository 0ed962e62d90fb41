"""Inspect runs and models: curves, the state of runs, attention."""
