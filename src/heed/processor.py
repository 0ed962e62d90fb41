"""Identify the processor and its instruction sets."""

import platform
from pathlib import Path


def name() -> str:
    """Return the processor's name, such as "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"."""
    return _first("model name") or platform.processor() or platform.machine()


def instructions() -> str:
    """Return the instruction sets that the processor lists; a virtual machine may list some that do not work."""
    return _first("flags", "Features") or platform.platform()


def _first(*names: str) -> str:
    """Return the value of the first line of /proc/cpuinfo that starts with one of the names; "" if none does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(names)), "")
