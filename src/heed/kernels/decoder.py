"""One decoding step of all decoder layers in one call of C.

A step of search is so small that dozens of calls to PyTorch would take longer than the arithmetic. The matrix products
are those of PyTorch's own library, or of `int8.py`.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from heed.kernels.int8 import Int8Weight
from heed.kernels.library import library
from heed.kernels.structures import (
    POINTER,
    Decoder,
    DecoderLayer,
    FeedForwardPointers,
    Mask,
    NormPointers,
    Stack,
    WeightPointers,
)

Weight = Tensor | Int8Weight  # d_in x d_out


class DecoderLayerWeights(NamedTuple):
    """The weights of one decoder layer."""

    self_qkv: Weight
    self_out: Weight
    cross_q: Weight
    cross_out: Weight
    w_1: Weight
    w_2: Weight
    b_1: Tensor
    b_2: Tensor
    self_norm: nn.LayerNorm
    cross_norm: nn.LayerNorm
    feed_forward_norm: nn.LayerNorm


# Keys and values of one layer: k_BMX and v_BMX of the target, with capacity for more slots; k_BSX and v_BSX of the
# source.
LayerCache = tuple[Tensor, Tensor, Tensor, Tensor]


def is_available() -> bool:
    """Return whether the kernels are compiled and PyTorch's matrix product can be called from C."""
    return library() is not None and _sgemm() is not None


