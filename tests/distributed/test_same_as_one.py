"""Check the law that the number of processes changes nothing but the order of sums.

Runs use float64, and dropout, whose masks depend on pair and position. Sums of a few hundred terms with a relative
error of 1e-16 each are off by about 1e-13; Adam divides small gradients by their own size, which costs a few more
digits. A wrong weight, or a share lost or counted twice, is off by more than 1e-3.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.cli.conftest import heed, letters
from tests.distributed.conftest import (
    EXACT,
    LIMIT,
    PLAIN,
    SHARDED,
    Training,
    Whole,
    events_of,
    same_bytes,
    state_of,
    texts,
    write_pairs,
)

BOUND = 1e-9  # relative to the largest number of a tensor


def assert_close(one: Path, other: Path, step: int, bound: float = BOUND) -> None:
    ours, theirs = state_of(one, step), state_of(other, step)
    assert ours.keys() == theirs.keys() == {"model", "optimizer"}
    for group in ours:
        assert ours[group].keys() == theirs[group].keys()
        for name, expected in theirs[group].items():
            found = ours[group][name]
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            scale = float(expected.abs().max())
            difference = float((found - expected).abs().max())
            assert difference <= bound * scale, f"{group} {name}: {difference:.3g} of {scale:.3g}"


def assert_same_scores(one: Path, other: Path, bound: float = BOUND) -> None:
    ours, theirs = events_of(one, "validation"), events_of(other, "validation")
    assert len(ours) == len(theirs) >= 3
    for found, expected in zip(ours, theirs, strict=True):
        assert found["of"] == expected["of"] and found["samples"] == expected["samples"]
        assert found["perplexity"] == pytest.approx(expected["perplexity"], rel=bound)
        assert found["bleu"] == pytest.approx(expected["bleu"], rel=1e-12)


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
@pytest.mark.parametrize("n", [2, 3])
def test_many_processes_equal_one(whole: Whole, n: int, kind: list[str]) -> None:
    one, many = whole(1, exact=True), whole(n, *kind, exact=True)
    assert state_of(one, 6)["model"]["embedding.weight"].dtype == torch.float64
    for step in (2, 4, 6):
        assert_close(many, one, step)
    assert_same_scores(many, one)


# Settings of the Transformer have their defaults in other kinds of models.
_OTHER_KIND = [word for key in ("d_ff=2048", "h=8", "norm=post") for word in ("--set", f"model.{key}")]
BASELINES = {
    "lstm": [*_OTHER_KIND, "--set", "model.kind=recurrent"],
    "gru": [*_OTHER_KIND, "--set", "model.kind=recurrent", "--set", "model.cell=gru"],
    "convolutional": [*_OTHER_KIND, "--set", "model.kind=convolutional"],
}


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
@pytest.mark.parametrize("baseline", BASELINES)
def test_two_processes_equal_one_for_other_kinds_of_models(whole: Whole, baseline: str, kind: list[str]) -> None:
    one, two = whole(1, *BASELINES[baseline], exact=True), whole(2, *BASELINES[baseline], *kind, exact=True)
    for step in (2, 4, 6):
        assert_close(two, one, step)
    assert_same_scores(two, one)


TECHNIQUES = [
    *("--set", "text.bpe_dropout=0.2", "--set", "train.noise=0.5"),
    *("--set", "train.consistency=3", "--set", "train.cutoff=0.1", "--set", "train.head_diversity=0.5"),
]


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
def test_many_processes_equal_one_with_other_pieces_noise_and_penalties(whole: Whole, kind: list[str]) -> None:
    one, two = whole(1, *TECHNIQUES, exact=True), whole(2, *TECHNIQUES, *kind, exact=True)
    for step in (2, 4, 6):
        assert_close(two, one, step)


def test_many_processes_equal_one_on_a_mixture(training: Training, corpus: Path, tmp_path: Path) -> None:
    """Within six steps there are several epochs, each with other pairs."""
    write_pairs(tmp_path, "more", letters(5, 50))
    files = [(corpus / "train", 0.4), (tmp_path / "more", 1.5)]
    entries = [f'{{source = "{path}.src", target = "{path}.tgt", weight = {weight}}}' for path, weight in files]
    without = [word for word in training.arguments if word not in texts(corpus, "train")]
    mixed = replace(training, arguments=[*without, "--set", f"data.train=[{', '.join(entries)}]"])
    one, two = (mixed.train(n, tmp_path / f"run-{n}", each=[EXACT] * n) for n in (1, 2))
    assert events_of(one, "start")[0]["batches_per_epoch"] < 5
    for step in (2, 4, 6):
        assert_close(two, one, step)


def test_in_float32_they_differ_as_much_as_another_order_of_sums(whole: Whole) -> None:
    """Compare with one process that cuts its batches differently: the same sums, in another order."""
    slow = ["--set", "train.learning_rate_factor=1e-3"]  # or Adam would make much of little
    one, cut = whole(1, *PLAIN, *slow), whole(1, *PLAIN, *slow, "--set", "train.micro_batch_tokens=190")
    for kind in ([], SHARDED):
        many = whole(2, *PLAIN, *slow, *kind)
        for suffix in ("exp_avg", "exp_avg_sq"):
            assert 0 < gap(many, one, suffix) <= 4 * gap(cut, one, suffix)
            assert gap(cut, one, suffix) < 1e-4


def gap(one: Path, other: Path, suffix: str) -> float:
    """Return the largest difference of two runs' moments, relative to the tensor's size."""
    ours, theirs = (state_of(run, 6)["optimizer"] for run in (one, other))
    return max(
        float((ours[key] - theirs[key]).norm() / theirs[key].norm()) for key in theirs if key.endswith(f"/{suffix}")
    )


def test_the_trainings_above_have_dropout(whole: Whole) -> None:
    """Show that other dropout masks in one process would be noticed."""
    one, other = (state_of(whole(1, *kind, exact=True), 6)["model"]["embedding.weight"] for kind in ([], PLAIN))
    assert float((one - other).norm() / one.norm()) > 1e-2


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_a_run_goes_on_with_another_number_of_processes(
    training: Training, whole: Whole, tmp_path: Path, before: int, after: int, kind: list[str]
) -> None:
    run = tmp_path / "run"
    training.train(before, run, *kind, "--set", "train.max_steps=3", each=[EXACT] * before)
    ended = training.resume(after, run, "--set", "train.max_steps=6", each=[EXACT] * after)
    assert ended.said[0].count(f"warning: environment changed (processes {before} → {after})") == 1
    assert_close(run, whole(1, exact=True), 6)


def test_what_a_sharded_training_made_translates(whole: Whole) -> None:
    many, one = whole(2, *SHARDED), whole(1)
    assert {path.name for path in many.iterdir()} == {path.name for path in one.iterdir()}
    lines = letters(7, 4)
    done = heed("translate", "--model", many, given="".join(f"{line}\n" for line in lines))
    assert done.code == 0, done.err
    assert len(done.lines) == 4


@pytest.mark.slow
def test_a_running_mean_is_that_of_one_process(training: Training, tmp_path: Path) -> None:
    """The average of `train.ema_decay` is kept in shards, saved in full, and sharded again."""
    mean = [*PLAIN, "--set", "train.ema_decay=0.9"]
    one = training.train(1, tmp_path / "one", *mean, each=[EXACT])
    for name, kind in (("ddp", []), ("sharded", SHARDED)):
        run = tmp_path / name
        training.train(2, run, *mean, *kind, "--set", "train.max_steps=3", each=[EXACT] * 2)
        training.resume(2, run, "--set", "train.max_steps=6", each=[EXACT] * 2)
        ours, theirs = state_of(run, 6)["mean"], state_of(one, 6)["mean"]
        assert ours.keys() == theirs.keys()
        for key in theirs:
            torch.testing.assert_close(ours[key], theirs[key], rtol=0, atol=BOUND, msg=key)


# --- unequal shares ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
@pytest.mark.parametrize(
    ("pairs", "n"),
    [(1, 2), (2, 3), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 3), (7, 2), (7, 3)))],
)
def test_shares_may_be_empty(training: Training, tmp_path: Path, pairs: int, n: int, kind: list[str]) -> None:
    """Batches of fewer sentences than processes, and a validation set of one pair: no hang, the same result."""
    chosen = letters(5, pairs)
    write_pairs(tmp_path, "train", chosen)
    write_pairs(tmp_path, "valid", [next(line for line in letters(6, 9) if line not in chosen)])
    small = ["--set", "train.batch_tokens=26", "--set", "train.micro_batch_tokens=13"]
    words = [*texts(tmp_path, "train", "valid"), *PLAIN, *small]
    training.train(1, tmp_path / "one", *words, each=[EXACT])
    training.train(n, tmp_path / "many", *words, *kind, each=[EXACT] * n)
    assert_close(tmp_path / "many", tmp_path / "one", 6)
    assert_same_scores(tmp_path / "many", tmp_path / "one")


def test_more_portions_of_validation_than_pairs_of_one_process(training: Training, tmp_path: Path) -> None:
    """With 201 pairs in two processes, the first has two chunks of a hundred, the second only one."""
    train = (Path(training.arguments[2])).read_text().splitlines()
    write_pairs(tmp_path, "valid", [line for line in letters(8, 400) if line not in train][:201])
    words = [*texts(tmp_path, "valid"), *PLAIN, "--set", "decode.beam=1", "--set", "train.average_last=1"]
    training.train(2, tmp_path / "two", *words, each=[EXACT] * 2)
    training.train(1, tmp_path / "one", *words, each=[EXACT])
    ours, theirs = (json.loads((tmp_path / name / "best.json").read_text()) for name in ("two", "one"))
    assert ours["perplexity"] == pytest.approx(theirs["perplexity"], rel=BOUND)
    assert ours["bleu"] == pytest.approx(theirs["bleu"], rel=1e-12)


def test_without_validation(training: Training, tmp_path: Path) -> None:
    """The last average is chosen without validation; all processes end in the same way."""
    words = [*training.arguments[:5], *training.arguments[9:]]
    assert "--valid-source" in training.arguments and "--valid-source" not in words
    for n in (1, 2):
        ended = training.server.start(n, *words, *PLAIN, "--out", tmp_path / str(n), each=[EXACT] * n).wait(LIMIT)
        assert ended.codes == [0] * n, ended.said
    assert (tmp_path / "1" / "best.json").read_bytes() == (tmp_path / "2" / "best.json").read_bytes()


def test_the_same_processes_make_the_same_run(training: Training, whole: Whole, tmp_path: Path) -> None:
    training.train(2, tmp_path / "again")
    same_bytes(tmp_path / "again", whole(2), 6)
