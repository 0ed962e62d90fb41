"""Keep freed memory for reuse."""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # from glibc's <malloc.h>


def keep_freed_memory() -> None:
    """Tell glibc's allocator to return no memory to the system; do nothing on other systems.

    Training and search free and allocate the same large tensors at every step. The system zeroes every new page, which
    costs far more than reusing one. In exchange, the process stays at its peak memory until it ends.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, -1)
