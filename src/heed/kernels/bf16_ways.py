"""Choose the instructions that multiply in bfloat16 on this processor.

Each is tried in a separate process before it is used: a virtual machine may announce instructions that it does not
have, and they kill the process.
"""

import ctypes
import functools
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from heed.cache import cache_folder, is_private
from heed.durable import read_json, write_json
from heed.errors import HeedError
from heed.kernels.library import library, library_path

WAYS = ("AMX", "AVX512-BF16")  # the instructions there are kernels for, fastest first
_TRIAL = Path(__file__).with_name("try_bf16.py")
_TRIAL_SECONDS = 300  # a trial takes two or three at most, mostly to import torch or to compile the kernels
_TOO_LONG = f"took more than {_TRIAL_SECONDS} seconds"
_PASSING = (_TOO_LONG, "died of SIGKILL")  # what may go wrong on a busy machine, or without memory, and not next time


@functools.cache
def ways() -> tuple[str, ...]:
    """Return the instructions of WAYS that the processor claims to have. A virtual machine may claim too much."""
    found, claimed = library(), (ctypes.c_int * len(WAYS))()
    if found is not None:
        found.heed_bf16_ways(claimed)
    return tuple(way for way, yes in zip(WAYS, claimed, strict=True) if yes)


def use(way: str) -> None:
    """Multiply with these instructions from now on, in the whole process. Without this call it is AVX512-BF16."""
    found = library()
    assert found is not None  # see `ways`
    found.heed_bf16_use(WAYS.index(way))


@functools.cache
def chosen() -> str | None:
    """Let the kernels use the fastest instructions that multiply right on this machine, and return their name."""
    way = next((way for way, fault in _trials().items() if fault is None), None)
    if way is not None:
        use(way)
    return way


def failed_trials() -> str:
    """Say what went wrong with faster instructions; "" if nothing did."""
    return ", ".join(f"{way} {fault}" for way, fault in _trials().items() if fault is not None)


def reason_not_here() -> str | None:
    """Return why nothing multiplies in bfloat16 here; None: the kernels do, with the instructions chosen."""
    if chosen() is not None:
        return None
    return f"on this processor, {failed_trials() or 'there are no instructions for it: AMX or AVX512-BF16'}"


def fault_of(program: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Run a trial in a new process with this environment (default: that of this process).

    Return what went wrong, or None.
    """
    import signal
    import subprocess

    try:
        command = [sys.executable, "-P", str(program), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_TRIAL_SECONDS)
    except subprocess.TimeoutExpired:
        return _TOO_LONG
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"died of {signal.Signals(-done.returncode).name}"
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return f"failed ({last[0]})"


@functools.cache
def _trials() -> dict[str, str | None]:
    """Try the kernels, fastest first, until one works; return what went wrong with each.

    The answers are kept in the cache, for later runs, unless they may be others then.
    """
    if not ways():
        return {}
    note = _note()
    known = {} if note is None else _noted(note)
    trials: dict[str, str | None] = {}
    for way in ways():
        trials[way] = known[way] if way in known else fault_of(_TRIAL, way)
        if trials[way] is None:
            break
    lasting = {way: fault for way, fault in trials.items() if fault not in _PASSING}
    if note is not None and not lasting.items() <= known.items():
        with suppress(OSError):  # a cache that cannot be written: try again next time
            write_json(note, {"machine": platform.node(), "faults": lasting})
    return trials


def _note() -> Path | None:
    """Return the file for the answers about these kernels; None: they, or it, cannot be kept."""
    library, folder = library_path(), cache_folder()
    if library is None or folder is None or not is_private(folder.stat()):
        return None
    return folder / f"{library.stem}.bf16.json"


def _noted(note: Path) -> dict[str, str | None]:
    """Return the answers of an earlier run on this machine: machines may share a home folder."""
    try:
        kept = read_json(note)
        if kept["machine"] == platform.node() and isinstance(kept["faults"], dict):
            return kept["faults"]
    except (HeedError, KeyError):
        pass  # not tried yet, or damaged
    return {}
