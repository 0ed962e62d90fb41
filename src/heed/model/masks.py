"""Masks of attention. True means "may attend"."""

import math

import torch
from torch import Tensor


def padding_mask(ids_BM: Tensor, pad: int) -> Tensor | None:
    """Return may_attend_B11M, which is False for padding; None: there is no padding."""
    may_attend_BM = ids_BM.ne(pad)
    return None if bool(may_attend_BM.all()) else may_attend_BM[:, None, None, :]


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """Return may_attend_11LL of section 3.2.3: no position attends to a later one."""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()[None, None]


def additive_mask(may_attend: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a mask to add to scores: 0 for True and -inf for False."""
    return torch.zeros(may_attend.shape, dtype=dtype, device=may_attend.device).masked_fill_(~may_attend, -math.inf)
