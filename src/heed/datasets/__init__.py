"""Public data sets by name: a catalogue, downloads that resume, and line-aligned text from their archives."""
