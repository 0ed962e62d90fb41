"""A consistency loss: two views of every pair, and a penalty for predicting differently.

The views differ in their dropout masks (R-Drop, Liang et al. 2021) and, with `train.cutoff`, in tokens that the second
view hides (Cutoff, Shen et al. 2020; SimCut, Gao et al. 2022). With predictions p and r of the two views,

    loss = (CE(p) + CE(r)) / 2 + weight · (KL(p‖r) + KL(r‖p)) / 2

where CE is the label-smoothed cross-entropy of section 5.4. As in `loss.py`, gradients are made some rows at a time, so
the logits of a whole batch never exist.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from heed.kernels.two_views import two_views_
from heed.model.dropout import hash_unit, position_seeds, second_seeds
from heed.model.products import Bfloat16Factor, Factor, in_bfloat16
from heed.training.loss import LOGIT_ROWS, Loss
from heed.vocabulary import Vocabulary


def second_view(
    src_BS: Tensor, tgt_in_BT: Tensor, seed_B: Tensor, cutoff: float, vocabulary: Vocabulary
) -> tuple[Tensor, Tensor, Tensor]:
    """Return source, target input and dropout seeds of the second view of a batch.

    Hidden tokens become the unknown token, which occurs nowhere else: the model learns its embedding.
    """
    seed_B = second_seeds(seed_B)
    if not cutoff:
        return src_BS, tgt_in_BT, seed_B
    hidden = []
    for ids_BL, side in ((src_BS, "source"), (tgt_in_BT, "target")):
        position_L = torch.arange(ids_BL.size(1), device=ids_BL.device)
        seeds_BL = position_seeds(seed_B.unsqueeze(1), position_L, side)  # type: ignore[arg-type]
        may_hide_BL = ids_BL.ne(vocabulary.pad) & ids_BL.ne(vocabulary.start)
        hidden.append(ids_BL.masked_fill(may_hide_BL & (hash_unit(seeds_BL) < cutoff), vocabulary.unknown))
    return hidden[0], hidden[1], seed_B


def consistent_loss(
    hidden_ND: Tensor, other_ND: Tensor, weight_VD: Tensor, gold_N: Tensor, epsilon: float, consistency: float
) -> Loss:
    """Return the summed loss of two views, given their hidden states; the likelihood is that of the first."""
    views = (x_ND.to(weight_VD.dtype) for x_ND in (hidden_ND, other_ND))
    return Loss(*_ConsistentLoss.apply(*views, weight_VD, gold_N, epsilon, consistency, in_bfloat16()))  # type: ignore[no-untyped-call]


def _two_views_(
    logits_nV: Tensor, other_nV: Tensor, gold_n: Tensor, share: float, rest: float, consistency: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Turn the logits of two views into twice the gradient of their loss, in place.

    The target distribution gives each token `rest`, and the gold one `share` more. Return of each row both
    log-probabilities of the gold token, the sum of all log-probabilities of both views, and KL(p‖r) + KL(r‖p).
    """
    by_kernel = two_views_(logits_nV, other_nV, gold_n, share, rest, consistency)
    if by_kernel is not None:
        return by_kernel
    gold_n1 = gold_n.unsqueeze(1)
    logits = logits_nV, other_nV
    for x_nV in logits:
        x_nV.sub_(x_nV.logsumexp(1, keepdim=True))
    gold_p_n, gold_r_n = (x_nV.gather(1, gold_n1).squeeze(1) for x_nV in logits)
    all_n, ratio_nV = (logits_nV + other_nV).sum(1), logits_nV - other_nV  # log p - log r
    p_nV, r_nV = (x_nV.exp_() for x_nV in logits)
    kl_pr_n1 = (p_nV * ratio_nV).sum(1, keepdim=True)
    kl_rp_n1 = -(r_nV * ratio_nV).sum(1, keepdim=True)

    # d KL(p‖r) / d logits of p is p (log p - log r - KL), of r it is r - p; and the other way round.
    difference_nV = (p_nV - r_nV).mul_(consistency)
    p_nV.mul_((ratio_nV - kl_pr_n1).mul_(consistency).add_(1)).add_(difference_nV)
    r_nV.mul_((ratio_nV + kl_rp_n1).mul_(-consistency).add_(1)).sub_(difference_nV)
    for grad_nV in logits:
        grad_nV.sub_(rest).scatter_add_(1, gold_n1, torch.full_like(grad_nV[:, :1], -share))
    return gold_p_n, gold_r_n, all_n, (kl_pr_n1 + kl_rp_n1).squeeze(1)


class _ConsistentLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_ND: Tensor,
        other_ND: Tensor,
        weight_VD: Tensor,
        gold_N: Tensor,
        epsilon: float,
        consistency: float,
        by_kernel: bool,
    ) -> tuple[Tensor, Tensor]:
        products = Bfloat16Factor(weight_VD) if by_kernel else Factor(weight_VD)
        rest = epsilon / (weight_VD.size(0) - 1)  # the probability of each token but the gold one
        share = 1 - epsilon - rest
        grads_ND, grad_weight_VD = [torch.empty_like(hidden_ND) for _ in range(2)], torch.zeros_like(weight_VD)
        total, unsmoothed = weight_VD.new_zeros(()), weight_VD.new_zeros(())
        scratch_2nV = hidden_ND.new_empty(2, min(LOGIT_ROWS, len(hidden_ND)), len(weight_VD))
        for begin in range(0, len(hidden_ND), LOGIT_ROWS):
            rows = slice(begin, begin + LOGIT_ROWS)
            gold_n, views = gold_N[rows], [x_ND[rows] for x_ND in (hidden_ND, other_ND)]
            p_nV, r_nV = (products.logits(x_nD, scratch_2nV[i, : len(x_nD)]) for i, x_nD in enumerate(views))
            gold_p_n, gold_r_n, all_n, divergence_n = _two_views_(p_nV, r_nV, gold_n, share, rest, consistency)
            unsmoothed -= gold_p_n.sum()
            total -= (share * (gold_p_n + gold_r_n) + rest * all_n - consistency * divergence_n).sum() / 2
            for grad_nV, x_nD, grad_ND in zip((p_nV, r_nV), views, grads_ND, strict=True):
                # Half of it, in the small matrices, which saves a pass over the vocabulary.
                products.grad_hidden(grad_nV, grad_ND[rows]).div_(2)
                products.add_grad_weight(grad_nV, x_nD / 2, grad_weight_VD)
        ctx.save_for_backward(*grads_ND, grad_weight_VD)
        ctx.mark_non_differentiable(unsmoothed)
        return total, unsmoothed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_total: Tensor, grad_unsmoothed: Tensor) -> tuple[Tensor | None, ...]:
        return (*(grad * grad_total for grad in ctx.saved_tensors), None, None, None, None)
