"""The best continuations of hypotheses, without sorting a vocabulary."""

import torch
from torch import Tensor

from heed.kernels.candidates import best_by_kernel

_FEW = 40_000  # numbers that are as quickly sorted as grouped; so are those of small vocabularies
_SAFE = 60.0  # exp of numbers no larger, and sums of it, neither overflow nor vanish


def best_continuations(
    live_BW: Tensor, logits_BWV: Tensor, n: int, never: tuple[int, ...] = (), allowed_BWV: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The n best continuations of each sentence over all its hypotheses, best first: totals_BN, parents_BN, tokens_BN.

    A total is what the hypothesis has in `live_BW` and the symbol's log-probability. Symbols in `never`, or not in
    `allowed_BWV`, have their probability, but are not offered: their totals are -inf. `logits_BWV` is used up.
    """
    n = min(n, logits_BWV[0].numel())
    if allowed_BWV is None and (found := best_by_kernel(live_BW, logits_BWV, n, never)) is not None:
        return found
    start_BW = live_BW - _log_sum_exp(logits_BWV)
    for token in never:
        logits_BWV[..., token].fill_(-torch.inf)
    if allowed_BWV is not None:
        logits_BWV.masked_fill_(~allowed_BWV, -torch.inf)
    if logits_BWV.numel() <= _FEW or logits_BWV.size(-1) <= max(1024, 64 * n):
        totals_BN, places_BN = logits_BWV.add_(start_BW.unsqueeze(-1)).flatten(1).topk(n)
        return totals_BN, places_BN // logits_BWV.size(-1), places_BN % logits_BWV.size(-1)

    highest_BWG = _highest_of_groups(logits_BWV)
    n_groups = highest_BWG.size(-1)
    # The best n are in the n groups whose own best are highest.
    groups_BN = (highest_BWG + start_BW.unsqueeze(-1)).flatten(1).topk(n, sorted=False).indices
    parents_BN, groups_BN = groups_BN // n_groups, groups_BN % n_groups
    tokens_BNg = groups_BN.unsqueeze(-1) + torch.arange(
        0, logits_BWV.size(-1), n_groups, device=logits_BWV.device
    )  # the last may be beyond the vocabulary
    beyond_BNg = tokens_BNg >= logits_BWV.size(-1)
    places_BNg = parents_BN.unsqueeze(-1) * logits_BWV.size(-1) + tokens_BNg.masked_fill(beyond_BNg, 0)
    totals_BNg = logits_BWV.flatten(1).gather(1, places_BNg.flatten(1)).view_as(places_BNg)
    totals_BNg = (totals_BNg + start_BW.gather(1, parents_BN).unsqueeze(-1)).masked_fill_(beyond_BNg, -torch.inf)
    totals_BN, among_BN = totals_BNg.flatten(1).topk(n)
    tokens_BN = tokens_BNg.flatten(1).gather(1, among_BN)
    return totals_BN, parents_BN.gather(1, among_BN // tokens_BNg.size(-1)), tokens_BN


def _highest_of_groups(x_BWV: Tensor) -> Tensor:
    """Group g is g, g + n_groups, g + 2 n_groups, ...: so the highest of many groups are found at once."""
    n_groups = x_BWV.size(-1) // 32 // 16 * 16
    n_whole = x_BWV.size(-1) // n_groups * n_groups
    highest_BWG = x_BWV[..., :n_whole].view(*x_BWV.shape[:2], -1, n_groups).amax(-2)
    rest_BWr = x_BWV[..., n_whole:]
    highest_BWr = highest_BWG[..., : rest_BWr.size(-1)]
    torch.maximum(highest_BWr, rest_BWr, out=highest_BWr)
    return highest_BWG


def _log_sum_exp(logits_BWV: Tensor) -> Tensor:
    """In most cases it needs no pass to make the numbers small; of 16 bits, exp of 12 is too large already."""
    highest_BW = logits_BWV.amax(-1)
    if logits_BWV.itemsize >= 4 and float(highest_BW.abs().max()) < _SAFE:
        return logits_BWV.exp().sum(-1).log_()
    return highest_BW + (logits_BWV - highest_BW.unsqueeze(-1)).exp_().sum(-1).log_()
