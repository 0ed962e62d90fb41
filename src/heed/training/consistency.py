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
        grads_ND, grad_weight_VD = [torch.empty_like(hidden_ND) for _ in range(2)], torch.zeros_like(weight_VD)
        total, unsmoothed = weight_VD.new_zeros(()), weight_VD.new_zeros(())
        for begin in range(0, len(hidden_ND), LOGIT_ROWS):
            rows = slice(begin, begin + LOGIT_ROWS)
            gold_n1 = gold_N[rows].unsqueeze(1)
            views = [x_ND[rows] for x_ND in (hidden_ND, other_ND)]
            logits = [products.logits(x_nD, x_nD.new_empty(len(x_nD), len(weight_VD))) for x_nD in views]
            logprobs = [torch.log_softmax(logits_nV, -1) for logits_nV in logits]
            for logprob_nV in logprobs:
                gold = logprob_nV.gather(1, gold_n1).sum()
                total -= ((1 - epsilon - rest) * gold + rest * logprob_nV.sum()) / 2
                unsmoothed -= gold if logprob_nV is logprobs[0] else 0
            ratio_nV = logprobs[0] - logprobs[1]  # log p - log r
            p_nV, r_nV = (logprob_nV.exp_() for logprob_nV in logprobs)
            kl_pr_n1 = (p_nV * ratio_nV).sum(1, keepdim=True)
            kl_rp_n1 = -(r_nV * ratio_nV).sum(1, keepdim=True)
            total += consistency / 2 * (kl_pr_n1 + kl_rp_n1).sum()

            # d KL(p‖r) / d logits of p is p (log p - log r - KL), of r it is r - p; and the other way round.
            difference_nV = (p_nV - r_nV).mul_(consistency)
            grad_p_nV = (ratio_nV - kl_pr_n1).mul_(consistency).add_(1).mul_(p_nV).add_(difference_nV)
            grad_r_nV = (ratio_nV + kl_rp_n1).mul_(-consistency).add_(1).mul_(r_nV).sub_(difference_nV)
            for grad_nV, x_nD, grad_ND in zip((grad_p_nV, grad_r_nV), views, grads_ND, strict=True):
                grad_nV.sub_(rest)
                grad_nV.scatter_add_(1, gold_n1, torch.full_like(grad_nV[:, :1], rest - (1 - epsilon)))
                grad_nV.div_(2)
                products.grad_hidden(grad_nV, grad_ND[rows])
                products.add_grad_weight(grad_nV, x_nD, grad_weight_VD)
        ctx.save_for_backward(*grads_ND, grad_weight_VD)
        ctx.mark_non_differentiable(unsmoothed)
        return total, unsmoothed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_total: Tensor, grad_unsmoothed: Tensor) -> tuple[Tensor | None, ...]:
        return (*(grad * grad_total for grad in ctx.saved_tensors), None, None, None, None)
