"""Compare `train.ema_decay` with an average computed by hand."""

import numpy as np
import pytest
import torch

from heed.checkpoint import read_tensors
from heed.config import Config, TrainConfig
from heed.run import RunFolder
from heed.training.learner import Learner
from heed.training.loop import resume, train
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config
from tests.laws.test_training_laws import corpus, last_weights, small_run

__all__ = ["corpus"]

BATCH = small_batch([[3, 4, 5], [6, 7]], [[8, 9], [10, 11, 12]])


def test_the_mean_follows_the_weights() -> None:
    config = Config(model=small_config(), train=TrainConfig(warmup_steps=4, ema_decay=0.8))
    learner = Learner(config, Vocabulary(VOCABULARY), Workers(0, 1, torch.device("cpu")))
    expected = learner.model.embedding.weight.detach().double().numpy().copy()
    for step in range(1, 50):
        train_step(learner, [BATCH], BATCH.n_tokens, step)
        decay = min(0.8, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * learner.model.embedding.weight.detach().double().numpy()
    np.testing.assert_allclose(learner.mean["embedding.weight"].numpy(), expected, rtol=1e-4, atol=1e-6)
    assert not torch.equal(learner.mean["embedding.weight"], learner.model.embedding.weight)


def test_it_is_saved_resumed_and_tried_at_the_end(corpus, tmp_path, monkeypatch) -> None:  # noqa: F811
    settings = {"ema_decay": 0.9}
    outcome = train(small_run(corpus, **settings), tmp_path / "whole")
    assert outcome.reason == "finished"
    whole = RunFolder.open(tmp_path / "whole")
    tried = read_tensors(whole.path / "checkpoints" / "ema-00000012", "model")
    assert all(torch.equal(tensor, tried[name]) for name, tensor in last_mean(whole).items())
    assert "the running average of the weights" in whole.events_path.read_text()

    train(small_run(corpus, max_steps=7, **settings), tmp_path / "parts")
    resume(tmp_path / "parts", max_steps=12)
    parts = RunFolder.open(tmp_path / "parts")
    assert all(torch.equal(tensor, last_mean(whole)[name]) for name, tensor in last_mean(parts).items())
    ours, theirs = (last_weights(run.path)["model"] for run in (parts, whole))
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())


def last_mean(run: RunFolder) -> dict[str, torch.Tensor]:
    return read_tensors(run.step_path(run.steps()[-1]), "mean")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch warns about its internals
def test_compiled_layers_learn_the_same(corpus, tmp_path) -> None:  # noqa: F811
    """`train.compile` gives the same weights to float tolerance, after minutes of warm-up."""
    import shutil

    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler, such as g++")
    for name, compiled in (("plain", False), ("compiled", True)):
        train(small_run(corpus, max_steps=4, compile=compiled), tmp_path / name)  # with dropout: the same masks
    ours, theirs = (last_weights(tmp_path / name)["model"] for name in ("compiled", "plain"))
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, atol=1e-4, rtol=1e-3, msg=name)
