"""The best continuations of hypotheses: softmax and top-n fused."""

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.kernels.library import library
from heed.kernels.matrix import Floats, address

Ints = NDArray[np.integer[Any]]


def best_by_kernel(
    live_BW: Floats, logits_BWV: Floats, n: int, never: tuple[int, ...]
) -> tuple[Floats, Ints, Ints] | None:
    """Return what `heed.decode.candidates.best_continuations` returns; None: there is no kernel for these arrays."""
    kernels = library()
    if kernels is None or live_BW.dtype != np.float32 or logits_BWV.dtype != np.float32:
        return None
    live_BW, logits_BWV = np.ascontiguousarray(live_BW), np.ascontiguousarray(logits_BWV)
    n_sentences, width, vocab_size = logits_BWV.shape
    if live_BW.shape != (n_sentences, width):
        raise ValueError(f"hypotheses {live_BW.shape} for scores {logits_BWV.shape}")
    totals_BN = np.empty((n_sentences, n), np.float32)
    parents_BN, tokens_BN = np.empty((n_sentences, n), np.int64), np.empty((n_sentences, n), np.int64)
    kernels.heed_best_continuations(
        *(address(live_BW), address(logits_BWV)),
        *(n_sentences, width, vocab_size),
        *(_c_array(never), len(never), n),
        *(address(totals_BN), address(parents_BN), address(tokens_BN)),
    )
    return totals_BN, parents_BN, tokens_BN


@cache
def _c_array(numbers: tuple[int, ...]) -> "ctypes.Array[ctypes.c_long]":
    return (ctypes.c_long * len(numbers))(*numbers)
