"""Section 5.4: label smoothing.

The gold symbol should get probability 1 - ε, each other one ε / (V - 1). The loss is the cross-entropy against
that distribution q. Its gradient with respect to the logits is simply softmax(logits) - q, so it is made
at once, a portion of rows at a time: the logits of a whole batch, the largest tensor by far, never exist.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels.softmax import softmax_less_gold_

PORTION = 256  # rows of logits at a time: measured with 8,000 and 37,000 symbols, fewer are slow products


@dataclass(frozen=True)
class Loss:
    """Sums over the target tokens of a batch."""

    smoothed: Tensor  # what is minimised
    negative_log_likelihood: Tensor  # of the gold symbols: what perplexity is made of


def label_smoothed_loss(hidden_ND: Tensor, weight_VD: Tensor, gold_N: Tensor, epsilon: float) -> Loss:
    """The summed loss of `gold_N` under the logits hidden · weightᵀ."""
    device = hidden_ND.device.type
    if torch.is_autocast_enabled(device):
        # float16 would lose the small gradients of unlikely symbols, so there it is done in full.
        half = torch.get_autocast_dtype(device) == torch.bfloat16
        hidden_ND = hidden_ND.to(torch.bfloat16 if half else weight_VD.dtype)
    with torch.autocast(device, enabled=False):
        smoothed, unsmoothed = _LabelSmoothedLoss.apply(hidden_ND, weight_VD, gold_N, epsilon)  # type: ignore[no-untyped-call]
    return Loss(smoothed, unsmoothed)


def _softmax_less_gold_(logits_nV: Tensor, gold_n: Tensor, share: float) -> tuple[Tensor, Tensor, Tensor]:
    """Make softmax times a sum of the logits, in their place, and take `share` of the sum off at the gold symbols.

    Returns the rows' sums, logarithms of the softmax's denominators, and gold logits.
    """
    made = softmax_less_gold_(logits_nV, gold_n, share)
    if made is not None:
        sum_n, normalizer_n, gold_logits_n = made
        return sum_n.unsqueeze(1), normalizer_n.unsqueeze(1), gold_logits_n.unsqueeze(1)
    gold_n1 = gold_n.unsqueeze(1)
    gold_logits_n1, highest_n1 = logits_nV.gather(1, gold_n1), logits_nV.amax(1, keepdim=True)
    sum_n1 = logits_nV.sub_(highest_n1).exp_().sum(1, keepdim=True)
    logits_nV.scatter_add_(1, gold_n1, -share * sum_n1)
    return sum_n1, highest_n1 + sum_n1.log(), gold_logits_n1


class _LabelSmoothedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_ND: Tensor, weight_VD: Tensor, gold_N: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor]:
        vocab_size = weight_VD.size(0)
        other = epsilon / (vocab_size - 1)  # q of each symbol but the gold one
        # softmax - q: what q has of all symbols alike is here from the start.
        all_hidden_D = hidden_ND.to(weight_VD.dtype).sum(0)
        grad_hidden_ND, grad_weight_VD = torch.empty_like(hidden_ND), torch.empty_like(weight_VD)
        grad_weight_VD[:] = -other * all_hidden_D
        smoothed, unsmoothed = weight_VD.new_zeros(()), weight_VD.new_zeros(())
        factor_VD = weight_VD.to(hidden_ND.dtype)  # the same tensor, unless the hidden states are in 16 bits
        room_nV = hidden_ND.new_empty(min(PORTION, len(hidden_ND)), vocab_size)
        all_symbols_D = weight_VD.sum(0)
        portions = (torch.split(tensor, PORTION) for tensor in (hidden_ND, gold_N, grad_hidden_ND))
        for hidden_nD, gold_n, grad_nD in zip(*portions, strict=True):
            logits_nV = torch.mm(hidden_nD, factor_VD.T, out=room_nV[: len(hidden_nD)]).to(weight_VD.dtype)
            sum_n1, normalizer_n1, gold_logits_n1 = _softmax_less_gold_(logits_nV, gold_n, 1 - epsilon - other)
            nll = (normalizer_n1 - gold_logits_n1).sum()
            # Σ over all symbols of -log p, their logits summed before they are made: hidden · Σ weights.
            all_nll = vocab_size * normalizer_n1.sum() - (hidden_nD.to(weight_VD.dtype) @ all_symbols_D).sum()
            unsmoothed += nll
            smoothed += (1 - epsilon - other) * nll + other * all_nll

            # The softmax is divided by its sums in the small matrices: no pass over all symbols.
            grad_nV = logits_nV.to(hidden_nD.dtype)
            torch.mm(grad_nV, factor_VD, out=grad_nD).div_(sum_n1)
            share_nD = (hidden_nD / sum_n1).to(hidden_nD.dtype)
            if grad_nV.dtype == grad_weight_VD.dtype:
                grad_weight_VD.addmm_(grad_nV.T, share_nD)
            else:
                grad_weight_VD += grad_nV.T @ share_nD
        grad_hidden_ND -= other * all_symbols_D.to(hidden_ND.dtype)
        ctx.save_for_backward(grad_hidden_ND, grad_weight_VD)
        ctx.mark_non_differentiable(unsmoothed)
        return smoothed, unsmoothed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, grad_unsmoothed: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden_ND, grad_weight_VD = ctx.saved_tensors
        return grad_hidden_ND * grad_smoothed, grad_weight_VD * grad_smoothed, None, None
