"""Weights of 8 bits: a quarter of the memory to read, several products in one instruction; a little less exact.

Each row of a weight matrix has a scale of its own, and so has each row of numbers it meets, taken as it comes: what
becomes of a sentence does not depend on its neighbours in a batch.
"""

import copy
from typing import cast

import torch
from torch import Tensor, nn

from heed.kernels import int8
from heed.kernels.library import kernels
from heed.model.incremental import Product
from heed.model.layers import DecoderLayer, EncoderLayer
from heed.model.transformer import Transformer

_MOST = 127  # of the steps on either side of zero
_ZERO = 128  # oneDNN wants numbers without sign on the left
_LEAST = 1e-30  # a row's largest number; below, _MOST / it were infinite


def int8_product(weight_OI: Tensor, bias_O: Tensor | None = None) -> Product:
    """x · weightᵀ + bias, with the weight rounded once and x each time."""
    kind = ByPyTorch if kernels(weight_OI) is None else Compiled
    return kind(weight_OI, bias_O)


def _rounded(weight_OI: Tensor) -> tuple[Tensor, Tensor]:
    """The weight in steps, and their size in each row."""
    scale_O = weight_OI.abs().amax(1).clamp_min_(_LEAST).div_(_MOST)
    return (weight_OI / scale_O.unsqueeze(1)).round_().to(torch.int8), scale_O


class Compiled:
    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        self.weight, self._bias_O = int8.Int8Weight(*_rounded(weight_OI)), bias_O

    def __call__(self, x_RI: Tensor, /) -> Tensor:
        return int8.int8_product(x_RI, self.weight, self._bias_O)


class ByPyTorch:
    """The same where there is no compiler."""

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        steps_OI, self._scale_O = _rounded(weight_OI)
        self.weight: Tensor = torch.ops.onednn.qlinear_prepack(steps_OI, None)
        self._zero_O, self._bias_O = torch.zeros(len(steps_OI), dtype=torch.int32), bias_O

    def __call__(self, x_RI: Tensor, /) -> Tensor:
        largest_R1 = x_RI.abs().amax(1, keepdim=True).clamp_min_(_LEAST)
        steps_RI = (x_RI * (largest_R1.new_tensor(_MOST) / largest_R1)).round_().add_(_ZERO).to(torch.uint8)
        x, weight = (steps_RI, 1 / _MOST, _ZERO), (self.weight, self._scale_O, self._zero_O)
        y_RO: Tensor = torch.ops.onednn.qlinear_pointwise(*x, *weight, None, 1.0, 0, torch.float32, "none", [], "")
        y_RO.mul_(largest_R1)
        return y_RO if self._bias_O is None else y_RO.add_(self._bias_O)


class _Int8Linear(nn.Module):
    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._product = int8_product(linear.weight, linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        y_RO = self._product(x.flatten(0, -2))
        return y_RO.view(*x.shape[:-1], y_RO.size(1))


@torch.inference_mode()
def int8_encoder(model: Transformer) -> Transformer:
    """A copy of the model whose encoder, and the keys and values made of its output, have weights of 8 bits."""
    model = copy.deepcopy(model, {id(one): one for one in model.parameters()})  # what is not rounded is shared
    for layer in cast("list[EncoderLayer]", model.encoder):
        _round(layer.self_attention, "w_q", "w_k", "w_v", "w_o")
        _round(layer.feed_forward, "w_1", "w_2")
    for decoder_layer in cast("list[DecoderLayer]", model.decoder):
        _round(decoder_layer.cross_attention, "w_k", "w_v")
    return model


def _round(part: nn.Module, *names: str) -> None:
    for name in names:
        setattr(part, name, _Int8Linear(getattr(part, name)))