class CompiledDecoder:
    """The decoder layers and the output projection of a model on the CPU, in float32 or 8 bits.

    It keeps alive whatever C points to. Norms and biases are copies, so the model may be converted, moved or freed.
    """

    def __init__(
        self, layers: Sequence[DecoderLayerWeights], logits_DV: Weight, last_norm: nn.LayerNorm | None, h: int
    ) -> None:
        """Lay out the weights for C. `last_norm` is that of pre-norm layers; None: the layers are post-norm.

        Raises:
            ValueError: the weights are not float32 or 8 bits on the CPU, or their sizes do not match.
        """
        first = layers[0]
        self._library = library()
        self._d_model, self._vocab_size = logits_DV.shape
        self._keys, self._values, d_ff = first.cross_q.shape[1], first.cross_out.shape[0], first.w_1.shape[1]
        self._scratch_per_row = 2 * self._d_model + self._values + max(2 * self._keys + self._values, d_ff)
        self._int8_scratch_per_row = max(self._d_model, self._values, d_ff) // 2 + 4
        self._owned: list[Weight] = []  # keep alive: the C structs below point into these
        self._layers = (DecoderLayer * len(layers))(*(self._layer(one, d_ff) for one in layers))
        stack = Stack(
            _sgemm(),
            *(len(layers), self._d_model, d_ff, h, self._keys // h, self._values // h),
            last_norm is None,
            first.self_norm.eps,
            NormPointers() if last_norm is None else self._norm(last_norm),
        )
        logits = self._weight(logits_DV, self._d_model, self._vocab_size)
        self._decoder = Decoder(stack, ctypes.addressof(self._layers), logits, self._vocab_size)

    def __call__(
        self,
        x_BWD: Tensor,
        cache: Sequence[LayerCache],
        n_slots: int,
        self_mask_BWM: Tensor | None,
        cross_mask_B1S: Tensor | None,
    ) -> Tensor:
        """Return logits_BWV of what follows the newest token of each hypothesis, from its embedding `x_BWD`.

        `x_BWD` is overwritten. The tokens' keys and values are written to the slots after the first `n_slots`. Masks
        have 0 where a position is visible and -inf elsewhere; None: all positions are visible.

        Raises:
            ValueError: the KV cache or a mask does not belong to this model, these sentences or these slots.
        """
        assert self._library is not None
        self._check(x_BWD, cache, n_slots, self_mask_BWM, cross_mask_B1S)
        n_sentences, width, _ = x_BWD.shape
        capacity, n_source = cache[0][0].size(1), cache[0][2].size(1)
        rows = n_sentences * width
        shared_scratch = max(2 * max(n_slots + width, n_source) + 32, rows * self._int8_scratch_per_row)
        scratch = x_BWD.new_empty(rows * self._scratch_per_row + shared_scratch)
        logits_BWV = x_BWD.new_empty(n_sentences, width, self._vocab_size)
        self._library.heed_decode(
            ctypes.byref(self._decoder),
            x_BWD.data_ptr(),
            *(_pointers([tensor for layer in cache for tensor in layer[side]]) for side in (slice(2), slice(2, 4))),
            ctypes.byref(_mask(self_mask_BWM)),
            ctypes.byref(_mask(cross_mask_B1S)),
            *(n_sentences, width, n_slots, capacity, n_source),
            *(scratch.data_ptr(), logits_BWV.data_ptr(), None, None, 1),
        )
        return logits_BWV

    def _check(
        self,
        x_BWD: Tensor,
        cache: Sequence[LayerCache],
        n_slots: int,
        self_mask_BWM: Tensor | None,
        cross_mask_B1S: Tensor | None,
    ) -> None:
        """Check every size before C gets a pointer: C trusts the sizes it is given.

        Raises:
            ValueError: a size, type or device does not match.
        """
        if len(cache) != len(self._layers):
            raise ValueError(f"a KV cache of {len(cache)} layers for a decoder of {len(self._layers)}")
        (n_sentences, width, _), end = x_BWD.shape, n_slots + x_BWD.size(1)
        capacity, n_source = cache[0][0].size(1), cache[0][2].size(1)
        if end > capacity:
            raise ValueError(f"the KV cache has {capacity} slots, and {n_slots} are in use; {width} more do not fit")
        _check_tensor("the input", x_BWD, (n_sentences, width, self._d_model))
        of_target = (n_sentences, capacity, self._keys), (n_sentences, capacity, self._values)
        of_source = (n_sentences, n_source, self._keys), (n_sentences, n_source, self._values)
        shapes = *of_target, *of_source
        for layer in cache:
            for tensor, shape in zip(layer, shapes, strict=True):
                _check_tensor("the KV cache", tensor, shape)
        for mask, shape in ((self_mask_BWM, (n_sentences, width, end)), (cross_mask_B1S, (n_sentences, 1, n_source))):
            if mask is not None:
                _check_tensor("a mask", mask, shape, rows_may_have_gaps=True)

    def _layer(self, weights: DecoderLayerWeights, d_ff: int) -> DecoderLayer:
        d_model, keys, values = self._d_model, self._keys, self._values
        return DecoderLayer(
            self._weight(weights.self_qkv, d_model, 2 * keys + values),
            self._weight(weights.self_out, values, d_model),
            self._weight(weights.cross_q, d_model, keys),
            self._weight(weights.cross_out, values, d_model),
            FeedForwardPointers(
                self._weight(weights.w_1, d_model, d_ff),
                self._weight(weights.w_2, d_ff, d_model),
                self._copy(weights.b_1, d_ff),
                self._copy(weights.b_2, d_model),
            ),
            *(self._norm(norm) for norm in (weights.self_norm, weights.cross_norm, weights.feed_forward_norm)),
        )

    def _weight(self, weight: Weight, d_in: int, d_out: int) -> WeightPointers:
        self._owned.append(weight)
        if isinstance(weight, Int8Weight):
            if weight.shape != (d_in, d_out):
                raise ValueError(f"a weight is {weight.shape}; this decoder needs {(d_in, d_out)}")
            return WeightPointers(int8=weight.pointers)
        _check_tensor("a weight", weight, (d_in, d_out))
        return WeightPointers(float32=weight.data_ptr())

    def _norm(self, norm: nn.LayerNorm) -> NormPointers:
        return NormPointers(self._copy(norm.weight, self._d_model), self._copy(norm.bias, self._d_model))

    def _copy(self, vector_D: Tensor, d: int) -> int:
        """Copy a vector and return the address of the copy."""
        copy_D = vector_D.detach().clone(memory_format=torch.contiguous_format)
        _check_tensor("a norm or bias", copy_D, (d,))
        self._owned.append(copy_D)
        return copy_D.data_ptr()


def _check_tensor(what: str, tensor: Tensor, shape: tuple[int, ...], rows_may_have_gaps: bool = False) -> None:
    """Check that C can read a tensor of this shape. `rows_may_have_gaps`: only each row must be contiguous.

    Raises:
        ValueError: the tensor has another shape, is not float32 on the CPU, or is not contiguous.
    """
    dense = tensor.is_contiguous() or (rows_may_have_gaps and tensor.stride(-1) == 1)
    if tensor.shape != shape or tensor.dtype is not torch.float32 or not tensor.is_cpu or not dense:
        raise ValueError(
            f"{what} is {tuple(tensor.shape)}, {tensor.dtype}, on {tensor.device}, strides {tensor.stride()}; this "
            f"decoder needs {shape}, torch.float32, on cpu, contiguous. Was the model changed meanwhile?"
        )


def _pointers(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    return (POINTER * len(tensors))(*(tensor.data_ptr() for tensor in tensors))


def _mask(mask_BNM: Tensor | None) -> Mask:
    if mask_BNM is None:
        return Mask()
    return Mask(mask_BNM.data_ptr(), mask_BNM.stride(0), mask_BNM.stride(1) if mask_BNM.size(1) > 1 else 0)


@cache
def _sgemm() -> int | None:
    """Return the address of `sgemm` in PyTorch's own library; None if the library does not export it."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*")):
        try:
            return ctypes.cast(ctypes.CDLL(str(path)).sgemm_, POINTER).value
        except (OSError, AttributeError):
            continue
    return None
