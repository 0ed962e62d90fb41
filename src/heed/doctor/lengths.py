"""Pairs whose lengths do not fit."""

import numpy as np
from numpy.typing import NDArray

from heed.doctor.measure import Floats

_SMOOTH = 10  # characters added to both sides: "Ja." for "Yes, I do." is nothing odd
_FAR = 6.0  # standard deviations, estimated from the middle half
_AT_LEAST = float(np.log(2))  # a pair whose ratio is less than twice or half the usual one is never reported


def log_ratios(source: NDArray[np.generic], target: NDArray[np.generic]) -> Floats:
    """ln of target over source, from lengths in characters."""
    return np.log((target.astype(np.float64) + _SMOOTH) / (source.astype(np.float64) + _SMOOTH))


def outliers(ratios: Floats) -> NDArray[np.bool_]:
    if not len(ratios):
        return np.zeros(0, dtype=bool)
    away = np.abs(ratios - np.median(ratios))
    return away > max(_FAR * 1.4826 * float(np.median(away)), _AT_LEAST)
