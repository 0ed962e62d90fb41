"""How far a confidence can be trusted: AUC, expected calibration error, and the bins of a reliability diagram."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]

N_BINS = 10


@dataclass(frozen=True)
class Bin:
    """The items whose confidence is in one tenth of the range from 0 to 1."""

    n: int
    said: float  # their mean confidence
    found: float  # the share of them that is good


def auc(confidence_N: Floats, good_N: Mask) -> float:
    """Return the chance that a good item has a higher confidence than a bad one; equal ones count as half.

    This is the area under the ROC curve, from the ranks of the good items (Mann-Whitney).
    """
    values_N, place_N, counts = np.unique(confidence_N, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    rank_N = (last - (counts - 1) / 2)[place_N]  # from 1; equal values share their mean rank
    n_good = int(good_N.sum())
    n_bad = len(good_N) - n_good
    return float((rank_N[good_N].sum() - n_good * (n_good + 1) / 2) / (n_good * n_bad))


def reliability(confidence_N: Floats, good_N: Mask) -> list[Bin]:
    """Return ten bins of equal width; an empty one has zeros."""
    which_N = np.minimum((confidence_N * N_BINS).astype(int), N_BINS - 1)
    bins = []
    for number in range(N_BINS):
        inside = which_N == number
        n = int(inside.sum())
        bins.append(Bin(n, *(float(one[inside].mean()) if n else 0.0 for one in (confidence_N, good_N))))
    return bins


def calibration_error(bins: list[Bin]) -> float:
    """Return the expected calibration error: the mean distance of said and found, weighted by the bins' sizes."""
    return sum(one.n * abs(one.said - one.found) for one in bins) / sum(one.n for one in bins)
