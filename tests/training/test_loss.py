"""Compare label smoothing with loops over NumPy arrays."""

import math

import numpy as np
import pytest
import torch

from heed.model.transformer import Transformer
from heed.training import loss as loss_module
from heed.training.batch_loss import BatchLoss
from heed.training.loss import label_smoothed_loss
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config


def by_loops(hidden, weight, gold, epsilon):
    smoothed = unsmoothed = 0.0
    for row, answer in zip(hidden, gold, strict=True):
        logits = weight @ row
        log_p = logits - math.log(sum(math.exp(x) for x in logits))
        for symbol in range(len(weight)):
            wanted = 1 - epsilon if symbol == answer else epsilon / (len(weight) - 1)
            smoothed -= wanted * log_p[symbol]
        unsmoothed -= log_p[answer]
    return smoothed, unsmoothed


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(9, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(13, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    return hidden, weight, torch.randint(0, 13, (9,), generator=generator)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("portion", [2, 10**6])
def test_loss_is_the_papers(tensors, epsilon, portion, monkeypatch):
    monkeypatch.setattr(loss_module, "LOGIT_ROWS", portion)
    hidden, weight, gold = tensors
    found = label_smoothed_loss(hidden, weight, gold, epsilon)
    smoothed, unsmoothed = by_loops(hidden.detach().numpy(), weight.detach().numpy(), gold.numpy(), epsilon)
    assert found.smoothed.item() == pytest.approx(smoothed, rel=1e-12)
    assert found.negative_log_likelihood.item() == pytest.approx(unsmoothed, rel=1e-12)


@pytest.mark.parametrize("portion", [2, 10**6])
def test_gradient_is_that_of_the_loss(tensors, portion, monkeypatch):
    monkeypatch.setattr(loss_module, "LOGIT_ROWS", portion)
    hidden, weight, gold = tensors
    assert torch.autograd.gradcheck(lambda h, w: label_smoothed_loss(h, w, gold, 0.1).smoothed * 3.0, (hidden, weight))


def test_a_smoothed_loss_is_least_at_the_smoothed_distribution():
    """With V = 13 and ε = 0.1, gold at 0.9 and others at 0.1 / 12 cannot be beaten."""
    gold, epsilon, size = 5, 0.1, 13
    q = np.full(size, epsilon / (size - 1))
    q[gold] = 1 - epsilon
    weight = torch.eye(size, dtype=torch.float64)

    def at(probabilities):
        hidden = torch.tensor(np.log(probabilities))[None].requires_grad_()
        return label_smoothed_loss(hidden, weight, torch.tensor([gold]), epsilon).smoothed.item()

    best = at(q)
    assert best == pytest.approx(-sum(q * np.log(q)))
    for _ in range(20):
        other = q * np.random.default_rng(_).uniform(0.5, 1.5, size)
        assert at(other / other.sum()) > best


def test_padding_costs_nothing():
    torch.manual_seed(0)
    model = Transformer(small_config(), Vocabulary(VOCABULARY)).double()
    pairs = [([5, 6, 7], [8, 9]), ([5], [10, 11, 12, 13, 14])]

    def loss(sources, targets):
        batch = small_batch(sources, targets)
        return BatchLoss(model, 0.1)(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)[0].item()

    together = loss(*zip(*pairs, strict=True))
    assert together == pytest.approx(sum(loss([source], [target]) for source, target in pairs), rel=1e-10)
