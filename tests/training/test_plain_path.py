"""Check that what makes training fast changes nothing: the losses are those of a plain PyTorch loop."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from heed.config import Config, ModelConfig, TrainConfig
from heed.model.transformer import AttentionWeights
from heed.training.learner import Learner
from heed.training.loss import LOGIT_ROWS
from heed.training.schedule import learning_rate
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import PAD, small_batch

VOCABULARY, STEPS = 90, 12
CONFIG = Config(
    model=ModelConfig(encoder_layers=2, decoder_layers=2, d_model=32, d_ff=64, h=4, dropout=0.0),
    train=TrainConfig(seed=3, warmup_steps=10, label_smoothing=0.1),
)


def batches():
    random = torch.Generator().manual_seed(4)
    for _ in range(STEPS):
        lengths = torch.randint(1, 12, (2, 9), generator=random).tolist()
        sides = [[torch.randint(3, VOCABULARY, (n,), generator=random).tolist() for n in side] for side in lengths]
        yield small_batch(*sides)


def plain_losses(learner):
    """Train with explicit attention, full logits, explicit smoothed targets, and PyTorch's Adam."""
    model, train = learner.model, CONFIG.train
    optimizer = torch.optim.Adam(
        model.parameters(), betas=(train.adam_beta1, train.adam_beta2), eps=train.adam_epsilon, fused=False
    )
    losses = []
    for step, batch in enumerate(batches(), 1):
        logprobs = model(batch.src_BS, batch.tgt_in_BT, AttentionWeights()).log_softmax(-1)
        real = batch.tgt_out_BT != PAD
        gold = F.one_hot(batch.tgt_out_BT, VOCABULARY).float()
        smoothed = gold * (1 - train.label_smoothing) + (1 - gold) * train.label_smoothing / (VOCABULARY - 1)
        loss = -(smoothed * logprobs).sum(-1)[real].sum() / batch.n_tokens
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, 32, train.warmup_steps, train.learning_rate_factor)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("lanes", [1, 2, 10])
@pytest.mark.parametrize("portion", [LOGIT_ROWS, 7])
def test_the_loss_curve_is_that_of_the_plain_path(monkeypatch, portion, lanes):
    monkeypatch.setattr("heed.training.loss.LOGIT_ROWS", portion)
    in_lanes = replace(CONFIG, train=replace(CONFIG.train, lanes=lanes))
    quick, plain = (
        Learner(config, Vocabulary(VOCABULARY), Workers(0, 1, torch.device("cpu"))) for config in (in_lanes, CONFIG)
    )
    found = [train_step(quick, [batch], batch.n_tokens, step).loss for step, batch in enumerate(batches(), 1)]
    expected = plain_losses(plain)
    assert found == pytest.approx(expected, rel=2e-5)
    assert found[-1] < found[0]
    for (name, one), (_, other) in zip(quick.model.named_parameters(), plain.model.named_parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-4, rtol=1e-3, msg=lambda said, name=name: f"{name}: {said}")
