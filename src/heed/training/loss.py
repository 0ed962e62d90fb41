"""Compute the label-smoothed loss (section 5.4) and its gradient.

The target distribution q gives the gold token probability 1 - ε and each other token ε / (V - 1). The loss is the
cross-entropy against q. Its gradient with respect to the logits is simply softmax(logits) - q, so the forward pass
computes it too, a few rows at a time: the logits of a whole batch, by far the largest tensor, never exist.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels.softmax import softmax_less_gold_
from heed.model.products import Bfloat16Factor, Factor, in_bfloat16

LOGIT_ROWS = 256  # computed at a time; with fewer, products are slower (measured with 8,000 and 37,000 tokens)


@dataclass(frozen=True)
class Loss:
    """Hold two sums over the target tokens of a batch."""

    smoothed: Tensor  # the loss to minimise
    negative_log_likelihood: Tensor  # of the gold tokens, for perplexity


def label_smoothed_loss(hidden_ND: Tensor, weight_VD: Tensor, gold_N: Tensor, epsilon: float) -> Loss:
    """Return the loss of the gold tokens under the logits hidden · weightᵀ, summed over the rows."""
    device = hidden_ND.device.type
    if torch.is_autocast_enabled(device):
        # float16 would lose the small gradients of unlikely tokens, so compute in float32 there.
        half = torch.get_autocast_dtype(device) == torch.bfloat16
        hidden_ND = hidden_ND.to(torch.bfloat16 if half else weight_VD.dtype)
    with torch.autocast(device, enabled=False):
        smoothed, unsmoothed = _LabelSmoothedLoss.apply(hidden_ND, weight_VD, gold_N, epsilon, in_bfloat16())  # type: ignore[no-untyped-call]
    return Loss(smoothed, unsmoothed)


def _softmax_less_gold_(logits_nV: Tensor, gold_n: Tensor, share: float) -> tuple[Tensor, Tensor, Tensor]:
    """Turn logits into the unnormalised gradient, in place: exp(logit - max), less `share` x row sum at the gold token.

    Return each row's sum, the logarithm of its softmax denominator, and its gold logit.
    """
    by_kernel = softmax_less_gold_(logits_nV, gold_n, share)
    if by_kernel is not None:
        sum_n, normalizer_n, gold_logits_n = by_kernel
        return sum_n.unsqueeze(1), normalizer_n.unsqueeze(1), gold_logits_n.unsqueeze(1)
    gold_n1 = gold_n.unsqueeze(1)
    gold_logits_n1, highest_n1 = logits_nV.gather(1, gold_n1), logits_nV.amax(1, keepdim=True)
    sum_n1 = logits_nV.sub_(highest_n1).exp_().sum(1, keepdim=True)
    logits_nV.scatter_add_(1, gold_n1, -share * sum_n1)
    return sum_n1, highest_n1 + sum_n1.log(), gold_logits_n1


class _LabelSmoothedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_ND: Tensor, weight_VD: Tensor, gold_N: Tensor, epsilon: float, by_kernel: bool
    ) -> tuple[Tensor, Tensor]:
        vocab_size = weight_VD.size(0)
        other = epsilon / (vocab_size - 1)  # q of every token but the gold one
        # Start from the part of -q that is the same for every token.
        all_hidden_D = hidden_ND.to(weight_VD.dtype).sum(0)
        grad_hidden_ND, grad_weight_VD = torch.empty_like(hidden_ND), torch.empty_like(weight_VD)
        grad_weight_VD[:] = -other * all_hidden_D
        smoothed, unsmoothed = weight_VD.new_zeros(()), weight_VD.new_zeros(())
        products = Bfloat16Factor(weight_VD) if by_kernel else Factor(weight_VD.to(hidden_ND.dtype))
        scratch_nV = hidden_ND.new_empty(min(LOGIT_ROWS, len(hidden_ND)), vocab_size)
        all_tokens_D = weight_VD.sum(0)
        chunks = (torch.split(tensor, LOGIT_ROWS) for tensor in (hidden_ND, gold_N, grad_hidden_ND))
        for hidden_nD, gold_n, grad_nD in zip(*chunks, strict=True):
            logits_nV = products.logits(hidden_nD, scratch_nV[: len(hidden_nD)]).to(weight_VD.dtype)
            sum_n1, normalizer_n1, gold_logits_n1 = _softmax_less_gold_(logits_nV, gold_n, 1 - epsilon - other)
            nll = (normalizer_n1 - gold_logits_n1).sum()
            # Σ of -log p over all tokens. The sum of a row's logits is hidden · Σ weights, without a pass over them.
            all_nll = vocab_size * normalizer_n1.sum() - (hidden_nD.to(weight_VD.dtype) @ all_tokens_D).sum()
            unsmoothed += nll
            smoothed += (1 - epsilon - other) * nll + other * all_nll

            # Divide by the row sums in the small matrices, which saves a pass over the vocabulary.
            grad_nV = logits_nV.to(hidden_nD.dtype)
            products.grad_hidden(grad_nV, grad_nD).div_(sum_n1)
            products.add_grad_weight(grad_nV, (hidden_nD / sum_n1).to(hidden_nD.dtype), grad_weight_VD)
        grad_hidden_ND -= other * all_tokens_D.to(hidden_ND.dtype)
        ctx.save_for_backward(grad_hidden_ND, grad_weight_VD)
        ctx.mark_non_differentiable(unsmoothed)
        return smoothed, unsmoothed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_smoothed: Tensor, grad_unsmoothed: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden_ND, grad_weight_VD = ctx.saved_tensors
        return grad_hidden_ND * grad_smoothed, grad_weight_VD * grad_smoothed, None, None, None
