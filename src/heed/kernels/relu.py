"""Section 3.3's max(0, x + b): a fused kernel for the forward pass, in place, and one for the backward pass."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels import residual
from heed.kernels.library import library


def supports(x: Tensor) -> bool:
    """Return whether the kernel can take the output of a linear layer with this input, and is faster than PyTorch."""
    return residual.supports(x) and not torch.is_autocast_enabled(x.device.type)


def relu_(x: Tensor, bias: Tensor) -> Tensor:
    """Return max(0, x + bias), computed in place."""
    y: Tensor = _Relu.apply(x, bias)  # type: ignore[no-untyped-call]
    return y


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        assert x.is_contiguous() and x.size(-1) == len(bias)
        _call("heed_relu", (x, bias), len(bias))
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor, Tensor]:
        (y,) = ctx.saved_tensors
        grad_x, grad_bias = torch.empty_like(y), y.new_zeros(y.size(-1))
        _call("heed_relu_backward", (y, grad_y.contiguous(), grad_x, grad_bias), y.size(-1))
        return grad_x, grad_bias


def _call(function: str, tensors: tuple[Tensor, ...], d: int) -> None:
    getattr(library(), function)(*(tensor.data_ptr() for tensor in tensors), tensors[0].numel() // d, d)
