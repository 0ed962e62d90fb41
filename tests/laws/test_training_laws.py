"""Check laws of training with real models and real files."""

import math

import numpy as np
import pytest
import torch

from heed.checkpoint import read_manifest, read_tensors
from heed.config import Config, DecodeConfig, TextConfig, TrainConfig
from heed.errors import CheckpointError
from heed.loading import load
from heed.run import RunFolder
from heed.settings import build_config
from heed.training.learner import Learner
from heed.training.loop import resume, train
from heed.training.step import train_step
from heed.training.stop import StopRequest
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config

PAIRS = [([3 + i % 7] * (1 + i % 5), [9 + i % 4] * (2 + i % 6)) for i in range(12)]


def small_learner(dropout: float = 0.0, **train_settings) -> Learner:
    config = Config(model=small_config(dropout=dropout), train=TrainConfig(**train_settings))
    learner = Learner(config, Vocabulary(VOCABULARY), Workers(0, 1, torch.device("cpu")))
    learner.model.double()
    return learner


def gradients(bounds, dropout):
    learner = small_learner(dropout)
    batches = [
        small_batch(*zip(*PAIRS[begin:end], strict=True), first_pair=begin)
        for begin, end in zip(bounds, bounds[1:], strict=False)
    ]
    result = train_step(learner, batches, sum(batch.n_tokens for batch in batches), 1)
    sums = result.loss, result.perplexity, result.gradient_norm
    return sums, {name: parameter.grad for name, parameter in learner.model.named_parameters()}


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("cuts", [[6], [1, 11], [2, 3, 9]])
def test_micro_batches_equal_one_batch(cuts, dropout):
    """The gradient of a batch does not depend on its micro-batches, equal or not, with or without dropout."""
    whole_sums, whole = gradients([0, len(PAIRS)], dropout)
    sums, parts = gradients([0, *cuts, len(PAIRS)], dropout)
    assert sums == pytest.approx(whole_sums, rel=1e-10)
    for name, gradient in whole.items():
        torch.testing.assert_close(parts[name], gradient, atol=1e-10, rtol=0, msg=name)


def test_one_update_is_adams():
    """Compare with Adam written by hand, with the paper's constants and equation (3)."""
    learner = small_learner(warmup_steps=10)
    batches = [small_batch(*zip(*PAIRS, strict=True))]
    weight = learner.model.decoder[0].feed_forward.w_1.weight
    expected, m, v = weight.detach().clone(), 0.0, 0.0
    for step in range(1, 4):
        train_step(learner, batches, batches[0].n_tokens, step)
        gradient = weight.grad
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        rate = 24**-0.5 * step * 10**-1.5
        expected -= rate * (m / (1 - 0.9**step)) / ((v / (1 - 0.98**step)).sqrt() + 1e-9)
        torch.testing.assert_close(weight.detach(), expected, atol=1e-9, rtol=0)


def test_a_loss_that_is_not_a_number_changes_nothing():
    learner = small_learner()
    with torch.no_grad():
        learner.model.decoder[0].feed_forward.w_2.bias[0] = math.nan
    before = learner.model.embedding.weight.detach().clone()
    batch = small_batch(*zip(*PAIRS, strict=True))
    result = train_step(learner, [batch], batch.n_tokens, 1)
    assert not result.applied
    assert torch.equal(before, learner.model.embedding.weight)


