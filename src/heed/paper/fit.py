"""Fit powers of n and d to measurements, as straight lines on log-log axes."""

from collections.abc import Sequence

import numpy as np


def power(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the factor and the exponent of y = factor · x^exponent that fit the points best on log-log axes."""
    x, y = np.log(np.array(points, dtype=float)).T
    exponent, intercept = np.polyfit(x, y, 1)
    return float(np.exp(intercept)), float(exponent)


def two_powers(points: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the exponents p and q of z = factor · x^p · y^q that fit the points best on log-log axes."""
    logs = np.log(np.array(points, dtype=float))
    design = np.column_stack((np.ones(len(logs)), logs[:, :2]))
    solution = np.linalg.lstsq(design, logs[:, 2], rcond=None)[0]
    return float(solution[1]), float(solution[2])


def crossing(some: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> float | None:
    """Return where two curves over the same x cross, between the points on log-log axes; None: nowhere there.

    If they cross several times, as measurements with noise do, the last crossing counts.
    """
    x = np.log([at for at, _ in some])
    apart = np.log([y for _, y in some]) - np.log([y for _, y in others])
    for i in reversed(range(len(x) - 1)):
        if apart[i] == 0:
            return float(np.exp(x[i]))
        if apart[i] * apart[i + 1] <= 0:
            share = apart[i] / (apart[i] - apart[i + 1])
            return float(np.exp(x[i] + share * (x[i + 1] - x[i])))
    return None


def meeting(some: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]) -> float | None:
    """Return where the lines that fit two curves meet, wherever that is; None: they are parallel."""
    (factor, exponent), (other_factor, other_exponent) = power(some), power(others)
    if abs(exponent - other_exponent) < 1e-6:
        return None
    return float((other_factor / factor) ** (1 / (exponent - other_exponent)))
