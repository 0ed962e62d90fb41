"""Linear layers whose products are in bfloat16, by heed's kernels; everything between the products stays in 32 bits.

PyTorch's autocast also makes the tensors between the products 16 bits wide, which heed's other kernels do not take. And
its products on a CPU compile a kernel for every shape: batches without padding have a new shape each.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

from heed.kernels import bf16

_here = threading.local()


class Bfloat16Products(TorchFunctionMode):
    """A context in which every linear layer of this thread computes its three products in bfloat16."""

    def __enter__(self) -> "Bfloat16Products":
        _here.in_bfloat16 = True
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: Any) -> None:
        _here.in_bfloat16 = False
        super().__exit__(*exception)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is F.linear:
            return linear(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def in_bfloat16() -> bool:
    """Return whether this thread is in the context above."""
    return getattr(_here, "in_bfloat16", False)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input · weightᵀ + bias in 32 bits, by products in bfloat16: F.linear with its arguments' names."""
    y: Tensor = _Linear.apply(input, weight)  # type: ignore[no-untyped-call]
    return y if bias is None else y + bias


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight_YX: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight_YX)
        y = x.new_empty(*x.shape[:-1], len(weight_YX))
        bf16.multiply(x.flatten(0, -2), bf16.pack(weight_YX.T), y.view(-1, len(weight_YX)))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight_YX = ctx.saved_tensors
        grad_NY = grad.reshape(-1, len(weight_YX))
        wants_x, wants_weight = ctx.needs_input_grad
        return (
            bf16.multiply(grad_NY, bf16.pack(weight_YX)).view(x.shape) if wants_x else None,
            bf16.multiply(grad_NY.T, bf16.pack(x.flatten(0, -2))) if wants_weight else None,
        )


class Factor:
    """The output weight as a factor of the loss's three products, with PyTorch."""

    def __init__(self, weight_VD: Tensor) -> None:
        self._weight_VD = weight_VD

    def logits(self, hidden_nD: Tensor, out_nV: Tensor) -> Tensor:
        """Return hidden · weightᵀ, written to `out`."""
        return torch.mm(hidden_nD, self._weight_VD.T, out=out_nV)

    def grad_hidden(self, grad_nV: Tensor, out_nD: Tensor) -> Tensor:
        """Return grad · weight, written to `out`."""
        return torch.mm(grad_nV, self._weight_VD, out=out_nD)

    def add_grad_weight(self, grad_nV: Tensor, hidden_nD: Tensor, out_VD: Tensor) -> None:
        """Add gradᵀ · hidden to `out`."""
        if grad_nV.dtype == out_VD.dtype:
            out_VD.addmm_(grad_nV.T, hidden_nD)
        else:
            out_VD += grad_nV.T @ hidden_nD


class Bfloat16Factor(Factor):
    """The same with heed's kernels, in bfloat16; the weight is packed once."""

    def __init__(self, weight_VD: Tensor) -> None:
        self._for_logits, self._for_grad = bf16.pack(weight_VD.T), bf16.pack(weight_VD)

    def logits(self, hidden_nD: Tensor, out_nV: Tensor) -> Tensor:
        return bf16.multiply(hidden_nD, self._for_logits, out_nV)

    def grad_hidden(self, grad_nV: Tensor, out_nD: Tensor) -> Tensor:
        return bf16.multiply(grad_nV, self._for_grad, out_nD)

    def add_grad_weight(self, grad_nV: Tensor, hidden_nD: Tensor, out_VD: Tensor) -> None:
        bf16.multiply(grad_nV.T, bf16.pack(hidden_nD), out_VD, accumulate=True)
