"""Formulas that have a fused C kernel: each function uses the kernel where it applies, and PyTorch elsewhere."""

import torch.nn.functional as F
from torch import Tensor, nn

from heed.kernels import relu, residual
from heed.kernels.residual import Mask
from heed.model.dropout import Dropout


def dropout_add(x: Tensor, y: Tensor, dropout: Dropout, seed: Tensor | None) -> Tensor:
    """Return x + Dropout(y)."""
    if dropout.training and seed is not None and residual.supports(x, y):
        return residual.dropout_add(x, y, Mask(seed, dropout.site, dropout.p))
    dropped: Tensor = dropout(y, seed)
    return x + dropped


def dropout_add_norm(x: Tensor, y: Tensor, dropout: Dropout, seed: Tensor | None, norm: nn.Module) -> Tensor:
    """Return LayerNorm(x + Dropout(y))."""
    if dropout.training and seed is not None and type(norm) is nn.LayerNorm and residual.supports(x, y):
        return residual.dropout_add_norm(x, y, Mask(seed, dropout.site, dropout.p), norm)
    z: Tensor = norm(x + dropout(y, seed))
    return z


def linear_relu(x: Tensor, linear: nn.Module) -> Tensor:
    """Return max(0, x W + b)."""
    if linear.training and type(linear) is nn.Linear and relu.supports(x):
        return relu.relu_(F.linear(x, linear.weight), linear.bias)
    y: Tensor = linear(x).relu()
    return y
