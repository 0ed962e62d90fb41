"""Quantised models: 8-bit weights are a quarter of the memory to read, and slightly less accurate.

Each row of a weight matrix has its own scale. So has each row of activations, computed on the fly: a translation does
not depend on the other sentences of its batch.
"""

import copy
import os
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor, nn

from heed.errors import ConfigError
from heed.kernels import int8
from heed.kernels.library import kernels, library
from heed.model.embedding import SharedEmbedding
from heed.model.interface import SequenceModel
from heed.model.transformer import Transformer, as_transformer

_INT8_MAX = 127
_OPTION = "8-bit weights (--int8, int8=True)"
_TINY = 1e-30  # a row's largest number; anything smaller would make 127 / x overflow


def check_int8(models: Sequence[SequenceModel] = ()) -> None:
    """Check that these models can be quantised here.

    Raises:
        ConfigError: there are no C kernels, or one of the models is not a Transformer.
    """
    for model in models:
        as_transformer(model, _OPTION)
    if library() is not None:
        return
    if os.environ.get("HEED_KERNELS") == "off":
        reason, remedy = "HEED_KERNELS=off is set", "unset it"
    else:
        reason, remedy = "there is no C compiler that can build them", "install one, such as gcc"
    raise ConfigError(
        f"8-bit weights with torch need heed's C kernels, but {reason}; {remedy}, or leave out --int8 (int8=True)"
    )


def quantise(weight_OI: Tensor) -> tuple[Tensor, Tensor]:
    """Return the codes of a weight, from -127 to 127, and the scale of each row; codes · scale is about the weight."""
    scale_O = weight_OI.detach().abs().amax(1).clamp_min_(_TINY).div_(_INT8_MAX)
    return (weight_OI.detach() / scale_O.unsqueeze(1)).round_().to(torch.int8), scale_O


class Int8Linear(nn.Module):
    """Compute x · weightᵀ + bias in 8 bits: the weight is quantised once, x at each call."""

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        """Quantise a weight.

        Raises:
            ConfigError: there are no kernels, or the weight is not float32 on the CPU.
        """
        check_int8()
        if kernels(weight_OI) is None:
            raise ConfigError(
                f"only float32 weights on the CPU can be quantised to 8 bits; these are {weight_OI.dtype} on "
                f"{weight_OI.device}; convert the model back, or leave out --int8 (int8=True)"
            )
        super().__init__()
        self.codes_OI, self.scale_O = quantise(weight_OI)
        self.bias = (
            None if bias_O is None else bias_O.detach().clone()
        )  # a copy: the model's bias may be converted or freed

    @cached_property
    def _packed(self) -> int8.Int8Weight:
        return int8.Int8Weight(self.codes_OI, self.scale_O)

    def forward(self, x: Tensor) -> Tensor:
        y_RO = int8.int8_linear(x.flatten(0, -2), self._packed, self.bias)
        return y_RO.view(*x.shape[:-1], y_RO.size(1))


class Int8Embedding(SharedEmbedding):
    """A model's embedding with a quantised projection before the softmax."""

    def __init__(self, embedding: SharedEmbedding) -> None:
        nn.Module.__init__(self)
        self.weight, self.scale, self.pad = embedding.weight, embedding.scale, embedding.pad
        self.projection = Int8Linear(embedding.weight)

    def logits(self, x: Tensor) -> Tensor:
        logits: Tensor = self.projection(x)
        return logits


@torch.inference_mode()
def quantized(model: SequenceModel) -> Transformer:
    """Return a copy of the model with 8-bit weights in all its matrix products.

    Raises:
        ConfigError: there are no C kernels, or the model is not a Transformer.
    """
    shared = {id(one): one for one in model.parameters()}  # the copy shares what is not quantised
    copied = copy.deepcopy(as_transformer(model, _OPTION), shared)
    linears = [name for name, module in copied.named_modules() if isinstance(module, nn.Linear)]
    for name in linears:
        linear = copied.get_submodule(name)
        copied.set_submodule(name, Int8Linear(linear.weight, linear.bias))  # type: ignore[arg-type]
    copied.embedding = Int8Embedding(copied.embedding)
    return copied
