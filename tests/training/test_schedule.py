"""Check equation (3) with values computed by hand."""

import pytest

from heed.training.schedule import cooldown, learning_rate


def test_published_values():
    peak = 512**-0.5 * 4000**-0.5
    assert learning_rate(4000, 512, 4000) == pytest.approx(peak)
    assert peak == pytest.approx(6.99e-4, rel=1e-3)
    assert learning_rate(1, 512, 4000) == pytest.approx(peak / 4000)
    assert learning_rate(2000, 512, 4000) == pytest.approx(peak / 2)
    assert learning_rate(16000, 512, 4000) == pytest.approx(peak / 2)
    assert learning_rate(16000, 512, 4000, factor=3.0) == pytest.approx(1.5 * peak)


def test_cooldown_is_a_line_to_zero():
    """Ten steps, the last four cooling down: the fifth step before zero is whole, the line reaches 0 at step 11."""
    rates = [cooldown(step, 10, 4) for step in range(1, 11)]
    assert rates == pytest.approx([1, 1, 1, 1, 1, 1, 4 / 5, 3 / 5, 2 / 5, 1 / 5])
    assert [cooldown(step, 10, 0) for step in range(1, 11)] == [1] * 10
