"""Section 5.4: residual dropout, with masks that cost little.

PyTorch draws a processor's masks number by number, which takes longer than the layer they are for. Here one 64-bit
random number decides on four elements, each dropped with a probability that is a multiple of 2⁻¹⁶; and where the
kernels are, one such number is the seed of a whole mask.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heed.kernels import residual
from heed.kernels.residual import STEPS

_of_this_thread = threading.local()


@contextmanager
def dropout_seeded(seed: int) -> Iterator[None]:
    """In here, what is dropped follows from the seed, whatever other threads draw meanwhile.

    Outside, and always on other devices and in compiled models, dropout goes by PyTorch's own generator: also seeded.
    """
    torch.manual_seed(seed)
    before = _generator()
    _of_this_thread.generator = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        _of_this_thread.generator = before


def _generator() -> torch.Generator | None:
    """Where this thread's random numbers on the processor come from; None: from PyTorch's own generator."""
    generator: torch.Generator | None = getattr(_of_this_thread, "generator", None)
    return generator


def draw(n: int = 1) -> Tensor:
    """n random 64-bit numbers."""
    return torch.empty(n, dtype=torch.int64).random_(-(1 << 63), None, generator=_generator())


class Dropout(nn.Module):
    """In training, each element is zero with probability p, and the rest are scaled up to make up for it."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(x, self.p)
        if residual.is_for(x):
            return residual.dropout(x, self.p, int(draw()))
        y: Tensor = _Dropout.apply(x, round(self.p * STEPS))  # type: ignore[no-untyped-call]
        return y


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: int) -> Tensor:
        """`dropped` of the 2¹⁶ numbers there are mean zero."""
        random = draw(-(-x.numel() // 4))
        keep = random.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - STEPS // 2
        ctx.save_for_backward(keep)
        ctx.scale = STEPS / (STEPS - dropped)
        return _masked(x, keep, ctx.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return _masked(grad, keep, ctx.scale), None


def _masked(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    # Bytes become numbers quickly; truth values do not.
    return keep.view(torch.uint8).to(x.dtype).mul_(x).mul_(scale)
