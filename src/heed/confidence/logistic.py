"""Logistic regression: a chance from a few features."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]

_RIDGE = 1.0  # a normal prior on each standardised weight; keeps weights finite where a feature separates the classes
_MAX_STEPS = 100


@dataclass(frozen=True)
class Logistic:
    """P(good) = 1 / (1 + exp(-(bias + weights · features)))."""

    bias: float
    weights: tuple[float, ...]

    def __call__(self, x_NF: Floats) -> Floats:
        return _sigmoid(self.bias + x_NF @ np.array(self.weights))


def fit(x_NF: Floats, good_N: Sequence[bool] | NDArray[np.bool_]) -> Logistic:
    """Return the regression with the highest posterior probability, by Newton's method.

    Features are standardised meanwhile, so that the prior does not depend on their units.
    """
    mean_F, scale_F = x_NF.mean(0), x_NF.std(0)
    scale_F = np.where(scale_F > 0, scale_F, 1.0)  # a constant feature: all zeros, and so is its weight
    x_NG = np.column_stack([np.ones(len(x_NF)), (x_NF - mean_F) / scale_F])
    y_N = np.asarray(good_N, dtype=np.float64)
    ridge_G = np.array([0.0, *[_RIDGE] * x_NF.shape[1]])  # none on the bias
    w_G = np.zeros(len(ridge_G))
    loss = _loss(w_G, x_NG, y_N, ridge_G)
    for _ in range(_MAX_STEPS):
        p_N = _sigmoid(x_NG @ w_G)
        gradient_G = x_NG.T @ (p_N - y_N) + ridge_G * w_G
        curvature_GG = (x_NG.T * (p_N * (1 - p_N))) @ x_NG + np.diag(ridge_G)
        step_G = np.linalg.solve(curvature_GG, gradient_G)
        while (new_loss := _loss(w_G - step_G, x_NG, y_N, ridge_G)) > loss + 1e-9:
            step_G = step_G / 2  # too far: the loss is convex but not quadratic
        w_G, loss = w_G - step_G, new_loss
        if np.abs(step_G).max() < 1e-9:
            break
    weights_F = w_G[1:] / scale_F
    return Logistic(float(w_G[0] - weights_F @ mean_F), tuple(map(float, weights_F)))


def _loss(w_G: Floats, x_NG: Floats, y_N: Floats, ridge_G: Floats) -> float:
    """Return the negative log-likelihood and log-prior."""
    z_N = x_NG @ w_G
    return float((np.logaddexp(0.0, z_N) - y_N * z_N).sum() + (ridge_G * w_G**2).sum() / 2)


def _sigmoid(z_N: Floats) -> Floats:
    return np.exp(-np.logaddexp(0.0, -z_N))  # without overflow, whatever the sign
