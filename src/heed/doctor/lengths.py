"""Find pairs whose lengths do not match."""

import numpy as np
from numpy.typing import NDArray

from heed.doctor.measure import Floats

_SMOOTHING_CHARACTERS = 10  # added to both sides, because "Ja." for "Yes, I do." is not suspicious
_OUTLIER_DEVIATIONS = 6.0  # standard deviations, estimated robustly from the median distance
_MIN_LOG_RATIO = float(np.log(2))  # never report a ratio between half and twice the usual one


def log_ratios(source: NDArray[np.generic], target: NDArray[np.generic]) -> Floats:
    """Return ln(target / source) of lengths in characters."""
    return np.log(
        (target.astype(np.float64) + _SMOOTHING_CHARACTERS) / (source.astype(np.float64) + _SMOOTHING_CHARACTERS)
    )


def outliers(ratios: Floats) -> NDArray[np.bool_]:
    """Return which log ratios are far from the median."""
    if not len(ratios):
        return np.zeros(0, dtype=bool)
    distances = np.abs(ratios - np.median(ratios))
    return distances > max(_OUTLIER_DEVIATIONS * 1.4826 * float(np.median(distances)), _MIN_LOG_RATIO)
