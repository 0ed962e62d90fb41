"""Variable-length attention for training: sentences packed end to end without padding, forward and backward.

PyTorch's kernel is made for long sequences. For short ones, on a single thread, this one takes a third of the time.
"""

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels.library import kernels, library

# Longer sentences would be no slower than with PyTorch, but the kernel keeps the weights for the backward pass.
MAX_POSITIONS = 128
MAX_VECTOR_WIDTH = 16  # of all processors; rows of weights are padded to a multiple of it


class _Sentences(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("queries", "keys")),
        *((name, ctypes.c_long) for name in ("n", "causal", "h", "d_k", "d_v")),
    ]


@dataclass(frozen=True)
class SequenceLengths:
    """Lengths of packed sentences: a query attends to the keys of its own sentence."""

    queries_B: Tensor  # the number of queries of each sentence
    keys_B: Tensor
    causal: bool = False  # section 3.2.3: a query attends to no later position

    @cached_property
    def n_rows(self) -> tuple[int, int]:
        """The number of queries and of keys in all sentences."""
        return int(self.queries_B.sum()), int(self.keys_B.sum())

    @cached_property
    def largest(self) -> tuple[int, int]:
        """The largest numbers of rows (keys) and columns (queries, padded) that any sentence's weights have."""
        return int(self.keys_B.amax()), int(self._widths().amax())

    @cached_property
    def n_weights(self) -> int:
        """The number of weights of one head in all sentences, with padding."""
        return int((self.keys_B * self._widths()).sum())

    def _widths(self) -> Tensor:
        return (self.queries_B + (MAX_VECTOR_WIDTH - 1)) // MAX_VECTOR_WIDTH * MAX_VECTOR_WIDTH


def supports(weight: Tensor, longest: int) -> bool:
    """Return whether the kernel can run a model with such weights on sentences up to `longest`, faster than PyTorch."""
    return (
        longest <= MAX_POSITIONS
        and torch.get_num_threads() == 1
        and kernels(weight) is not None
        and not torch.is_autocast_enabled(weight.device.type)
    )


def varlen_attention(q_HNK: Tensor, k_HMK: Tensor, v_HMC: Tensor, lengths: SequenceLengths) -> Tensor:
    """Return context_HNC of scaled dot-product attention; the heads of a position are adjacent in memory.

    Raises:
        ValueError: the kernel cannot take these tensors, or their sizes do not match the lengths.
    """
    if kernels(q_HNK, k_HMK, v_HMC) is None or any(x.stride(2) != 1 for x in (q_HNK, k_HMK, v_HMC)):
        raise ValueError("queries, keys and values must be float32 on the CPU with contiguous rows")
    if lengths.queries_B.shape != lengths.keys_B.shape or {lengths.queries_B.dtype, lengths.keys_B.dtype} != {
        torch.int64
    }:
        raise ValueError(f"{lengths}: queries_B and keys_B must be int64 tensors of the same size")
    n, m = lengths.n_rows
    expected = [(len(q_HNK), n, q_HNK.size(2)), (len(q_HNK), m, q_HNK.size(2)), (len(q_HNK), m, v_HMC.size(2))]
    if [x.shape for x in (q_HNK, k_HMK, v_HMC)] != expected:
        raise ValueError(f"{n} queries and {m} keys do not match {q_HNK.shape}, {k_HMK.shape}, {v_HMC.shape}")
    context_HNC: Tensor = _Attention.apply(q_HNK, k_HMK, v_HMC, lengths)  # type: ignore[no-untyped-call]
    return context_HNC


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q_HNK: Tensor, k_HMK: Tensor, v_HMC: Tensor, lengths: SequenceLengths) -> Tensor:
        (h, n, d_k), d_v, (n_keys, width) = q_HNK.shape, v_HMC.size(2), lengths.largest
        keep = any(ctx.needs_input_grad)
        weights = q_HNK.new_empty(h * lengths.n_weights if keep else n_keys * width)
        scratch, context_HNC = q_HNK.new_empty(d_k + 2, width), _empty_heads(q_HNK, n, d_v)
        tensors = q_HNK, k_HMK, v_HMC, context_HNC
        _call("heed_varlen", tensors, lengths, weights.data_ptr(), keep, scratch.data_ptr())
        ctx.save_for_backward(q_HNK, k_HMK, v_HMC, weights)
        ctx.lengths = lengths
        return context_HNC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_HNC: Tensor) -> tuple[Tensor | None, ...]:
        q_HNK, k_HMK, v_HMC, weights = ctx.saved_tensors
        (_, n, d_k), (_, m, d_v), (n_keys, width) = q_HNK.shape, v_HMC.shape, ctx.lengths.largest
        if grad_HNC.stride(2) != 1:
            grad_HNC = grad_HNC.contiguous()
        grads = tuple(_empty_heads(q_HNK, *shape) for shape in ((n, d_k), (m, d_k), (m, d_v)))
        scratch = q_HNK.new_empty(1 + d_v + n_keys, width)
        tensors = q_HNK, k_HMK, v_HMC, grad_HNC, *grads
        _call("heed_varlen_backward", tensors, ctx.lengths, weights.data_ptr(), scratch.data_ptr())
        return *grads, None


def _empty_heads(like_HNK: Tensor, n: int, d: int) -> Tensor:
    """Allocate n rows of d for each head, laid out like projections: the heads of a row are adjacent."""
    return like_HNK.new_empty(n, len(like_HNK), d).transpose(0, 1)


def _call(function: str, tensors: tuple[Tensor, ...], lengths: SequenceLengths, *more: int) -> None:
    """Call a kernel with each tensor as its address and the strides of its heads and rows."""
    q_HNK, _, v_HMC = tensors[:3]
    counts = [counts_B.contiguous() for counts_B in (lengths.queries_B, lengths.keys_B)]
    sentences = _Sentences(
        *(counts_B.data_ptr() for counts_B in counts),
        *(len(lengths.queries_B), lengths.causal, len(q_HNK), q_HNK.size(2), v_HMC.size(2)),
    )
    getattr(library(), function)(
        *(number for tensor in tensors for number in (tensor.data_ptr(), *tensor.stride()[:2])),
        ctypes.byref(sentences),
        *more,
    )
