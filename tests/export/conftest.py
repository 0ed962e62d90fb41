"""Small models to export: trained ones, and random ones of every configuration."""

from pathlib import Path

import pytest
import torch

from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary
from tests.cli.conftest import Trained, TrainRun, corpus, train_arguments, train_run
from tests.conftest import small_config

__all__ = ["corpus", "train_arguments", "train_run"]  # fixtures

BUILDS: dict[str, dict[str, object]] = {
    "post-norm": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned"},
    "heads as published": {"d_k": None, "d_v": None},
    "heads wider than the model": {"d_k": 20, "d_v": 30},
}

TEXTS = ["the quick brown fox", "dog", "der faule Hund springt über 7 Füchse", "quick quick quick dog jumps the"]


@pytest.fixture(scope="session")
def learnt(train_run: TrainRun) -> Path:
    """A run that has learnt enough to give different texts different translations."""
    changes = {"max_steps": 250, "warmup_steps": 60, "learning_rate_factor": 1.0, "save_every": 125, "average_last": 1}
    run: Trained = train_run(**{f"train__{key}": value for key, value in changes.items()})
    return run.path


def random_model(vocabulary: Tokenizer, **build: object) -> Transformer:
    torch.manual_seed(5)
    model = Transformer(small_config(**build), Vocabulary(len(vocabulary))).eval()
    for name, weight in model.named_parameters():
        if "norm" in name or "bias" in name:  # fresh ones are ones and zeros, which would hide mix-ups
            weight.data += 0.3 * torch.randn_like(weight)
        if "w_q" in name or "w_k" in name:
            weight.data *= 3  # sharp attention, so that its scale matters
    model.embedding.weight.data *= 3
    return model


def faint_model(vocabulary: Tokenizer) -> Transformer:
    """Return a model whose norms have such small inputs that their epsilon matters."""
    model = random_model(vocabulary)
    for name, weight in model.named_parameters():
        if "norm" in name or "w_o" in name or "w_2" in name:
            weight.data *= 0.01
    return model
