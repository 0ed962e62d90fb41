"""Dropout by cheap masks is dropout: what PyTorch's own does, drawn otherwise."""

import math

import pytest
import torch

from heed.model.dropout import Dropout


def dropped(p: float, *shape: int, seed: int = 0) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(p).train()(torch.ones(shape))


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_elements_are_dropped_one_by_one_with_the_right_probability(p: float) -> None:
    y = dropped(p, 1000, 1001)
    n = y.numel()
    share = (y == 0).double().mean().item()
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / n)
    assert sorted(y.unique().tolist()) == pytest.approx([0, 1 / (1 - p)], rel=1e-4)
    # Neighbours, and the four that come of one random number, know nothing of each other.
    zero = (y.flatten() == 0).double() - p
    for distance in (1, 2, 3, 4, 8):
        correlation = (zero[distance:] * zero[:-distance]).mean().item() / (p * (1 - p))
        assert abs(correlation) < 5 / math.sqrt(n)
    # Each of the four places is as likely.
    for place in range(4):
        assert abs((y.flatten()[place::4] == 0).double().mean().item() - p) < 10 * math.sqrt(p * (1 - p) / n)


def test_the_sum_is_kept_on_average() -> None:
    for p in (0.1, 0.3):
        mean, spread = dropped(p, 1000, 1000).double().mean().item(), math.sqrt(p / (1 - p) / 1_000_000)
        assert abs(mean - 1) < 5 * spread


def test_the_gradient_goes_through_what_was_kept() -> None:
    torch.manual_seed(3)
    x = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.4).train()(x)
    y.backward(torch.full_like(y, 2.0))
    factor = (y / x).detach()
    torch.testing.assert_close(x.grad, 2 * factor)
    assert y.dtype == torch.float64


def test_it_goes_by_the_seed() -> None:
    assert torch.equal(dropped(0.3, 50, 3, seed=1), dropped(0.3, 50, 3, seed=1))
    assert not torch.equal(dropped(0.3, 50, 3, seed=1), dropped(0.3, 50, 3, seed=2))
    torch.manual_seed(1)
    layer, x = Dropout(0.3).train(), torch.ones(50, 3)
    assert not torch.equal(layer(x), layer(x))


def test_odd_sizes_and_no_elements() -> None:
    for size in (0, 1, 2, 3, 5):
        assert dropped(0.5, size).shape == (size,)
    x = torch.ones(6, 4).T  # not contiguous
    torch.manual_seed(0)
    assert Dropout(0.5).train()(x).shape == (4, 6)


def test_outside_of_training_nothing_happens() -> None:
    x = torch.randn(3)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x
