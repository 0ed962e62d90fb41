"""The most probable next symbols, without sorting a vocabulary or normalising what is not asked for."""

import torch
from torch import Tensor

_GROUP = 32  # symbols


def best_symbols(
    logits_RV: Tensor, n: int, never: tuple[int, ...] = (), allowed_RV: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The n most probable symbols of each row, best first: their log-probabilities and numbers. `logits_RV` is used up.

    Symbols in `never`, or not in `allowed_RV`, have their probability, but are not offered: theirs are -inf.
    """
    hidden_Rn = logits_RV[:, list(never)]
    logits_RV[:, list(never)] = -torch.inf
    offered_RV = logits_RV if allowed_RV is None else logits_RV.masked_fill(~allowed_RV, -torch.inf)
    values_Rn, symbols_Rn = _top(offered_RV, n)
    highest_R1 = logits_RV.amax(1, keepdim=True) if allowed_RV is not None else values_Rn[:, :1].clone()
    if never:
        highest_R1 = highest_R1.maximum(hidden_Rn.amax(1, keepdim=True))
    sum_R1 = logits_RV.sub_(highest_R1).exp_().sum(1, keepdim=True)
    sum_R1 += (hidden_Rn - highest_R1).exp_().sum(1, keepdim=True)
    return values_Rn - highest_R1 - sum_R1.log(), symbols_Rn


def _top(x_RV: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """`torch.topk` along the rows, several times as fast when n is small.

    The best n are in the n groups whose own best are highest. Group g is g, g + n_groups, g + 2 n_groups, ..., for then
    the highest of all groups are found in steps as wide as the processor allows.
    """
    n_groups, n = x_RV.size(1) // _GROUP, min(n, x_RV.size(1))
    if n_groups < 2 * n:
        return x_RV.topk(n)
    grouped_RGg = x_RV[:, : n_groups * _GROUP].view(-1, _GROUP, n_groups)
    groups_Rn = grouped_RGg.amax(1).topk(n, sorted=False).indices
    members_G = torch.arange(0, n_groups * _GROUP, n_groups, device=x_RV.device)
    places_Rc = (groups_Rn.unsqueeze(-1) + members_G).flatten(1)
    if n_groups * _GROUP < x_RV.size(1):  # and those in no group
        rest = torch.arange(n_groups * _GROUP, x_RV.size(1), device=x_RV.device)
        places_Rc = torch.cat((places_Rc, rest.expand(len(x_RV), -1)), 1)
    values_Rn, among_Rn = x_RV.gather(1, places_Rc).topk(n)
    return values_Rn, places_Rc.gather(1, among_Rn)
