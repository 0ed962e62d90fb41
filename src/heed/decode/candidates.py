"""The best continuations of hypotheses, without sorting the whole vocabulary."""

import torch
from torch import Tensor

from heed.kernels.candidates import best_by_kernel
from heed.kernels.library import kernels

_MAX_SORTED_LOGITS = (
    40_000  # up to this many in a batch, sorting is as fast as grouping; so it is for small vocabularies
)
_MAX_SAFE_LOGIT = 60.0  # up to this magnitude, exp in float32, and sums of it, neither overflow nor vanish


def best_continuations(
    live_BW: Tensor, logits_BWV: Tensor, n: int, never: tuple[int, ...] = (), allowed_BWV: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the n best continuations of each sentence over all its hypotheses, best first.

    They are totals_BN, parents_BN, tokens_BN. A total is the log-probability of the hypothesis, in `live_BW`, plus that
    of the token. Tokens in `never`, or not in `allowed_BWV`, count in the softmax but are not offered: their totals
    are -inf. `logits_BWV` may be overwritten.
    """
    n = min(n, logits_BWV[0].numel())
    if allowed_BWV is None and kernels(live_BW, logits_BWV) is not None:
        if (found := best_by_kernel(live_BW.detach().numpy(), logits_BWV.detach().numpy(), n, never)) is not None:
            totals, parents, tokens = map(torch.from_numpy, found)
            return totals, parents, tokens
    start_BW = live_BW - _log_sum_exp(logits_BWV)
    for token in never:
        logits_BWV[..., token].fill_(-torch.inf)
    if allowed_BWV is not None:
        logits_BWV.masked_fill_(~allowed_BWV, -torch.inf)
    if logits_BWV.numel() <= _MAX_SORTED_LOGITS or logits_BWV.size(-1) <= max(1024, 64 * n):
        totals_BN, indices_BN = logits_BWV.add_(start_BW.unsqueeze(-1)).flatten(1).topk(n)
        return totals_BN, indices_BN // logits_BWV.size(-1), indices_BN % logits_BWV.size(-1)

    highest_BWG = _highest_of_groups(logits_BWV)
    n_groups = highest_BWG.size(-1)
    # The n best tokens are in the n groups with the highest maxima.
    groups_BN = (highest_BWG + start_BW.unsqueeze(-1)).flatten(1).topk(n, sorted=False).indices
    parents_BN, groups_BN = groups_BN // n_groups, groups_BN % n_groups
    tokens_BNg = groups_BN.unsqueeze(-1) + torch.arange(
        0, logits_BWV.size(-1), n_groups, device=logits_BWV.device
    )  # a group's last index may be beyond the vocabulary
    beyond_BNg = tokens_BNg >= logits_BWV.size(-1)
    indices_BNg = parents_BN.unsqueeze(-1) * logits_BWV.size(-1) + tokens_BNg.masked_fill(beyond_BNg, 0)
    totals_BNg = logits_BWV.flatten(1).gather(1, indices_BNg.flatten(1)).view_as(indices_BNg)
    totals_BNg = (totals_BNg + start_BW.gather(1, parents_BN).unsqueeze(-1)).masked_fill_(beyond_BNg, -torch.inf)
    totals_BN, best_BN = totals_BNg.flatten(1).topk(n)
    tokens_BN = tokens_BNg.flatten(1).gather(1, best_BN)
    return totals_BN, parents_BN.gather(1, best_BN // tokens_BNg.size(-1)), tokens_BN


def _highest_of_groups(x_BWV: Tensor) -> Tensor:
    """Return the maximum of each group. Group g is g, g + n_groups, g + 2 n_groups, ..., so that this vectorises."""
    n_groups = x_BWV.size(-1) // 32 // 16 * 16
    n_whole = x_BWV.size(-1) // n_groups * n_groups
    highest_BWG = x_BWV[..., :n_whole].view(*x_BWV.shape[:2], -1, n_groups).amax(-2)
    rest_BWr = x_BWV[..., n_whole:]
    highest_BWr = highest_BWG[..., : rest_BWr.size(-1)]
    torch.maximum(highest_BWr, rest_BWr, out=highest_BWr)
    return highest_BWG


def _log_sum_exp(logits_BWV: Tensor) -> Tensor:
    """Return log-sum-exp; without subtracting the maximum where that is safe, which saves a pass.

    It never is in 16 bits: exp(12) overflows float16.
    """
    highest_BW = logits_BWV.amax(-1)
    if logits_BWV.itemsize >= 4 and float(highest_BW.abs().max()) < _MAX_SAFE_LOGIT:
        return logits_BWV.exp().sum(-1).log_()
    return highest_BW + (logits_BWV - highest_BW.unsqueeze(-1)).exp_().sum(-1).log_()