def test_a_gradient_that_is_not_a_number_changes_nothing():
    """Even if the loss is finite: a gradient overflows long before."""
    learner = small_learner()
    learner.model.decoder[0].feed_forward.w_1.weight.register_hook(lambda gradient: gradient * math.inf)
    before = learner.model.embedding.weight.detach().clone()
    batch = small_batch(*zip(*PAIRS, strict=True))
    result = train_step(learner, [batch], batch.n_tokens, 1)
    assert math.isfinite(result.loss) and not result.applied
    assert torch.equal(before, learner.model.embedding.weight)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Reverse a string of letters."""
    folder = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(0)
    words = [" ".join(random.choice(list("abcdef"), random.integers(1, 6))) for _ in range(300)]
    (folder / "a").write_text("".join(f"{w}\n" for w in words), encoding="utf-8")
    (folder / "b").write_text("".join(f"{w[::-1]}\n" for w in words), encoding="utf-8")
    return folder


def small_run(corpus, **train_settings) -> Config:
    settings = {
        "data": {
            "train_source": str(corpus / "a"),
            "train_target": str(corpus / "b"),
            "valid_source": str(corpus / "a"),
            "valid_target": str(corpus / "b"),
        },
        "train": {
            **{"max_steps": 12, "batch_tokens": 400, "micro_batch_tokens": 100, "warmup_steps": 20},
            **{"validate_every": 6, "save_every": 3, "log_every": 2, "keep_checkpoints": 3, "average_last": 3},
            **train_settings,
        },
    }
    base = Config(
        model=small_config(dropout=0.2, max_length=30),
        text=TextConfig(vocab_size=280),
        decode=DecodeConfig(beam=2, extra_length=5),
    )
    return build_config(base, ("test", settings))


def last_weights(path):
    run = RunFolder.open(path)
    step = run.steps()[-1]
    return {group: read_tensors(run.step_path(step), group) for group in ("model", "optimizer")}


def assert_same(ours, theirs):
    for group, tensors in ours.items():
        assert tensors.keys() == theirs[group].keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, theirs[group][name]), f"{group}: {name}"


@pytest.mark.parametrize(("stop", "lanes"), [(1, 1), (3, 1), (5, 1), (6, 1), (11, 1), (5, 2)])
def test_resumed_equals_uninterrupted(corpus, tmp_path, stop, lanes, monkeypatch):
    """Bit for bit, over an epoch's edge, with dropout: stopped after any step and resumed."""
    config = small_run(corpus, lanes=lanes)
    train(config, tmp_path / "whole")

    from heed.training import loop

    def ask_to_stop_after(self, update=loop._Training._update):
        update(self)
        self.stop.asked = self.progress.step == stop

    monkeypatch.setattr(loop._Training, "_update", ask_to_stop_after)
    outcome = train(config, tmp_path / "parts")
    assert (outcome.reason, outcome.step) == ("interrupted", stop)
    monkeypatch.undo()
    outcome = resume(tmp_path / "parts")
    assert (outcome.reason, outcome.step) == ("finished", 12)
    assert_same(last_weights(tmp_path / "parts"), last_weights(tmp_path / "whole"))
    assert RunFolder.open(tmp_path / "parts").best() == RunFolder.open(tmp_path / "whole").best()


