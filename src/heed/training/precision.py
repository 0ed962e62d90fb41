"""Set up mixed precision: matrix products in 16 bits, weights and sums in 32."""

import functools
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

from heed.errors import ConfigError
from heed.kernels import bf16_ways
from heed.kernels.bf16_ways import fault_of
from heed.model.products import Bfloat16Products

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}

# Keeps oneDNN from using AMX. Some virtual machines announce AMX without describing it (CPUID leaves 0x1D and 0x1E are
# empty), and oneDNN then generates code that dies of SIGILL. It reads this variable before its first product.
_WITHOUT_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}
_TRIAL = Path(__file__).with_name("try_bfloat16.py")


def check_precision(
    precision: str, device: torch.device, say: Callable[[str], None] = lambda text: None, compiled: bool = False
) -> None:
    """Refuse a precision that this device does not support; set the environment variables it needs, and report them.

    `compiled`: the layers are compiled by torch.compile, here and below.

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
    elif device.type == "cpu" and has_own_products(precision, device, compiled):
        if failed := bf16_ways.failed_trials():
            say(f"bfloat16 products: {failed} on this CPU, so they use {bf16_ways.chosen()}")
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
    if precision == "float32" and device.type == "cpu" and bf16_ways.ways():
        return "this CPU trains faster with --set train.precision=bfloat16"
    return ""


def products_in(precision: str, device: torch.device, compiled: bool = False) -> AbstractContextManager[object]:
    """Return a context in which matrix products are computed in this precision."""
    if precision == "float32":
        return nullcontext()
    if has_own_products(precision, device, compiled):
        return Bfloat16Products()
    return torch.autocast(device.type, _DTYPES[precision])


def has_own_products(precision: str, device: torch.device, compiled: bool = False) -> bool:
    """Return whether heed's kernels compute its products: bfloat16 on a CPU with AMX or AVX512-BF16, not compiled."""
    return precision == "bfloat16" and device.type == "cpu" and not compiled and bf16_ways.chosen() is not None


def products_by(precision: str, device: torch.device, compiled: bool = False) -> str:
    """Name what computes the products of this precision: instructions that heed's kernels use, or PyTorch."""
    return (bf16_ways.chosen() if has_own_products(precision, device, compiled) else None) or "PyTorch"


def make_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Return a scaler that keeps small float16 gradients from vanishing; in other precisions it does nothing."""
    return torch.amp.GradScaler(device.type, enabled=precision == "float16")


def bfloat16_fault(environment: Mapping[str, str]) -> str | None:
    """Multiply in bfloat16 with PyTorch in a new process with this environment; return what went wrong, or None."""
    return fault_of(_TRIAL, environment=environment)


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
