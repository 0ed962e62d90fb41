"""Who may attend to whom. True means "may attend"."""

import torch
from torch import Tensor

from heed.symbols import PAD


def padding_mask(ids_BM: Tensor) -> Tensor | None:
    """Nobody attends to padding: may_attend_B11M; None when there is none."""
    may_attend_BM = ids_BM.ne(PAD)
    return None if bool(may_attend_BM.all()) else may_attend_BM[:, None, None, :]


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """Section 3.2.3: no position attends to a later one. may_attend_11LL"""
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()[None, None]
