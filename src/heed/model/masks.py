"""Who may attend to whom. True means "may attend"."""

import torch
from torch import Tensor

from heed.symbols import PAD


def padding_mask(ids_BM: Tensor) -> Tensor | None:
    """Nobody attends to padding: may_attend_B11M; None when there is none."""
    may_attend_BM = ids_BM.ne(PAD)
    return None if bool(may_attend_BM.all()) else may_attend_BM[:, None, None, :]


def causal_mask(n_queries: int, n_memory: int, device: torch.device | None = None) -> Tensor | None:
    """Section 3.2.3: no position attends to a later one. The queries are the last of the memory's positions.

    may_attend_11LM, or None for a single query, which may see everything before it.
    """
    if n_queries == 1:
        return None
    may_attend_LM = torch.ones(n_queries, n_memory, dtype=torch.bool, device=device)
    return may_attend_LM.tril(n_memory - n_queries)[None, None]
