"""Weights of 8 bits: a quarter of the memory to read, several products in one instruction; a little less exact.

Each row of a weight matrix has a scale of its own, and so has each row of numbers it meets, taken as it comes: what
becomes of a sentence does not depend on its neighbours in a batch.
"""

import copy
import os
from typing import cast

import torch
from torch import Tensor, nn

from heed.errors import ConfigError
from heed.kernels import int8
from heed.kernels.library import kernels, library
from heed.model.layers import DecoderLayer, EncoderLayer
from heed.model.transformer import Transformer

_MOST = 127  # of the steps on either side of zero
_LEAST = 1e-30  # a row's largest number; below, _MOST / it were infinite


def check_int8() -> None:
    """Refuse 8 bits where nothing can multiply them.

    Raises:
        ConfigError: there are no C kernels.
    """
    if library() is not None:
        return
    if os.environ.get("HEED_KERNELS") == "off":
        reason, remedy = "HEED_KERNELS=off is set", "unset it"
    else:
        reason, remedy = "there is no C compiler that can make them", "install one, such as gcc"
    raise ConfigError(
        f"8-bit weights with torch need heed's C kernels, but {reason}; {remedy}, leave out --int8 (int8=True), or use "
        "--engine ctranslate2, which has 8-bit products of its own"
    )


class Int8Product:
    """x · weightᵀ + bias, with the weight rounded once and x each time."""

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        """
        Raises:
            ConfigError: there are no kernels for such weights.
        """
        check_int8()
        if kernels(weight_OI) is None:
            raise ConfigError(
                f"8-bit weights are made of float32 ones on the processor; these are {weight_OI.dtype} on "
                f"{weight_OI.device}; convert the model back, or leave out --int8 (int8=True)"
            )
        self.weight = int8.Int8Weight(*_rounded(weight_OI))
        self._bias_O = None if bias_O is None else bias_O.detach().clone()  # the model's own may be converted or freed

    def __call__(self, x_RI: Tensor, /) -> Tensor:
        return int8.int8_product(x_RI, self.weight, self._bias_O)


def _rounded(weight_OI: Tensor) -> tuple[Tensor, Tensor]:
    """The weight in steps, and their size in each row."""
    scale_O = weight_OI.abs().amax(1).clamp_min_(_LEAST).div_(_MOST)
    return (weight_OI / scale_O.unsqueeze(1)).round_().to(torch.int8), scale_O


class _Int8Linear(nn.Module):
    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._product = Int8Product(linear.weight, linear.bias)

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
