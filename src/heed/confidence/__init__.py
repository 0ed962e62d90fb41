"""Confidence: the chance that a translation, or a word of it, is good, estimated on held-out text."""
