"""Engines compute translations: heed's own search (`searching.py`), with one of two implementations of the model.

"native" is in C and needs no torch, the default on a CPU with a C compiler: `native.py`. "torch" is the reference, and
the default elsewhere: `pytorch.py`. They take the same options and return the same results.
"""

NAMES = ("native", "torch")
