"""Make the allocator keep freed memory."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # from glibc's <malloc.h>


def keep_freed_memory() -> None:
    """Tell glibc's allocator never to return memory to the system; with another C library, do nothing.

    Training and search free and allocate the same large tensors at every step. The system zeroes each new page, which
    costs far more than reusing one. In return, the process keeps its peak memory until it ends.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, -1)
