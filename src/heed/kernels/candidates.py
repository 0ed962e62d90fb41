"""The best continuations of hypotheses, in one go over the scores of all symbols."""

import ctypes
from functools import cache

import torch
from torch import Tensor

from heed.kernels.library import kernels


def best_by_kernel(
    live_BW: Tensor, logits_BWV: Tensor, n: int, never: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor] | None:
    """What `best_continuations` of heed.decode finds; None where there is no kernel for these tensors."""
    library = kernels(live_BW, logits_BWV)
    if library is None:
        return None
    live_BW, logits_BWV = live_BW.contiguous(), logits_BWV.contiguous()
    n_sentences, width, vocab_size = logits_BWV.shape
    totals_BN = logits_BWV.new_empty(n_sentences, n)
    places_2BN = torch.empty(2, n_sentences, n, dtype=torch.long)
    parents_BN, symbols_BN = places_2BN.unbind()
    library.heed_best_continuations(
        *(live_BW.data_ptr(), logits_BWV.data_ptr()),
        *(n_sentences, width, vocab_size),
        *(_numbers(never), len(never), n),
        *(totals_BN.data_ptr(), parents_BN.data_ptr(), symbols_BN.data_ptr()),
    )
    return totals_BN, parents_BN, symbols_BN


@cache
def _numbers(several: tuple[int, ...]) -> "ctypes.Array[ctypes.c_long]":
    return (ctypes.c_long * len(several))(*several)
