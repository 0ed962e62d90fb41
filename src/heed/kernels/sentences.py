"""Attention of whole sentences, as training needs it: its gradient too, nothing moved or copied, and no padding.

PyTorch's kernel is made for long sentences. For short ones, and where there is one thread only, this takes a third.
"""

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels.library import kernels, library

# Positions. Twice as many still take no longer than with PyTorch's kernel, but the weights are kept for the gradient.
LONGEST = 64
LANES = 16  # rows of weights are filled up to whole vectors, of 16 numbers or fewer


class _Sentences(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("queries", "keys")),
        *((name, ctypes.c_long) for name in ("n", "causal", "h", "d_k", "d_v")),
    ]


@dataclass(frozen=True)
class Sight:
    """Who sees whom, where the positions of all sentences are rows end to end: a query, the keys of its sentence."""

    queries_B: Tensor  # how many rows of each sentence
    keys_B: Tensor
    causal: bool = False  # section 3.2.3: none after its own place

    @cached_property
    def n_rows(self) -> tuple[int, int]:
        """Queries and keys of all sentences."""
        return int(self.queries_B.sum()), int(self.keys_B.sum())

    @cached_property
    def largest(self) -> tuple[int, int]:
        """Rows and columns of the largest weights: a row for each key, a column for each query."""
        return int(self.keys_B.amax()), int(self._widths().amax())

    @cached_property
    def n_weights(self) -> int:
        """Of one head, in all sentences."""
        return int((self.keys_B * self._widths()).sum())

    def _widths(self) -> Tensor:
        return (self.queries_B + (LANES - 1)) // LANES * LANES


def are_for_sentences(weight: Tensor, longest: int) -> bool:
    """Whether these kernels can take what a model of such weights makes of such sentences, and are the quickest way."""
    return (
        longest <= LONGEST
        and torch.get_num_threads() == 1
        and kernels(weight) is not None
        and not torch.is_autocast_enabled(weight.device.type)
    )


def attend_sentences(q_HNK: Tensor, k_HMK: Tensor, v_HMC: Tensor, sight: Sight) -> Tensor:
    """Scaled dot-product attention: context_HNC, the heads of a position side by side in memory.

    Raises:
        ValueError: what the kernel cannot take, or other rows than the sentences have.
    """
    if kernels(q_HNK, k_HMK, v_HMC) is None or any(x.stride(2) != 1 for x in (q_HNK, k_HMK, v_HMC)):
        raise ValueError("not rows of float32 on the processor, each row's numbers side by side")
    if sight.queries_B.shape != sight.keys_B.shape or {sight.queries_B.dtype, sight.keys_B.dtype} != {torch.int64}:
        raise ValueError(f"{sight}: not as many counts of queries as of keys, all of 64 bits")
    n, m = sight.n_rows
    expected = [(len(q_HNK), n, q_HNK.size(2)), (len(q_HNK), m, q_HNK.size(2)), (len(q_HNK), m, v_HMC.size(2))]
    if [x.shape for x in (q_HNK, k_HMK, v_HMC)] != expected:
        raise ValueError(f"{n} queries and {m} keys do not fit {q_HNK.shape}, {k_HMK.shape}, {v_HMC.shape}")
    context_HNC: Tensor = _Attention.apply(q_HNK, k_HMK, v_HMC, sight)  # type: ignore[no-untyped-call]
    return context_HNC


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q_HNK: Tensor, k_HMK: Tensor, v_HMC: Tensor, sight: Sight) -> Tensor:
        (h, n, d_k), d_v, (n_keys, width) = q_HNK.shape, v_HMC.size(2), sight.largest
        keep = any(ctx.needs_input_grad)
        weights = q_HNK.new_empty(h * sight.n_weights if keep else n_keys * width)
        room, context_HNC = q_HNK.new_empty(d_k + 2, width), _side_by_side(q_HNK, n, d_v)
        tensors = q_HNK, k_HMK, v_HMC, context_HNC
        _call("heed_sentences", tensors, sight, weights.data_ptr(), keep, room.data_ptr())
        ctx.save_for_backward(q_HNK, k_HMK, v_HMC, weights)
        ctx.sight = sight
        return context_HNC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_HNC: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q_HNK, k_HMK, v_HMC, weights = ctx.saved_tensors
        (_, n, d_k), (_, m, d_v), (n_keys, width) = q_HNK.shape, v_HMC.shape, ctx.sight.largest
        if grad_HNC.stride(2) != 1:
            grad_HNC = grad_HNC.contiguous()
        dq_HNK, dk_HMK, dv_HMC = (_side_by_side(q_HNK, *shape) for shape in ((n, d_k), (m, d_k), (m, d_v)))
        room = q_HNK.new_empty(1 + d_v + n_keys, width)
        tensors = q_HNK, k_HMK, v_HMC, grad_HNC, dq_HNK, dk_HMK, dv_HMC
        _call("heed_sentences_slope", tensors, ctx.sight, weights.data_ptr(), room.data_ptr())
        return dq_HNK, dk_HMK, dv_HMC, None


def _side_by_side(like_HNK: Tensor, n: int, d: int) -> Tensor:
    """Room for n rows of d in each head, where a projection has or expects them: the heads of a row together."""
    return like_HNK.new_empty(n, len(like_HNK), d).transpose(0, 1)


def _call(function: str, tensors: tuple[Tensor, ...], sight: Sight, *more: int) -> None:
    """Hand over where each tensor begins, and how far its heads and rows are apart."""
    q_HNK, _, v_HMC = tensors[:3]
    lengths = [counts_B.contiguous() for counts_B in (sight.queries_B, sight.keys_B)]
    sentences = _Sentences(
        *(counts_B.data_ptr() for counts_B in lengths),
        *(len(sight.queries_B), sight.causal, len(q_HNK), q_HNK.size(2), v_HMC.size(2)),
    )
    getattr(library(), function)(
        *(number for tensor in tensors for number in (tensor.data_ptr(), *tensor.stride()[:2])),
        ctypes.byref(sentences),
        *more,
    )
