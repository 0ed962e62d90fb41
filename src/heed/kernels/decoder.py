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
from heed.kernels.library import library

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


# Keys and values of one layer: k_BMX and v_BMX of the target's slots, which have capacity for more, and k_BSX and v_BSX
# of the source.
LayerCache = tuple[Tensor, Tensor, Tensor, Tensor]


def is_available() -> bool:
    """Return whether there are compiled kernels, and a matrix product for them to call."""
    return library() is not None and _sgemm() is not None


class CompiledDecoder:
    """The decoder's layers and the scores of all symbols, of a model on the processor in float32 or 8 bits.

    It owns all that C is given the address of: norms and biases are copies, so the model may be converted, moved or
    freed meanwhile.
    """

    def __init__(
        self, layers: Sequence[DecoderLayerWeights], logits_DV: Weight, last_norm: nn.LayerNorm | None, h: int
    ) -> None:
        """`last_norm`: of a stack of layers with norms before their sub-layers; None: they have them after.

        Raises:
            ValueError: weights that are not float32 or 8 bits on the processor, or whose sizes do not match.
        """
        first = layers[0]
        self._library = library()
        self._d_model, self._vocab_size = logits_DV.shape
        self._keys, self._values, d_ff = first.cross_q.shape[1], first.cross_out.shape[0], first.w_1.shape[1]
        self._room_of_row = 2 * self._d_model + self._values + max(2 * self._keys + self._values, d_ff)
        self._int8_room_of_row = max(self._d_model, self._values, d_ff) // 2 + 4
        self._owned: list[Weight] = []  # what the addresses below are of
        self._layers = (_Layer * len(layers))(*(self._layer(one, d_ff) for one in layers))
        self._decoder = _Decoder(
            _sgemm(),
            ctypes.addressof(self._layers),
            self._weight(logits_DV, self._d_model, self._vocab_size),
            _Norm() if last_norm is None else self._norm(last_norm),
            *(len(layers), self._d_model, d_ff, h, self._keys // h, self._values // h, self._vocab_size),
            last_norm is None,
            first.own_norm.eps,
        )

    def __call__(
        self, x_BND: Tensor, pasts: Sequence[LayerCache], n_slots: int, sees_BNM: Tensor | None, mask_B1S: Tensor | None
    ) -> Tensor:
        """logits_BNV of what follows N nodes of each sentence, from their embedded symbols; `x_BND` is used up.

        The nodes' own keys and values are put after the `n_slots` there are. Masks have 0 for what is seen, -inf for
        the rest; None: all is seen.

        Raises:
            ValueError: a KV cache or a mask that is not of this model, these sentences or these slots.
        """
        assert self._library is not None
        self._check(x_BND, pasts, n_slots, sees_BNM, mask_B1S)
        n_sentences, n_nodes, _ = x_BND.shape
        capacity, n_source = pasts[0][0].size(1), pasts[0][2].size(1)
        rows = n_sentences * n_nodes
        spare = max(2 * max(n_slots + n_nodes, n_source) + 32, rows * self._int8_room_of_row)
        room = x_BND.new_empty(rows * self._room_of_row + spare)
        pointers = [tensor.data_ptr() for past in pasts for tensor in past]
        logits_BNV = x_BND.new_empty(n_sentences, n_nodes, self._vocab_size)
        self._library.heed_decode(
            ctypes.byref(self._decoder),
            x_BND.data_ptr(),
            (_POINTER * len(pointers))(*pointers),
            ctypes.byref(_mask(sees_BNM)),
            ctypes.byref(_mask(mask_B1S)),
            *(n_sentences, n_nodes, n_slots, capacity, n_source),
            *(room.data_ptr(), logits_BNV.data_ptr()),
        )
        return logits_BNV

    def _check(
        self, x_BND: Tensor, pasts: Sequence[LayerCache], n_slots: int, sees_BNM: Tensor | None, mask_B1S: Tensor | None
    ) -> None:
        """C reads and writes what it is told, so the sizes that it is told must be those that there are."""
        if len(pasts) != len(self._layers):
            raise ValueError(f"a KV cache of {len(pasts)} layers for a decoder of {len(self._layers)}")
        (n_sentences, n_nodes, _), end = x_BND.shape, n_slots + x_BND.size(1)
        capacity, n_source = pasts[0][0].size(1), pasts[0][2].size(1)
        if end > capacity:
            raise ValueError(f"a KV cache of {capacity} slots, {n_slots} of them in use, has no room for {n_nodes}")
        _check_numbers("the input", x_BND, (n_sentences, n_nodes, self._d_model))
        of_target = (n_sentences, capacity, self._keys), (n_sentences, capacity, self._values)
        of_source = (n_sentences, n_source, self._keys), (n_sentences, n_source, self._values)
        shapes = *of_target, *of_source
        for past in pasts:
            for tensor, shape in zip(past, shapes, strict=True):
                _check_numbers("the KV cache", tensor, shape)
        for mask_BNM, shape in ((sees_BNM, (n_sentences, n_nodes, end)), (mask_B1S, (n_sentences, 1, n_source))):
            if mask_BNM is not None:
                _check_numbers("a mask", mask_BNM, shape, rows_apart=True)

    def _layer(self, weights: DecoderLayerWeights, d_ff: int) -> _Layer:
        d_model, keys, values = self._d_model, self._keys, self._values
        return _Layer(
            self._weight(weights.own_qkv, d_model, 2 * keys + values),
            self._weight(weights.own_out, values, d_model),
            self._weight(weights.cross_q, d_model, keys),
            self._weight(weights.cross_out, values, d_model),
            self._weight(weights.w_1, d_model, d_ff),
            self._weight(weights.w_2, d_ff, d_model),
            self._copy(weights.b_1, d_ff),
            self._copy(weights.b_2, d_model),
            *(self._norm(norm) for norm in (weights.own_norm, weights.cross_norm, weights.feed_forward_norm)),
        )

    def _weight(self, weight: Weight, d_in: int, d_out: int) -> _Weight:
        self._owned.append(weight)
        if isinstance(weight, Int8Weight):
            if weight.shape != (d_in, d_out):
                raise ValueError(f"a weight of {weight.shape}, where {(d_in, d_out)} is needed")
            return _Weight(None, weight.pointers)
        _check_numbers("a weight", weight, (d_in, d_out))
        return _Weight(weight.data_ptr())

    def _norm(self, norm: nn.LayerNorm) -> _Norm:
        return _Norm(self._copy(norm.weight, self._d_model), self._copy(norm.bias, self._d_model))

    def _copy(self, numbers_D: Tensor, d: int) -> int:
        """The address of a copy."""
        own_D = numbers_D.detach().clone(memory_format=torch.contiguous_format)
        _check_numbers("a norm or bias", own_D, (d,))
        self._owned.append(own_D)
        return own_D.data_ptr()


def _check_numbers(what: str, tensor: Tensor, shape: tuple[int, ...], rows_apart: bool = False) -> None:
    """`rows_apart`: rows may be anywhere, as long as the numbers of each are side by side.

    Raises:
        ValueError: it is not so many numbers of float32 on the processor, one after the other.
    """
    dense = tensor.is_contiguous() or (rows_apart and tensor.stride(-1) == 1)
    if tensor.shape != shape or tensor.dtype is not torch.float32 or not tensor.is_cpu or not dense:
        raise ValueError(
            f"{what} is {tuple(tensor.shape)}, {tensor.dtype}, on {tensor.device}, strides {tensor.stride()}; this "
            f"decoder needs {shape}, torch.float32, on cpu, rows without gaps. Was the model changed meanwhile?"
        )


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
