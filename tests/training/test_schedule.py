"""Check equation (3) with values computed by hand."""

import pytest

from heed.training.schedule import learning_rate


def test_published_values():
    peak = 512**-0.5 * 4000**-0.5
    assert learning_rate(4000, 512, 4000) == pytest.approx(peak)
    assert peak == pytest.approx(6.99e-4, rel=1e-3)
    assert learning_rate(1, 512, 4000) == pytest.approx(peak / 4000)
    assert learning_rate(2000, 512, 4000) == pytest.approx(peak / 2)
    assert learning_rate(16000, 512, 4000) == pytest.approx(peak / 2)
    assert learning_rate(16000, 512, 4000, factor=3.0) == pytest.approx(1.5 * peak)
