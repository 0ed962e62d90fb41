"""Section 3.3's max(0, x + b) in the place of x, and both its gradients, in one go each."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels import residual
from heed.kernels.library import library


def is_for_products_of(x: Tensor) -> bool:
    """Whether the kernel can take what linear layers make of such a tensor, and is the quickest way here."""
    return residual.is_for(x) and not torch.is_autocast_enabled(x.device.type)


def relu_(x: Tensor, bias: Tensor) -> Tensor:
    """max(0, x + bias) in the place of x."""
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
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, Tensor]:
        (y,) = ctx.saved_tensors
        by_x, by_bias = torch.empty_like(y), y.new_zeros(y.size(-1))
        _call("heed_relu_back", (y, above.contiguous(), by_x, by_bias), y.size(-1))
        return by_x, by_bias


def _call(function: str, tensors: tuple[Tensor, ...], d: int) -> None:
    getattr(library(), function)(*(tensor.data_ptr() for tensor in tensors), tensors[0].numel() // d, d)