def test_stopped_before_the_first_step(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(StopRequest, "__init__", lambda self: setattr(self, "asked", True))
    assert train(small_run(corpus), tmp_path / "run").reason == "interrupted"
    monkeypatch.undo()
    train(small_run(corpus), tmp_path / "whole")
    assert resume(tmp_path / "run").reason == "finished"
    assert_same(last_weights(tmp_path / "run"), last_weights(tmp_path / "whole"))


def test_resumed_equals_uninterrupted_with_restricted_attention(corpus, tmp_path):
    config = build_config(small_run(corpus, max_steps=6), ("test", {"model": {"attention_window": 3}}))
    train(config, tmp_path / "whole")
    short = build_config(config, ("test", {"train": {"max_steps": 4}}))
    train(short, tmp_path / "parts")
    resume(tmp_path / "parts", max_steps=6)
    assert_same(last_weights(tmp_path / "parts"), last_weights(tmp_path / "whole"))


def test_a_run_made_longer_equals_a_long_run(corpus, tmp_path):
    train(small_run(corpus), tmp_path / "long")
    train(small_run(corpus, max_steps=7), tmp_path / "short")
    outcome = resume(tmp_path / "short", max_steps=12)
    assert (outcome.reason, outcome.step) == ("finished", 12)
    assert_same(last_weights(tmp_path / "short"), last_weights(tmp_path / "long"))
    assert RunFolder.open(tmp_path / "short").config.train.max_steps == 12


def test_a_run_made_longer_with_a_cooldown_equals_a_long_run_with_it(corpus, tmp_path):
    train(small_run(corpus, cooldown_steps=4), tmp_path / "long")
    train(small_run(corpus, max_steps=7), tmp_path / "short")
    resume(tmp_path / "short", max_steps=12, cooldown_steps=4)
    assert_same(last_weights(tmp_path / "short"), last_weights(tmp_path / "long"))

    train(small_run(corpus), tmp_path / "hot")
    with pytest.raises(AssertionError):
        assert_same(last_weights(tmp_path / "hot"), last_weights(tmp_path / "long"))


def test_the_same_seed_is_the_same_run_and_another_is_not(corpus, tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        train(small_run(corpus, max_steps=3, seed=seed), tmp_path / name)
    assert_same(last_weights(tmp_path / "one"), last_weights(tmp_path / "again"))
    other = last_weights(tmp_path / "other")["model"]
    assert not torch.equal(other["embedding.weight"], last_weights(tmp_path / "one")["model"]["embedding.weight"])


def test_patience_stops_early(corpus, tmp_path):
    settings = {"max_steps": 400, "validate_every": 2, "patience": 2, "learning_rate_factor": 1e-9}
    outcome = train(small_run(corpus, **settings), tmp_path / "run")
    assert outcome.reason == "early"
    assert outcome.step < 20


def test_checkpoints_kept_are_the_last_and_the_best(corpus, tmp_path):
    train(small_run(corpus, max_steps=30, validate_every=5, save_every=2), tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    best = run.best()["checkpoint"]
    assert {26, 28, 30} <= set(run.steps())
    assert len(run.steps()) <= 4
    assert run.checkpoint_path("best").name == best
    average = read_tensors(run.path / "checkpoints" / "average-00000030", "model")
    parts = [read_tensors(run.step_path(step), "model") for step in (26, 28, 30)]
    for name, mean in average.items():
        expected = np.mean([part[name].double().numpy() for part in parts], axis=0)
        np.testing.assert_allclose(mean.numpy(), expected, rtol=1e-6, atol=1e-8)


def test_without_validation_the_average_or_the_last_is_best(corpus, tmp_path):
    for name, steps, expected in (("long", 12, "average-00000012"), ("short", 4, "step-00000004")):
        config = build_config(
            small_run(corpus, max_steps=steps), ("test", {"data": {"valid_source": "", "valid_target": ""}})
        )
        train(config, tmp_path / name)
        assert RunFolder.open(tmp_path / name).best()["checkpoint"] == expected
    resume(tmp_path / "short", max_steps=6)
    assert RunFolder.open(tmp_path / "short").best()["checkpoint"] == "step-00000006"


def test_a_resumed_validation_is_not_counted_twice(corpus, tmp_path):
    """A checkpoint records every validation, better or not, so a resume repeats none."""
    config = small_run(corpus, max_steps=8, validate_every=2, patience=9, learning_rate_factor=1e-9)
    train(config, tmp_path / "run")
    steps = [8, *(step for step in RunFolder.open(tmp_path / "run").steps() if step % 2 == 0)]
    for step in steps:
        state = read_manifest(RunFolder.open(tmp_path / "run").step_path(step))["state"]
        assert state["validated_step"] == step
    before = (tmp_path / "run" / "events.jsonl").read_text().count('"validation"')
    resume(tmp_path / "run")
    after = (tmp_path / "run" / "events.jsonl").read_text().count('"validation"')
    assert after == before + 1  # the average alone


def test_a_changed_corpus_is_refused_on_resume(corpus, tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes((corpus / name).read_bytes())
    train(small_run(tmp_path, max_steps=3), tmp_path / "run")
    lines = (tmp_path / "a").read_text().splitlines()
    lines[7], lines[8] = lines[8], lines[7]
    (tmp_path / "a").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(CheckpointError, match=r"/a: changed since .*run started"):
        resume(tmp_path / "run")


def test_validation_perplexity_is_forced_decoding(corpus, tmp_path):
    outcome = train(small_run(corpus, average_last=1), tmp_path / "run")
    sources, targets = ((corpus / name).read_text(encoding="utf-8").splitlines() for name in "ab")
    scores = load(tmp_path / "run").score(sources, targets)
    mean = sum(one.log_probability for one in scores) / sum(one.n_tokens for one in scores)
    assert outcome.best["perplexity"] == pytest.approx(math.exp(-mean), rel=1e-6)


def test_dropout_is_a_function_of_seed_step_and_pair():
    """The same pair at the same step of the same run gets the same dropout mask, whatever was drawn before."""

    def loss(seed, step, first_pair=0):
        batch = small_batch(*zip(*PAIRS, strict=True), first_pair=first_pair)
        learner = small_learner(dropout=0.4, seed=seed)
        learner.model.load_state_dict(weights)
        return train_step(learner, [batch], batch.n_tokens, step).loss

    weights = small_learner().model.state_dict()
    first = loss(1, 1)
    torch.rand(7)
    assert loss(1, 1) == first
    assert len({first, loss(1, 2), loss(2, 1), loss(1, 1, first_pair=100)}) == 4
