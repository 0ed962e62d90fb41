"""Keeping freed memory."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of glibc's <malloc.h>


def keep_freed_memory() -> None:
    """Tell glibc's allocator to hand nothing back to the system; elsewhere, do nothing.

    Pages fresh from the system must be zeroed by it first, which costs far more than using them again, and steps of
    training and search free and ask for the same large tensors over and over. The process stays at its peak until it
    ends.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, -1)
