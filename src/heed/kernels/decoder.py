"""All layers of the decoder in one call: search makes small steps, and calling PyTorch dozens of times takes longer.

The matrix products are those of the library that PyTorch uses itself, or those of `int8.py`.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from heed.kernels.int8 import Int8Pointers, Int8Weight
from heed.kernels.library import kernels, library

Weight = Tensor | Int8Weight  # d_in x d_out

_POINTER = ctypes.c_void_p


class _Norm(ctypes.Structure):
    _fields_ = [("gain", _POINTER), ("bias", _POINTER)]


class _Weight(ctypes.Structure):
    _fields_ = [("numbers", _POINTER), ("int8", Int8Pointers)]


_WEIGHTS = ("own_qkv", "own_out", "cross_q", "cross_out", "w_1", "w_2")
_BIASES = ("b_1", "b_2")
_NORMS = ("own_norm", "cross_norm", "feed_forward_norm")
_SIZES = ("n_layers", "d_model", "d_ff", "h", "d_k", "d_v", "vocab_size", "post")


class _Layer(ctypes.Structure):
    _fields_ = [
        *((name, _Weight) for name in _WEIGHTS),
        *((name, _POINTER) for name in _BIASES),
        *((name, _Norm) for name in _NORMS),
    ]


class _Decoder(ctypes.Structure):
    _fields_ = [
        ("sgemm", _POINTER),
        ("layers", _POINTER),
        ("logits", _Weight),
        ("last_norm", _Norm),
        *((name, ctypes.c_long) for name in _SIZES),
        ("epsilon", ctypes.c_float),
    ]


class _Mask(ctypes.Structure):
    _fields_ = [("numbers", _POINTER), ("sentence", ctypes.c_long), ("query", ctypes.c_long)]


class DecoderLayerWeights(NamedTuple):
    """Of one layer."""

    own_qkv: Weight
    own_out: Weight
    cross_q: Weight
    cross_out: Weight
    w_1: Weight
    w_2: Weight
    b_1: Tensor
    b_2: Tensor
    own_norm: nn.LayerNorm
    cross_norm: nn.LayerNorm
    feed_forward_norm: nn.LayerNorm


class LayerPast(NamedTuple):
    """Keys and values of one layer: those of the target's slots, which have room for more, and the source's."""

    k_BMX: Tensor
    v_BMX: Tensor
    source_k_BSX: Tensor
    source_v_BSX: Tensor


class CompiledDecoder:
    """The decoder's layers and the scores of all symbols, of a model on the processor in float32 or 8 bits."""

    def __init__(
        self, layers: Sequence[DecoderLayerWeights], logits_DV: Weight, last_norm: nn.LayerNorm | None, h: int
    ) -> None:
        """`last_norm`: of a stack of layers with norms before their sub-layers; None: they have them after."""
        self._kept = layers, logits_DV, last_norm, h  # what the numbers below point to
        self._library = library()
        first = layers[0]
        d_model, vocab_size = logits_DV.shape
        keys, values, d_ff = first.cross_q.shape[1], first.cross_out.shape[0], first.w_1.shape[1]
        self._room_of_row = 2 * d_model + values + max(2 * keys + values, d_ff)
        self._int8_room_of_row = max(d_model, values, d_ff) // 2 + 4
        sizes = len(layers), d_model, d_ff, h, keys // h, values // h, vocab_size, last_norm is None
        self._layers = (_Layer * len(layers))(*map(_layer, layers))
        self._decoder = ctypes.byref(
            _Decoder(
                _sgemm(),
                ctypes.addressof(self._layers),
                _weight(logits_DV),
                _Norm() if last_norm is None else _norm(last_norm),
                *sizes,
                first.own_norm.eps,
            )
        )

    def with_logits(self, logits_DV: Weight) -> "CompiledDecoder":
        """The same layers with the scores of other symbols."""
        layers, _, last_norm, h = self._kept
        return CompiledDecoder(layers, logits_DV, last_norm, h)

    @staticmethod
    def can_do(weight: Weight) -> bool:
        """Is there a compiler, and a model it is for?"""
        return isinstance(weight, Int8Weight) or (kernels(weight) is not None and _sgemm() is not None)

    def __call__(
        self, x_BND: Tensor, pasts: Sequence[LayerPast], n_slots: int, sees_BNM: Tensor | None, mask_B1S: Tensor | None
    ) -> Tensor:
        """logits_BNV of what follows N nodes of each sentence, from their embedded symbols; `x_BND` is used up.

        The nodes' own keys and values are put after the `n_slots` there are. Masks have 0 for what is seen, -inf for
        the rest; None: all is seen.
        """
        assert self._library is not None
        n_sentences, n_nodes, _ = x_BND.shape
        capacity, n_source = pasts[0].k_BMX.size(1), pasts[0].source_k_BSX.size(1)
        rows = n_sentences * n_nodes
        spare = max(2 * max(n_slots + n_nodes, n_source) + 32, rows * self._int8_room_of_row)
        room = x_BND.new_empty(rows * self._room_of_row + spare)
        pointers = [tensor.data_ptr() for past in pasts for tensor in past]
        logits_BNV = x_BND.new_empty(n_sentences, n_nodes, self._kept[1].shape[1])
        self._library.heed_decode(
            self._decoder,
            x_BND.data_ptr(),
            (_POINTER * len(pointers))(*pointers),
            ctypes.byref(_mask(sees_BNM)),
            ctypes.byref(_mask(mask_B1S)),
            *(n_sentences, n_nodes, n_slots, capacity, n_source),
            *(room.data_ptr(), logits_BNV.data_ptr()),
        )
        return logits_BNV


def _layer(weights: DecoderLayerWeights) -> _Layer:
    return _Layer(
        *(_weight(getattr(weights, name)) for name in _WEIGHTS),
        *(getattr(weights, name).data_ptr() for name in _BIASES),
        *(_norm(getattr(weights, name)) for name in _NORMS),
    )


def _weight(weight: Weight) -> _Weight:
    if isinstance(weight, Int8Weight):
        return _Weight(None, weight.pointers)
    return _Weight(weight.data_ptr())


def _norm(norm: nn.LayerNorm) -> _Norm:
    return _Norm(norm.weight.data_ptr(), norm.bias.data_ptr())


def _mask(mask_BNM: Tensor | None) -> _Mask:
    if mask_BNM is None:
        return _Mask()
    return _Mask(mask_BNM.data_ptr(), mask_BNM.stride(0), mask_BNM.stride(1) if mask_BNM.size(1) > 1 else 0)


@cache
def _sgemm() -> int | None:
    """Where the matrix product of PyTorch's own library is, if that shows it."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*")):
        try:
            return ctypes.cast(ctypes.CDLL(str(path)).sgemm_, _POINTER).value
        except (OSError, AttributeError):
            continue
    return None
