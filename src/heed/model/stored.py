"""Weights as they are stored in a shipped model: matrices in 8 bits, everything else in float32.

A matrix `name` is stored as int8 codes under its name, and the scale of each row under `name/scale`. The codes are
those that `int8.py` computes with: a search in 8 bits uses exactly the codes of the file, one in float32 codes · scale.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heed.errors import CheckpointError

if TYPE_CHECKING:  # a checkpoint can be read without torch
    from torch import Tensor

SCALE = "/scale"  # ends the name of a tensor of scales


def stored(weights: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """Return weights with their float32 matrices in 8 bits."""
    import torch

    from heed.model.int8 import quantise

    result = {}
    for name, weight in weights.items():
        if weight.dim() == 2 and weight.dtype == torch.float32:
            result[name], result[name + SCALE] = quantise(weight)
        else:
            result[name] = weight
    return result


def restored(tensors: "Mapping[str, Tensor]", file: str) -> "dict[str, Tensor]":
    """Return weights with those that are stored in 8 bits in float32; `file` is the path that messages show.

    Raises:
        CheckpointError: codes without a scale for each row.
    """
    import torch

    result = dict(tensors)
    for name, codes_OI in tensors.items():
        if codes_OI.dtype != torch.int8:
            continue
        scale_O = result.pop(name + SCALE, None)
        if codes_OI.dim() != 2 or scale_O is None or scale_O.shape != codes_OI.shape[:1]:
            raise CheckpointError(f"{file}: {name} is stored in 8 bits, but without a scale for each of its rows")
        if scale_O.dtype != torch.float32:
            raise CheckpointError(f"{file}: {name}{SCALE} has dtype {scale_O.dtype}, but must have torch.float32")
        result[name] = codes_OI * scale_O.unsqueeze(1)
    return result
