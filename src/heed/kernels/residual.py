"""Section 5.4's residual dropout in one go with the sum and the layer normalization around it, and the way back.

PyTorch makes these one after the other, each with all its threads. Where there is one thread only, one go takes a
fraction of the time. A mask is a function of a seed, so that none is kept from forward to backward.
"""

import ctypes
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heed.kernels.library import kernels, library

STEPS = 1 << 16  # probabilities are multiples of 1 / STEPS
_BLOCK = 32  # as in residual.c


def is_for(*tensors: Tensor) -> bool:
    """Whether these kernels can take such tensors, all of one shape, and are the quickest way here."""
    return (
        not torch.compiler.is_compiling()
        and torch.get_num_threads() == 1
        and kernels(*tensors) is not None
        and all(tensor.is_contiguous() and tensor.shape == tensors[0].shape for tensor in tensors)
    )


def dropout(x: Tensor, p: float, seed: int) -> Tensor:
    """Dropout(x)."""
    y: Tensor = _DropoutAdd.apply(None, x, _drawn(p, seed))  # type: ignore[no-untyped-call]
    return y


def dropout_add(x: Tensor, y: Tensor, p: float, seed: int) -> Tensor:
    """x + Dropout(y)."""
    z: Tensor = _DropoutAdd.apply(x, y, _drawn(p, seed))  # type: ignore[no-untyped-call]
    return z


def dropout_add_norm(x: Tensor, y: Tensor, p: float, seed: int, norm: nn.LayerNorm) -> Tensor:
    """LayerNorm(x + Dropout(y))."""
    z: Tensor = _DropoutAddNorm.apply(x, y, norm.weight, norm.bias, norm.eps, _drawn(p, seed))  # type: ignore[no-untyped-call]
    return z


_Drawn = tuple[int, int, float]  # the seed, how many of the STEPS numbers there are mean zero, and 1 / (1 - p)


def _drawn(p: float, seed: int) -> _Drawn:
    dropped = round(p * STEPS)
    return seed, dropped, STEPS / (STEPS - dropped)


class _DropoutAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor | None, y: Tensor, drawn: _Drawn) -> Tensor:
        ctx.drawn = drawn
        return _dropout_add(x, y, drawn)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None]:
        grad_x = grad if ctx.needs_input_grad[0] else None
        return grad_x, _dropout_add(None, grad.contiguous(), ctx.drawn), None


class _DropoutAddNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, gain: Tensor, bias: Tensor, epsilon: float, drawn: _Drawn) -> Tensor:
        rows, d = _rows(x)
        z, means, scales, room = torch.empty_like(x), x.new_empty(rows), x.new_empty(rows), _room(x)
        _library().heed_dropout_add_norm(
            *_pointers(x, y, gain, bias, z, means, scales, room), *(rows, d, epsilon), *drawn
        )
        # x is kept by the sub-layer anyway; what is normalized is quickly made again.
        ctx.save_for_backward(x, y, gain, means, scales)
        ctx.drawn = drawn
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, y, gain, means, scales = ctx.saved_tensors
        grad, rooms = grad.contiguous(), (_room(x), _room(x))
        grads = torch.empty_like(x), torch.empty_like(y), torch.zeros_like(gain), torch.zeros_like(gain)
        _library().heed_dropout_add_norm_back(
            *_pointers(grad, x, y, gain, means, scales, *grads, *rooms), *_rows(x), *ctx.drawn
        )
        return *grads, None, None


def _dropout_add(x: Tensor | None, y: Tensor, drawn: _Drawn) -> Tensor:
    z = torch.empty_like(y)
    _library().heed_dropout_add(x if x is None else x.data_ptr(), *_pointers(y, z), *_rows(y), *drawn)
    return z


def _rows(x: Tensor) -> tuple[int, int]:
    """How many rows there are, and how long they are."""
    d = x.size(-1) if x.dim() else 1
    return x.numel() // max(d, 1), d


def _room(x: Tensor) -> Tensor:
    """For a row of whole blocks."""
    return x.new_empty(-(-x.size(-1) // _BLOCK) * _BLOCK)


def _pointers(*tensors: Tensor) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors]


def _library() -> ctypes.CDLL:
    found = library()
    assert found is not None  # see `is_for`
    return found
