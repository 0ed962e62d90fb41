"""The best continuations of hypotheses: softmax and top-n fused."""

import ctypes
from functools import cache

import torch
from torch import Tensor

from heed.kernels.library import kernels


def best_by_kernel(
    live_BW: Tensor, logits_BWV: Tensor, n: int, never: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Return what `heed.decode.candidates.best_continuations` returns; None: there is no kernel for these tensors."""
    library = kernels(live_BW, logits_BWV)
    if library is None:
        return None
    live_BW, logits_BWV = live_BW.contiguous(), logits_BWV.contiguous()
    n_sentences, width, vocab_size = logits_BWV.shape
    totals_BN = logits_BWV.new_empty(n_sentences, n)
    buffer_2BN = torch.empty(2, n_sentences, n, dtype=torch.long)
    parents_BN, tokens_BN = buffer_2BN.unbind()
    library.heed_best_continuations(
        *(live_BW.data_ptr(), logits_BWV.data_ptr()),
        *(n_sentences, width, vocab_size),
        *(_c_array(never), len(never), n),
        *(totals_BN.data_ptr(), parents_BN.data_ptr(), tokens_BN.data_ptr()),
    )
    return totals_BN, parents_BN, tokens_BN


@cache
def _c_array(numbers: tuple[int, ...]) -> "ctypes.Array[ctypes.c_long]":
    return (ctypes.c_long * len(numbers))(*numbers)
