"""Set up mixed precision: matrix products in 16 bits, weights and sums in 32."""

import functools
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import torch

from heed.durable import read_json, write_json
from heed.errors import ConfigError, HeedError
from heed.kernels import bf16
from heed.kernels.library import library_path
from heed.model.products import Bfloat16Products

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}

# Keeps oneDNN from using AMX. Some virtual machines announce AMX without describing it (CPUID leaves 0x1D and 0x1E are
# empty), and oneDNN then generates code that dies of SIGILL. It reads this variable before its first product.
_WITHOUT_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
_TRIAL = Path(__file__).with_name("try_bfloat16.py")
_TRIAL_SECONDS = 300  # it takes two or three, mostly to import torch
_TOO_LONG = f"took more than {_TRIAL_SECONDS} seconds"
_PASSING = (_TOO_LONG, "died of SIGKILL")  # what may go wrong on a busy machine, or without memory, and not next time


def check_precision(precision: str, device: torch.device, say: Callable[[str], None] = lambda text: None) -> None:
    """Refuse a precision that this device does not support; set the environment variables it needs, and report them.

    Raises:
        ConfigError: on this device the precision would be slower than float32, or give wrong results.
    """
    if precision == "float32":
        return
    reason = None
    if device.type == "cpu" and precision == "float16":
        reason = "CPUs do not compute faster in float16; use float32 or bfloat16"
    elif device.type == "cpu" and not _has_bfloat16_instructions():
        reason = "this CPU has no bfloat16 instructions (AMX or AVX512_BF16), so it would be slower; use float32"
    elif device.type == "cpu" and has_own_products(precision, device):
        if failed := _failed_trials():
            say(f"bfloat16 products: {failed} on this CPU, so they use {_own_products()}")
    elif device.type == "cpu":
        settings, reason = _bfloat16_here()
        if not settings.items() <= os.environ.items():
            os.environ.update(settings)
            say(f"bfloat16 fails with this CPU's AMX instructions, so they are disabled ({_named(settings)})")
    elif device.type == "cuda" and precision == "bfloat16" and not torch.cuda.is_bf16_supported(False):
        reason = "this GPU has no bfloat16 instructions; use float16"
    if reason is not None:
        raise ConfigError(f'train.precision = "{precision}" does not suit this device ({device}): {reason}')


def faster_precision(precision: str, device: torch.device) -> str:
    """Return advice if this device multiplies faster in another precision; "" if not."""
    if precision == "float32" and device.type == "cpu" and bf16.ways():
        return "this CPU trains faster with --set train.precision=bfloat16"
    return ""


def products_in(precision: str, device: torch.device, compiled: bool = False) -> AbstractContextManager[object]:
    """Return a context in which matrix products are computed in this precision; `compiled`: by torch.compile."""
    if precision == "float32":
        return nullcontext()
    if has_own_products(precision, device) and not compiled:
        return Bfloat16Products()
    return torch.autocast(device.type, _DTYPES[precision])


def has_own_products(precision: str, device: torch.device) -> bool:
    """Return whether heed's kernels compute its products: bfloat16 on a CPU with AMX or AVX512-BF16."""
    return precision == "bfloat16" and device.type == "cpu" and _own_products() is not None


def products_by(precision: str, device: torch.device) -> str:
    """Name what computes the products of this precision: instructions that heed's kernels use, or PyTorch."""
    return (_own_products() if has_own_products(precision, device) else None) or "PyTorch"


def make_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Return a scaler that keeps small float16 gradients from vanishing; in other precisions it does nothing."""
    return torch.amp.GradScaler(device.type, enabled=precision == "float16")


def bfloat16_fault(environment: Mapping[str, str], way: str | None = None) -> str | None:
    """Multiply in bfloat16 in a new process with this environment; return what went wrong, or None.

    `way`: with heed's kernels and these instructions instead of PyTorch's.
    """
    try:
        command = [sys.executable, "-P", str(_TRIAL), *([] if way is None else [way])]
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
def _own_products() -> str | None:
    """Let the kernels use the fastest instructions that multiply right on this machine, and return their name."""
    way = next((way for way, fault in _own_trials().items() if fault is None), None)
    if way is not None:
        bf16.use(way)
    return way


def _failed_trials() -> str:
    """Say what went wrong with faster instructions; "" if nothing did."""
    return ", ".join(f"{way} {fault}" for way, fault in _own_trials().items() if fault is not None)


@functools.cache
def _own_trials() -> dict[str, str | None]:
    """Try the kernels, fastest first, until one works; return what went wrong with each.

    The answers are kept beside the kernels, for later runs, unless they may be others then.
    """
    if not bf16.ways():
        return {}
    found = library_path()
    note = None if found is None else found.with_suffix(".bf16.json")
    known = {} if note is None else _noted(note)
    trials: dict[str, str | None] = {}
    for way in bf16.ways():
        trials[way] = known[way] if way in known else bfloat16_fault(os.environ, way)
        if trials[way] is None:
            break
    lasting = {way: fault for way, fault in trials.items() if fault not in _PASSING}
    if note is not None and not lasting.items() <= known.items():
        with suppress(OSError):  # a cache that cannot be written: try again next time
            write_json(note, {"machine": platform.node(), "faults": lasting})
    return trials


def _noted(note: Path) -> dict[str, str | None]:
    """Return the answers of an earlier run on this machine: machines may share a home folder."""
    try:
        kept = read_json(note)
        if kept["machine"] == platform.node() and isinstance(kept["faults"], dict):
            return kept["faults"]
    except (HeedError, KeyError):
        pass  # not tried yet, or damaged
    return {}


@functools.cache
def _bfloat16_here() -> tuple[Mapping[str, str], str | None]:
    """Return the environment variables that bfloat16 needs on this CPU, and the reason if it cannot be used."""
    fault = bfloat16_fault(os.environ)
    if fault is None:
        return {}, None
    if bfloat16_fault({**os.environ, **_WITHOUT_AMX}) is None:
        return _WITHOUT_AMX, None
    return {}, f"a trial product {fault}, also with {_named(_WITHOUT_AMX)}; use float32"


def _has_bfloat16_instructions() -> bool:
    if not hasattr(torch.cpu, "get_capabilities"):  # an older PyTorch, which does not report them
        return True
    found = torch.cpu.get_capabilities()
    return any(found.get(name, False) for name in ("amx_bf16", "avx512_bf16", "bf16", "sve_bf16"))


def _named(settings: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())
