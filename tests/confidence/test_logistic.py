"""Logistic regression against its definition: loops and finite differences."""

import math

import numpy as np
import pytest

from heed.confidence.logistic import Floats, Logistic, fit


def data(seed: int = 0, n: int = 300) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * [1.0, 20.0, 0.1] + [5.0, -40.0, 0.0]
    chance = 1 / (1 + np.exp(-(0.5 + 1.5 * (x[:, 0] - 5) - 0.05 * (x[:, 1] + 40))))
    return x, rng.random(n) < chance


def loss(logistic: Logistic, x: Floats, good: Floats) -> float:
    """Return the negative log-likelihood, item by item, and that of a normal prior on the standardised weights."""
    total = 0.0
    for row, is_good in zip(x, good, strict=True):
        z = logistic.bias + sum(w * value for w, value in zip(logistic.weights, row, strict=True))
        p = 1 / (1 + math.exp(-z))
        total -= math.log(p if is_good else 1 - p)
    return total + sum((w * x[:, i].std()) ** 2 for i, w in enumerate(logistic.weights)) / 2


def test_no_change_of_a_weight_makes_the_loss_smaller() -> None:
    x, good = data()
    found = fit(x, good)
    least = loss(found, x, good)
    # By finite differences, moving the bias with a weight so that the mean of z stays: the gradient is zero.
    for i in range(3):
        h = 1e-4 / x[:, i].std()
        for sign in (1, -1):
            weights = list(found.weights)
            weights[i] += sign * h
            moved = Logistic(found.bias - sign * h * float(x[:, i].mean()), tuple(weights))
            slope = (loss(moved, x, good) - least) / 1e-4
            assert 0 <= slope < 0.05
    for sign in (1, -1):
        assert loss(Logistic(found.bias + sign * 1e-3, found.weights), x, good) > least


def test_it_finds_the_weights_that_made_the_data() -> None:
    x, good = data(seed=1, n=20_000)
    found = fit(x, good)
    assert found.weights[0] == pytest.approx(1.5, abs=0.1)
    assert found.weights[1] == pytest.approx(-0.05, abs=0.005)
    assert found.weights[2] == pytest.approx(0.0, abs=0.6)


def test_predictions_are_the_formula() -> None:
    found = Logistic(0.3, (2.0, -1.0))(np.array([[0.5, 0.25], [-800.0, 0.0], [800.0, 0.0]]))
    assert found.tolist() == pytest.approx([1 / (1 + math.exp(-1.05)), 0.0, 1.0])


def test_units_of_features_do_not_matter() -> None:
    x, good = data()
    scale, shift = np.array([1000.0, 0.01, 7.0]), np.array([3.0, 100.0, -5.0])
    assert fit(x * scale + shift, good)(x * scale + shift) == pytest.approx(fit(x, good)(x))


def test_classes_that_a_feature_separates_give_finite_weights() -> None:
    x = np.concatenate([np.linspace(-2, -1, 50), np.linspace(1, 2, 50)])[:, None]
    found = fit(x, np.arange(100) >= 50)
    assert 1 < found.weights[0] < 100
    assert found(np.array([[-1.0], [1.0]])).round().tolist() == [0, 1]


def test_a_constant_feature_has_no_weight() -> None:
    x, good = data()
    x[:, 2] = 4.0
    assert fit(x, good).weights[2] == 0
