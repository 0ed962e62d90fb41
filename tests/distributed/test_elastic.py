"""Lose a process under `torchrun --max-restarts`: the result is identical to an uninterrupted run."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import letters
from tests.distributed.conftest import (
    LONG,
    SHARDED,
    Torchrun,
    Training,
    Whole,
    assert_same_end,
    events_of,
    texts,
    wait_for,
    wait_for_step,
    write_pairs,
)

TorchrunStart = Callable[..., Torchrun]
ELASTIC = ["--max-restarts=3"]


def resumed_at_the_last_checkpoint(run: Path) -> list[int]:
    """Return the steps at which a run resumed; only steps since the last checkpoint may be lost."""
    last, steps = 0, []
    for event in events_of(run):
        if event["event"] == "checkpoint":
            last = int(str(event["step"]))
        elif event["event"] == "resume":
            steps.append(int(str(event["step"])))
            assert steps[-1] >= last
    return steps


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rank", "kind"),
    [(1, []), (0, []), (1, SHARDED)],
    ids=["ddp-1", "ddp-0", "sharded-1"],
)
def test_a_lost_process(
    training: Training, torchrun: TorchrunStart, whole: Whole, tmp_path: Path, rank: int, kind: list[str]
) -> None:
    run = tmp_path / "run"
    started = torchrun(2, *training.arguments, *kind, *LONG, "--out", run, options=ELASTIC)
    wait_for_step(run, 13, started)
    os.kill(started.worker(rank), signal.SIGKILL)
    assert started.wait() == 0, started.said()
    assert len(resumed_at_the_last_checkpoint(run)) == 1
    assert_same_end(run, whole(2, *kind, *LONG))
    assert started.living() == []


@pytest.mark.slow
def test_lost_twice(training: Training, torchrun: TorchrunStart, whole: Whole, tmp_path: Path) -> None:
    run = tmp_path / "run"
    started = torchrun(2, *training.arguments, *LONG, "--out", run, options=ELASTIC)
    for n, (step, rank) in enumerate([(5, 1), (23, 0)]):
        wait_for(lambda n=n: len(events_of(run, "start")) == n + 1, "start", started)  # type: ignore[misc]
        wait_for_step(run, step, started)
        os.kill(started.worker(rank), signal.SIGKILL)
    assert started.wait() == 0, started.said()
    assert len(steps := resumed_at_the_last_checkpoint(run)) == 2 and steps[0] < steps[1]
    assert_same_end(run, whole(2, *LONG))


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_lost_while_the_corpus_is_made_ready(
    training: Training, torchrun: TorchrunStart, tmp_path: Path, rank: int
) -> None:
    """There is nothing to resume yet, so it starts again."""
    write_pairs(tmp_path, "train", letters(4, 20_000))
    words = [*texts(tmp_path, "train"), "--set", "text.tokenizer=", "--set", "train.max_steps=4"]
    run = tmp_path / "run"
    training.train(2, tmp_path / "whole", *words)
    started = torchrun(2, *training.arguments, *words, "--out", run, options=ELASTIC)
    worker = started.worker(rank)
    wait_for(lambda: "learning a joint vocabulary" in started.said(), "beginning", started)
    os.kill(worker, signal.SIGKILL)
    assert started.wait() == 0, started.said()
    assert started.said().count("learning a joint vocabulary") == 2
    assert_same_end(run, tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


@pytest.mark.slow
def test_too_often(training: Training, torchrun: TorchrunStart, tmp_path: Path) -> None:
    """A failure that repeats after each restart ends the run; one process reports it each time."""
    run = tmp_path / "run"
    (run / "mine").mkdir(parents=True)
    started = torchrun(2, *training.arguments, "--out", run, options=["--max-restarts=1"])
    assert started.wait() == 1
    assert started.said().count(f"heed train: {run}: already exists") == 2
    assert "[rank1]" not in started.said()
