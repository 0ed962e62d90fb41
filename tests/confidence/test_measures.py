"""AUC and calibration error against loops over all pairs and all items."""

import numpy as np
import pytest

from heed.confidence.measures import N_BINS, auc, calibration_error, reliability


def example(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    confidence = rng.random(157).round(2)  # some are equal
    confidence[:3] = [0.0, 1.0, 0.5]
    return confidence, rng.random(157) < confidence**1.5


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_the_share_of_pairs_in_the_right_order(seed: int) -> None:
    confidence, good = example(seed)
    pairs = [(a, b) for a, is_good in zip(confidence, good, strict=True) if is_good for b in confidence[~good]]
    right = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs)
    assert auc(confidence, good) == pytest.approx(right / len(pairs))
    assert auc(-confidence, good) == pytest.approx(1 - right / len(pairs))


def test_auc_of_what_tells_nothing_is_a_half() -> None:
    assert auc(np.full(10, 0.3), np.arange(10) < 4) == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_calibration_error_item_by_item(seed: int) -> None:
    confidence, good = example(seed)
    expected = 0.0
    for number in range(10):
        members = [
            i for i, one in enumerate(confidence) if number / 10 <= one < (number + 1) / 10 or (number, one) == (9, 1.0)
        ]
        if members:
            said = sum(confidence[i] for i in members) / len(members)
            found = sum(bool(good[i]) for i in members) / len(members)
            expected += len(members) / len(confidence) * abs(said - found)
    bins = reliability(confidence, good)
    assert calibration_error(bins) == pytest.approx(expected)
    assert len(bins) == N_BINS and sum(one.n for one in bins) == len(confidence)


def test_an_empty_bin_is_empty() -> None:
    bins = reliability(np.array([0.05, 0.95]), np.array([False, True]))
    assert [one.n for one in bins] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert (bins[4].said, bins[4].found) == (0.0, 0.0)
    assert calibration_error(bins) == pytest.approx(0.05)
