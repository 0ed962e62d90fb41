"""Section 5.4's residual dropout fused with the sum and the layer normalization around it, and their backward pass.

PyTorch runs these one after the other, each with all its threads. With a single thread, the fused loop takes a fraction
of the time. A mask is a function of its rows' seeds (`model/dropout.py`), so none is stored for the backward pass.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heed.kernels.library import kernels, library

PROBABILITY_LEVELS = 1 << 16  # a dropout probability is a multiple of 1 / this
_BLOCK = 32  # as in residual.c


def supports(*tensors: Tensor) -> bool:
    """Return whether these kernels can take these tensors, all of one shape, and are faster than PyTorch."""
    return (
        not torch.compiler.is_compiling()
        and torch.get_num_threads() == 1
        and kernels(*tensors) is not None
        and all(tensor.is_contiguous() and tensor.shape == tensors[0].shape for tensor in tensors)
    )


@dataclass(frozen=True)
class Mask:
    """A dropout mask, as the values that determine it: each row's seed, the site in the layer and the probability."""

    seeds: Tensor  # one for each row
    site: int
    p: float

    def arguments(self, rows: int) -> tuple[int, int, int, float]:
        """Return what C takes: the seeds' address, the site, p in probability levels, and 1 / (1 - p).

        Raises:
            ValueError: not one 64-bit seed for each row.
        """
        if self.seeds.dtype != torch.int64 or self.seeds.numel() != rows or not self.seeds.is_contiguous():
            raise ValueError(f"{rows} rows need as many 64-bit seeds, not {self.seeds.dtype} {tuple(self.seeds.shape)}")
        dropped = round(self.p * PROBABILITY_LEVELS)
        return self.seeds.data_ptr(), self.site, dropped, PROBABILITY_LEVELS / (PROBABILITY_LEVELS - dropped)


def dropout(x: Tensor, mask: Mask) -> Tensor:
    """Return Dropout(x)."""
    y: Tensor = _DropoutAdd.apply(None, x, mask)  # type: ignore[no-untyped-call]
    return y


def dropout_add(x: Tensor, y: Tensor, mask: Mask) -> Tensor:
    """Return x + Dropout(y)."""
    z: Tensor = _DropoutAdd.apply(x, y, mask)  # type: ignore[no-untyped-call]
    return z


def dropout_add_norm(x: Tensor, y: Tensor, mask: Mask, norm: nn.LayerNorm) -> Tensor:
    """Return LayerNorm(x + Dropout(y))."""
    z: Tensor = _DropoutAddNorm.apply(x, y, norm.weight, norm.bias, norm.eps, mask)  # type: ignore[no-untyped-call]
    return z


class _DropoutAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor | None, y: Tensor, mask: Mask) -> Tensor:
        ctx.mask = mask
        return _dropout_add(x, y, mask)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None]:
        grad_x = grad if ctx.needs_input_grad[0] else None
        return grad_x, _dropout_add(None, grad.contiguous(), ctx.mask), None


class _DropoutAddNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, gain: Tensor, bias: Tensor, epsilon: float, mask: Mask) -> Tensor:
        rows, d = _rows(x)
        z, means, inverse_deviations, scratch = (
            torch.empty_like(x),
            x.new_empty(rows),
            x.new_empty(rows),
            _scratch_row(x),
        )
        _library().heed_dropout_add_norm(
            *_pointers(x, y, gain, bias, z, means, inverse_deviations, scratch),
            *(rows, d, epsilon),
            *mask.arguments(rows),
        )
        # The sub-layer keeps x anyway, and recomputing the normalized values is cheap.
        ctx.save_for_backward(x, y, gain, means, inverse_deviations)
        ctx.mask = mask
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, y, gain, means, inverse_deviations = ctx.saved_tensors
        rows, d = _rows(x)
        grad, scratch = grad.contiguous(), (_scratch_row(x), _scratch_row(x))
        grads = torch.empty_like(x), torch.empty_like(y), torch.zeros_like(gain), torch.zeros_like(gain)
        _library().heed_dropout_add_norm_backward(
            *_pointers(grad, x, y, gain, means, inverse_deviations, *grads, *scratch),
            *(rows, d),
            *ctx.mask.arguments(rows),
        )
        return *grads, None, None


def _dropout_add(x: Tensor | None, y: Tensor, mask: Mask) -> Tensor:
    z, (rows, d) = torch.empty_like(y), _rows(y)
    _library().heed_dropout_add(x if x is None else x.data_ptr(), *_pointers(y, z), *(rows, d), *mask.arguments(rows))
    return z


def _rows(x: Tensor) -> tuple[int, int]:
    """Return the number of rows and their length."""
    d = x.size(-1) if x.dim() else 1
    return x.numel() // max(d, 1), d


def _scratch_row(x: Tensor) -> Tensor:
    """Return a buffer for a row, rounded up to full blocks."""
    return x.new_empty(-(-x.size(-1) // _BLOCK) * _BLOCK)


def _pointers(*tensors: Tensor) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors]


def _library() -> ctypes.CDLL:
    found = library()
    assert found is not None  # see `supports`
    return found
