"""Compare the softmax of the consistency loss with float64 arithmetic."""

import math

import numpy as np
import pytest
import torch

from heed.kernels.library import library
from heed.kernels.two_views import two_views_
from heed.training import consistency as consistency_module
from heed.training.consistency import consistent_loss

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


def random(*shape: int, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype(np.float32)


def log_softmax(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64) - x.max()
    return x - math.log(np.exp(x).sum())


@pytest.mark.parametrize("vocab_size", [2, 13, 63, 64, 65, 1000, 8000])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0])
@pytest.mark.parametrize("consistency", [0.0, 3.0])
def test_as_in_float64(vocab_size: int, scale: float, consistency: float) -> None:
    a, b = random(4, vocab_size, scale=scale), random(4, vocab_size, scale=scale, seed=1)
    gold = np.random.default_rng(2).integers(0, vocab_size, 4)
    gold[0], gold[1] = 0, vocab_size - 1
    rest = 0.1 / (vocab_size - 1)
    share = 1 - 0.1 - rest
    first, second = torch.tensor(a), torch.tensor(b)
    found = two_views_(first, second, torch.tensor(gold), share, rest, consistency)
    assert found is not None
    gold_p, gold_r, everything, divergence = (tensor.double().numpy() for tensor in found)
    for row in range(4):
        log_p, log_r = log_softmax(a[row]), log_softmax(b[row])
        p, r = np.exp(log_p), np.exp(log_r)
        kl_pr, kl_rp = (p * (log_p - log_r)).sum(), (r * (log_r - log_p)).sum()
        bound = 1e-5 * max(1, scale)
        assert gold_p[row] == pytest.approx(log_p[gold[row]], rel=1e-5, abs=bound)
        assert gold_r[row] == pytest.approx(log_r[gold[row]], rel=1e-5, abs=bound)
        assert everything[row] == pytest.approx((log_p + log_r).sum(), rel=1e-5)
        assert divergence[row] == pytest.approx(kl_pr + kl_rp, rel=1e-4, abs=bound)
        q = np.full(vocab_size, rest)
        q[gold[row]] += share
        in_p = p - q + consistency * (p * (log_p - log_r - kl_pr) + p - r)
        in_r = r - q + consistency * (r * (log_r - log_p - kl_rp) + r - p)
        np.testing.assert_allclose(first[row], in_p, rtol=1e-4, atol=(1 + consistency) * bound)
        np.testing.assert_allclose(second[row], in_r, rtol=1e-4, atol=(1 + consistency) * bound)


@pytest.mark.parametrize("gold", [-1, 7])
def test_gold_must_be_in_the_vocabulary(gold: int) -> None:
    a, b = torch.tensor(random(2, 7)), torch.tensor(random(2, 7, seed=1))
    with pytest.raises(IndexError, match=r"gold tokens from .* a vocabulary of 7"):
        two_views_(a, b, torch.tensor([3, gold]), 0.9, 0.01, 3.0)


def test_other_tensors_are_left_alone() -> None:
    gold, good = torch.zeros(4, dtype=torch.long), torch.ones(4, 7)
    for other in (torch.ones(4, 7).double(), torch.ones(4, 7).bfloat16(), torch.ones(7, 4).T):
        for a, b in ((good, other), (other, good)):
            assert two_views_(a, b, gold, 0.9, 0.01, 3.0) is None
            assert a.eq(1).all() and b.eq(1).all()


def test_there_may_be_no_rows() -> None:
    found = two_views_(torch.empty(0, 7), torch.empty(0, 7), torch.empty(0, dtype=torch.long), 0.9, 0.01, 3.0)
    assert found is not None and all(tensor.shape == (0,) for tensor in found)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("place", [0, 5, 70, 99])
@pytest.mark.parametrize("view", [0, 1])
def test_nan_and_infinity_are_not_hidden(wrong: float, place: int, view: int) -> None:
    views = torch.tensor(random(3, 100)), torch.tensor(random(3, 100, seed=1))
    views[view][1, place] = wrong
    found = two_views_(*views, torch.tensor([1, 2, 3]), 0.9, 0.001, 3.0)
    assert found is not None
    assert found[3].isfinite().tolist() == [True, False, True]
    for view_nV in views:
        assert view_nV.isfinite().all(1).tolist() == [True, False, True]


@pytest.mark.parametrize("rows", [1, 7, 600])
def test_the_loss_is_the_same_with_and_without(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, losses, grads = [], [], []

    def watched(*arguments: object) -> object:
        calls.append(two_views_(*arguments))  # type: ignore[arg-type]
        return calls[-1]

    gold = torch.tensor(np.random.default_rng(2).integers(0, 203, rows))
    for kernel in (watched, lambda *_: None):
        monkeypatch.setattr(consistency_module, "two_views_", kernel)
        inputs = [
            torch.tensor(random(n, 24, seed=seed), requires_grad=True) for seed, n in enumerate((rows, rows, 203))
        ]
        loss = consistent_loss(*inputs, gold, 0.1, 3.0)
        losses.append((loss.smoothed.item(), loss.negative_log_likelihood.item()))
        grads.append(torch.autograd.grad(loss.smoothed, inputs))
    assert len(calls) == -(-rows // consistency_module.LOGIT_ROWS) and None not in calls
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for with_kernel, without in zip(*grads, strict=True):
        torch.testing.assert_close(with_kernel, without, rtol=1e-4, atol=1e-4)
