"""Compare the softmax of the loss with float64 arithmetic."""

import math

import numpy as np
import pytest
import torch

from heed.kernels.library import library
from heed.kernels.softmax import softmax_less_gold_
from heed.training import loss as loss_module
from heed.training.loss import label_smoothed_loss

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


def random(*shape: int, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype(np.float32)


@pytest.mark.parametrize("vocab_size", [1, 2, 13, 63, 64, 65, 127, 1000, 8000])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
def test_as_in_float64(vocab_size: int, scale: float, share: float) -> None:
    logits = random(5, vocab_size, scale=scale)
    gold = np.random.default_rng(1).integers(0, vocab_size, 5)
    gold[0], gold[1] = 0, vocab_size - 1
    made = torch.tensor(logits)
    found = softmax_less_gold_(made, torch.tensor(gold), share)
    assert found is not None
    sums, normalizers, gold_logits = (tensor.double().numpy() for tensor in found)
    for row in range(5):
        # Subtract in float32, as the kernel does, then continue in float64.
        exps = np.exp((logits[row] - logits[row].max()).astype(np.float64))
        assert sums[row] == pytest.approx(exps.sum(), rel=2e-6)
        assert normalizers[row] == pytest.approx(logits[row].max() + math.log(exps.sum()), rel=1e-6, abs=1e-6)
        assert gold_logits[row] == logits[row][gold[row]]
        exps[gold[row]] -= share * exps.sum()
        np.testing.assert_allclose(made[row], exps, rtol=1e-6, atol=2e-6 * max(1, share * sums[row]))


def test_gold_may_be_a_view_and_there_may_be_no_rows() -> None:
    gold = torch.tensor([[1, 0], [0, 3], [2, 1]])[:, 0]
    logits = torch.tensor(random(3, 7))
    found = softmax_less_gold_(logits.clone(), gold, 0.9)
    assert found is not None
    assert found[2].tolist() == [logits[0, 1].item(), logits[1, 0].item(), logits[2, 2].item()]
    none = softmax_less_gold_(torch.empty(0, 7), torch.empty(0, dtype=torch.long), 0.9)
    assert none is not None and none[0].shape == (0,)


@pytest.mark.parametrize("gold", [-1, 7])
def test_gold_must_be_in_the_vocabulary(gold: int) -> None:
    logits = torch.tensor(random(2, 7))
    with pytest.raises(IndexError, match=r"gold tokens from .* a vocabulary of 7"):
        softmax_less_gold_(logits, torch.tensor([3, gold]), 0.9)


def test_other_tensors_are_left_alone() -> None:
    gold = torch.zeros(4, dtype=torch.long)
    for logits in (torch.ones(4, 7).double(), torch.ones(4, 7).bfloat16(), torch.ones(7, 4).T):
        assert softmax_less_gold_(logits, gold, 0.9) is None
        assert logits.eq(1).all()


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 5, 70, 99])
def test_nan_and_infinity_are_not_hidden(wrong: float, place: int) -> None:
    logits = torch.tensor(random(3, 100))
    logits[1, place] = wrong
    found = softmax_less_gold_(logits, torch.tensor([1, 2, 3]), 0.9)
    assert found is not None
    finite = [True, wrong == -math.inf, True]  # -inf is a probability of 0
    assert found[1].isfinite().tolist() == finite
    assert logits.isfinite().all(1).tolist() == finite


def test_nothing_but_minus_infinity() -> None:
    logits = torch.full((1, 100), -math.inf)
    found = softmax_less_gold_(logits, torch.tensor([1]), 0.9)
    assert found is not None and found[1].isnan().all()


def float64_loss(hidden: np.ndarray, weight: np.ndarray, gold: np.ndarray, epsilon: float) -> tuple[float, ...]:
    """Compute loss, negative log-likelihood and gradients straight from the definition."""
    logits = hidden.astype(np.float64) @ weight.astype(np.float64).T
    logits -= logits.max(1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    q = np.full_like(log_p, epsilon / (len(weight) - 1))
    q[np.arange(len(gold)), gold] = 1 - epsilon
    grad = np.exp(log_p) - q
    nll = -log_p[np.arange(len(gold)), gold].sum()
    return -(q * log_p).sum(), nll, grad @ weight.astype(np.float64), grad.T @ hidden.astype(np.float64)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("rows", [1, 7, 600])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_loss_and_its_gradient(kernel: bool, rows: int, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32, with the kernel and without, in one portion and in several."""
    calls = []

    def watched(*arguments: object) -> object:
        calls.append(softmax_less_gold_(*arguments) if kernel else None)  # type: ignore[arg-type]
        return calls[-1]

    monkeypatch.setattr(loss_module, "softmax_less_gold_", watched)
    hidden, weight = random(rows, 24, scale=2.0), random(203, 24, seed=1)
    gold = np.random.default_rng(2).integers(0, 203, rows)
    tensors = torch.tensor(hidden, requires_grad=True), torch.tensor(weight, requires_grad=True)
    loss = label_smoothed_loss(*tensors, torch.tensor(gold), epsilon)
    loss.smoothed.backward()
    smoothed, nll, grad_hidden, grad_weight = float64_loss(hidden, weight, gold, epsilon)
    assert len(calls) == -(-rows // loss_module.LOGIT_ROWS)
    assert all((call is not None) == kernel for call in calls)
    assert loss.smoothed.item() == pytest.approx(smoothed, rel=1e-5)
    assert loss.negative_log_likelihood.item() == pytest.approx(nll, rel=1e-5)
    np.testing.assert_allclose(tensors[0].grad, grad_hidden, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(tensors[1].grad, grad_weight, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_says_so(wrong: float) -> None:
    hidden, weight = torch.tensor(random(9, 8)), torch.tensor(random(50, 8, seed=1))
    hidden[4, 2] = wrong
    loss = label_smoothed_loss(hidden, weight, torch.arange(9), 0.1)
    assert not loss.smoothed.isfinite() and not loss.negative_log_likelihood.isfinite()
