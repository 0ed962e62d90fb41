"""Candidates for beam search with a requirement: dynamic beam allocation (Post & Vilar 2018, Hu et al. 2019)."""

import math

import numpy as np

from heed.decode.search import Constrained, Floats, Ints, Scores, offered

_GROUP_SIZE = 32  # totals of which one maximum is taken, to find the highest of all


def best_of_banks(
    scores: Scores, n: int, live_BW: Floats, never: tuple[int, ...], constrained: Constrained
) -> tuple[Floats, Ints, Ints]:
    """Return n continuations of each sentence, the best of each bank first: totals_BN, parents_BN, tokens_BN.

    A bank holds the candidates that need the same number of tokens to meet the requirement. The order is the best of
    each bank, then the second of each, and so on; in each round the bank that needs least comes first. So cutting it
    anywhere divides the beam evenly over the banks, and a bank with few candidates leaves its share to the others.

    The candidates are the n best of all, the best of each hypothesis, and the tokens that the requirement wants.
    """
    logprobs_BWV = offered(scores.logprobs(), never, constrained.allowed())
    n_sentences, width, n_tokens = logprobs_BWV.shape
    totals_BN = np.full((n_sentences, n), -math.inf, dtype=logprobs_BWV.dtype)
    parents_BN, tokens_BN = (np.zeros((n_sentences, n), dtype=np.int64) for _ in range(2))
    firsts_W = np.arange(width) * n_tokens
    for row in range(n_sentences):
        totals_X = (live_BW[row, :, None] + logprobs_BWV[row]).ravel()
        best_W = firsts_W + logprobs_BWV[row].argmax(-1)
        wanted = [parent * n_tokens + token for parent, token in constrained.wanted(row)]
        found_C = np.unique(np.concatenate((_highest(totals_X, n), best_W, np.array(wanted, dtype=np.int64))))
        found_C = found_C[np.isfinite(totals_X[found_C])]
        found_C = found_C[np.argsort(-totals_X[found_C], kind="stable")]
        parents_C, tokens_C = found_C // n_tokens, found_C % n_tokens
        banks_C = np.array(constrained.n_needed(row, parents_C, tokens_C), dtype=np.int64)
        order_C = np.lexsort((banks_C, _ranks_within(banks_C)))[:n]
        kept = slice(len(order_C))
        totals_BN[row, kept] = totals_X[found_C[order_C]]
        parents_BN[row, kept], tokens_BN[row, kept] = parents_C[order_C], tokens_C[order_C]
    return totals_BN, parents_BN, tokens_BN


def _highest(totals_X: Floats, n: int) -> Ints:
    """Return the indices of the n highest finite totals, in any order, without sorting all of them."""
    size = totals_X.size // _GROUP_SIZE * _GROUP_SIZE
    is_high_X = totals_X > -math.inf
    if size >= n * _GROUP_SIZE:
        # The maxima of n groups reach the n-th highest maximum, so the n highest of all totals do, too.
        maxima = totals_X[:size].reshape(_GROUP_SIZE, -1).max(0)
        is_high_X &= totals_X >= np.partition(maxima, -n)[-n]
    found_X = np.flatnonzero(is_high_X)
    return found_X if len(found_X) <= n else found_X[np.argpartition(-totals_X[found_X], n - 1)[:n]]


def _ranks_within(banks_C: Ints) -> Ints:
    """Return the rank of each candidate within its bank; candidates are given best first."""
    ranks_C = np.empty_like(banks_C)
    for bank in np.unique(banks_C):
        is_in_C = banks_C == bank
        ranks_C[is_in_C] = np.arange(is_in_C.sum())
    return ranks_C
