"""Section 5.4: residual dropout, with masks that cost little.

PyTorch draws a processor's masks number by number, which takes longer than the layer they are for. Here one 64-bit
random number decides on four elements, each dropped with a probability that is a multiple of 2⁻¹⁶.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_STEPS = 1 << 16


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
        y: Tensor = _Dropout.apply(x, round(self.p * _STEPS))  # type: ignore[no-untyped-call]
        return y


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: int) -> Tensor:
        """`dropped` of the 2¹⁶ numbers there are mean zero."""
        random = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(1 << 63), None)
        keep = random.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - _STEPS // 2
        ctx.save_for_backward(keep)
        ctx.scale = _STEPS / (_STEPS - dropped)
        return _masked(x, keep, ctx.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return _masked(grad, keep, ctx.scale), None


def _masked(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    # Bytes become numbers quickly; truth values do not.
    return keep.view(torch.uint8).to(x.dtype).mul_(x).mul_(scale)
