"""Weights of 8 bits: a quarter of the memory to read, several products in one instruction; a little less exact.

Each row of a weight matrix has a scale of its own, and so has each row of numbers it meets, taken as it comes: what
becomes of a sentence does not depend on its neighbours in a batch.
"""

import copy
from typing import cast

import torch
from torch import Tensor, nn

from heed.model.incremental import Product
from heed.model.layers import DecoderLayer, EncoderLayer
from heed.model.transformer import Transformer

_MOST = 127  # of the steps on either side of zero
_ZERO = 128  # oneDNN wants numbers without sign on the left


def int8_product(weight: Tensor, bias: Tensor | None = None) -> Product:
    """x · weightᵀ + bias, with the weight rounded once and x each time."""
    scale_O = weight.abs().amax(1).clamp_min(torch.finfo(weight.dtype).tiny) / _MOST
    rounded_OI = (weight / scale_O.unsqueeze(1)).round().to(torch.int8)
    packed = torch.ops.onednn.qlinear_prepack(rounded_OI, None)
    zeros_O = torch.zeros(len(scale_O), dtype=torch.int32)

    def product(x_RI: Tensor) -> Tensor:
        largest_R1 = x_RI.abs().amax(1, keepdim=True).clamp_min_(torch.finfo(x_RI.dtype).tiny)
        rounded_RI = (x_RI * (_MOST / largest_R1)).round_().add_(_ZERO).to(torch.uint8)
        y_RO: Tensor = torch.ops.onednn.qlinear_pointwise(
            rounded_RI, 1 / _MOST, _ZERO, packed, scale_O, zeros_O, None, 1.0, 0, torch.float32, "none", [], ""
        )
        y_RO.mul_(largest_R1)
        return y_RO if bias is None else y_RO.add_(bias)

    return product


class _Int8Linear(nn.Module):
    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._product = int8_product(linear.weight, linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self._product(x.flatten(0, -2)).view(*x.shape[:-1], -1)


@torch.inference_mode()
def int8_encoder(model: Transformer) -> Transformer:
    """A copy of the model whose encoder, and the keys and values made of its output, have weights of 8 bits."""
    model = copy.deepcopy(model)
    for layer in cast("list[EncoderLayer]", model.encoder):
        _round(layer.self_attention, "w_q", "w_k", "w_v", "w_o")
        _round(layer.feed_forward, "w_1", "w_2")
    for decoder_layer in cast("list[DecoderLayer]", model.decoder):
        _round(decoder_layer.cross_attention, "w_k", "w_v")
    return model


def _round(part: nn.Module, *names: str) -> None:
    for name in names:
        setattr(part, name, _Int8Linear(getattr(part, name)))
