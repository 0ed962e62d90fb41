"""The name and instruction sets of the processor."""

import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


def name() -> str:
    """Return the processor's name, such as "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"."""
    return _entry(_CPUINFO, "model name") or platform.processor() or platform.machine()


def instructions(cpuinfo: Path = _CPUINFO) -> str:
    """Return the instruction sets that the processor reports, after its family and model; "" if it reports none.

    Family and model stand for sets that Linux does not list. A virtual machine may report sets that do not work.
    """
    sets = _entry(cpuinfo, "flags", "Features")
    family, model = _entry(cpuinfo, "cpu family", "CPU implementer"), _entry(cpuinfo, "model\t", "CPU part")
    return f"{family} {model} {sets}" if sets else ""


def _entry(cpuinfo: Path, *names: str) -> str:
    """Return the first entry with one of these names; "" if there is none."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(names)), "")
