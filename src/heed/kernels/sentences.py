"""Attention of whole sentences, as training needs it: its gradient too, and nothing moved or copied.

PyTorch's kernel is made for long sentences. For short ones, and where there is one thread only, this takes a third.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels.library import kernels, library

# Positions. Twice as many still take no longer than with PyTorch's kernel, but the weights are kept for the gradient.
LONGEST = 64
LANES = 16  # rows of weights are filled up to whole vectors, of 16 numbers or fewer


def attend_sentences(q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, may_attend_B1LM: Tensor | None) -> Tensor:
    """Scaled dot-product attention: context_BHLC, the heads of a position side by side in memory."""
    if not _is_for(q_BHLK, k_BHMK, v_BHMC, may_attend_B1LM):
        return F.scaled_dot_product_attention(q_BHLK, k_BHMK, v_BHMC, attn_mask=may_attend_B1LM)
    context_BHLC: Tensor = _Attention.apply(q_BHLK, k_BHMK, v_BHMC, may_attend_B1LM)  # type: ignore[no-untyped-call]
    return context_BHLC


def _is_for(q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, may_attend_B1LM: Tensor | None) -> bool:
    """Whether the kernel can take such tensors, and is the quickest way here."""
    return (
        not torch.compiler.is_compiling()
        and torch.get_num_threads() == 1
        and max(q_BHLK.size(2), k_BHMK.size(2)) <= LONGEST
        and kernels(q_BHLK, k_BHMK, v_BHMC) is not None
        and q_BHLK.shape[:2] == k_BHMK.shape[:2] == v_BHMC.shape[:2]
        and (q_BHLK.size(3), k_BHMK.size(2)) == (k_BHMK.size(3), v_BHMC.size(2))
        and all(x.stride(3) == 1 for x in (q_BHLK, k_BHMK, v_BHMC))
        and (may_attend_B1LM is None or (may_attend_B1LM.dtype == torch.bool and may_attend_B1LM.size(1) == 1))
    )


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, may_attend_B1LM: Tensor | None) -> Tensor:
        n_sentences, h, n_queries, n_keys, d_k, d_v = sizes = _sizes(q_BHLK, v_BHMC)
        mask_B1LM = may_attend_B1LM
        if may_attend_B1LM is not None:
            mask_B1LM = may_attend_B1LM.expand(n_sentences, 1, n_queries, n_keys)  # what is broadcast is 0 apart
            if mask_B1LM.stride(3) != 1:
                mask_B1LM = mask_B1LM.contiguous()
        width = -(-n_queries // LANES) * LANES
        keeps = any(ctx.needs_input_grad)
        weights = q_BHLK.new_empty(n_sentences * h if keeps else 1, n_keys, width)
        context_BHLC = _side_by_side(q_BHLK, n_queries, d_v)
        _call("heed_sentences", (q_BHLK, k_BHMK, v_BHMC, context_BHLC), mask_B1LM, weights, sizes)
        if keeps:
            ctx.save_for_backward(q_BHLK, k_BHMK, v_BHMC, mask_B1LM, weights)
        return context_BHLC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BHLC: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q_BHLK, k_BHMK, v_BHMC, mask_B1LM, weights = ctx.saved_tensors
        n_keys, d_k, d_v = (sizes := _sizes(q_BHLK, v_BHMC))[3:]
        if grad_BHLC.stride(3) != 1:
            grad_BHLC = grad_BHLC.contiguous()
        dq_BHLK = _side_by_side(q_BHLK, q_BHLK.size(2), d_k)
        dk_BHMK, dv_BHMC = _side_by_side(q_BHLK, n_keys, d_k), _side_by_side(q_BHLK, n_keys, d_v)
        tensors = q_BHLK, k_BHMK, v_BHMC, grad_BHLC, dq_BHLK, dk_BHMK, dv_BHMC
        _call("heed_sentences_slope", tensors, mask_B1LM, weights, sizes)
        return dq_BHLK, dk_BHMK, dv_BHMC, None


_Sizes = tuple[int, int, int, int, int, int]  # sentences, heads, queries, keys, d_k, d_v


def _sizes(q_BHLK: Tensor, v_BHMC: Tensor) -> _Sizes:
    n_sentences, h, n_queries, d_k = q_BHLK.shape
    return n_sentences, h, n_queries, v_BHMC.size(2), d_k, v_BHMC.size(3)


def _side_by_side(like_BHLK: Tensor, n: int, d: int) -> Tensor:
    """Room for n rows of d in each head, where a projection has or expects them: the heads of a row together."""
    n_sentences, h = like_BHLK.shape[:2]
    return like_BHLK.new_empty(n_sentences, n, h, d).transpose(1, 2)


def _call(function: str, tensors: tuple[Tensor, ...], mask_B1LM: Tensor | None, weights: Tensor, sizes: _Sizes) -> None:
    """Hand over where each tensor begins, and how far its sentences, heads and rows are apart."""
    _, _, n_queries, n_keys, d_k, d_v = sizes
    n_weights, _, width = weights.shape
    room = weights.new_empty(2 * n_keys + max(d_k, d_v) + 2, width)
    numbers = torch.empty(n_queries + n_keys, dtype=torch.int64)
    getattr(library(), function)(
        *(number for tensor in tensors for number in (tensor.data_ptr(), *tensor.stride()[:3])),
        *((None, 0, 0) if mask_B1LM is None else (mask_B1LM.data_ptr(), mask_B1LM.stride(0), mask_B1LM.stride(2))),
        *(weights.data_ptr(), weights.stride(0) if n_weights > 1 else 0, width),
        *(room.data_ptr(), numbers.data_ptr()),
        *sizes,
    )
