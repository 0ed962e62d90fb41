"""Mixed precision: matrix products in 16 bits, weights and sums in 32."""

from contextlib import AbstractContextManager, nullcontext

import torch

from heed.errors import ConfigError

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def check_precision(precision: str, device: torch.device) -> None:
    """
    Raises:
        ConfigError: on this device it would be slower than float32, or wrong.
    """
    if precision == "float32":
        return
    if device.type == "cpu" and precision == "float16":
        reason = "processors have no 16-bit floating-point products to gain by"
    elif device.type == "cpu" and not _cpu_multiplies_bfloat16():
        reason = "this processor has no bfloat16 products (AMX or AVX512_BF16); it would be slower than float32"
    elif device.type == "cuda" and precision == "bfloat16" and not torch.cuda.is_bf16_supported(False):
        reason = "this GPU has no bfloat16 products; take float16"
    else:
        return
    raise ConfigError(f'train.precision = "{precision}" is not for this device ({device}): {reason}')


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Within, matrix products are in 16 bits."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, _DTYPES[precision])


def make_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """float16 gradients are scaled up, so that small ones do not vanish; otherwise it does nothing."""
    return torch.amp.GradScaler(device.type, enabled=precision == "float16")


def _cpu_multiplies_bfloat16() -> bool:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith(("flags", "Features"))), "").split()
    except OSError:
        return False
    return not {"amx_bf16", "avx512_bf16", "bf16"}.isdisjoint(flags)
