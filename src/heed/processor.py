"""The name and instruction sets of the processor."""

import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def name() -> str:
    """Return the processor's name, such as "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"."""
    return _entry(_CPUINFO, "model name") or platform.processor() or platform.machine()


def instructions(cpuinfo: Path = _CPUINFO) -> str:
    """Return the instruction sets that the processor reports, or else the platform's name.

    A virtual machine may report sets that do not work.
    """
    return _entry(cpuinfo, "flags", "Features") or platform.platform()


def _entry(cpuinfo: Path, *names: str) -> str:
    """Return the first entry with one of these names; "" if there is none."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(names)), "")
