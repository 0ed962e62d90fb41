"""Kill or stop a training at any moment and resume it: bit for bit an uninterrupted run."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import letters
from tests.distributed.conftest import (
    LONG,
    SHARDED,
    SLOW_SHARDED,
    Ended,
    Group,
    Torchrun,
    Training,
    Whole,
    assert_same_end,
    events_of,
    same_bytes,
    texts,
    wait_for,
    wait_for_step,
    write_pairs,
)
from tests.distributed.strace import attach, skip_without_strace

# Large enough for several DDP buckets, the first of which holds one megabyte.
LARGE = ["--set", "model.d_model=256", "--set", "model.d_ff=512"]


@pytest.mark.parametrize(
    ("n", "kind"),
    [(2, []), (3, []), (2, SHARDED), pytest.param(3, SHARDED, marks=pytest.mark.slow)],
    ids=["2-ddp", "3-ddp", "2-sharded", "3-sharded"],
)
def test_killed_and_resumed(training: Training, whole: Whole, tmp_path: Path, n: int, kind: list[str]) -> None:
    """With three processes the order of sums matters: (a + b) + c is not a + (b + c)."""
    group = training.start(n, tmp_path / "run", *kind, *LONG)
    wait_for_step(tmp_path / "run", 13, group)
    group.kill()
    assert len(events_of(tmp_path / "run", "step")) < 40
    training.resume(n, tmp_path / "run")
    assert all(int(str(one["step"])) in (10, 20, 30) for one in events_of(tmp_path / "run", "resume"))
    assert_same_end(tmp_path / "run", whole(n, *kind, *LONG))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_larger_model_resumed(training: Training, tmp_path: Path, n: int, kind: list[str]) -> None:
    """DDP needs several buckets for it."""
    large = [*LARGE, "--set", "train.average_last=1", *kind]
    training.train(n, tmp_path / "whole", *large)
    training.train(n, tmp_path / "run", *large, "--set", "train.max_steps=2")
    training.resume(n, tmp_path / "run", "--set", "train.max_steps=4")
    training.resume(n, tmp_path / "run", "--set", "train.max_steps=6")
    same_bytes(tmp_path / "run", tmp_path / "whole", 6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
def test_killed_again_and_again(training: Training, whole: Whole, tmp_path: Path, kind: list[str]) -> None:
    """Kill one process at a time: the other must neither hang nor damage anything."""
    run = tmp_path / "run"
    group = training.start(2, run, *kind, *LONG)
    for step, rank in ((5, 0), (12, 1), (23, 0), (34, 1)):
        wait_for_step(run, step, group)
        group.send(signal.SIGKILL, rank)
        ended = group.wait()
        assert ended.codes[rank] == -signal.SIGKILL and ended.codes[1 - rank] != 0
        group = training.server.start(2, "train", "--resume", run)
    assert group.wait().codes == [0, 0]
    assert_same_end(run, whole(2, *kind, *LONG))


# --- asked to stop ----------------------------------------------------------------------------------------


def assert_stopped(ended: Ended, run: Path) -> None:
    assert ended.codes == [130] * len(ended.codes), ended.said
    assert ended.said[0].count("stopped and saved at step") == 1 and f"heed train --resume {run}" in ended.said[0]
    assert ended.said[1:] == [""] * (len(ended.said) - 1)
    assert events_of(run)[-1]["event"] == "interrupted"


@pytest.mark.parametrize(("number", "rank"), [(signal.SIGTERM, 1), (signal.SIGINT, 0)], ids=["TERM-1", "INT-0"])
@pytest.mark.parametrize("kind", [[], SLOW_SHARDED], ids=["ddp", "sharded"])
def test_one_is_asked_and_all_stop(
    training: Training, whole: Whole, tmp_path: Path, kind: list[str], number: signal.Signals, rank: int
) -> None:
    group = training.start(2, tmp_path / "run", *kind, *LONG)
    wait_for_step(tmp_path / "run", 7, group)
    group.send(number, rank)
    assert_stopped(group.wait(30), tmp_path / "run")
    assert len(events_of(tmp_path / "run", "step")) < 40
    training.resume(2, tmp_path / "run")
    assert_same_end(tmp_path / "run", whole(2, *kind, *LONG))


@pytest.mark.parametrize("rank", [0, 1])
def test_one_is_asked_in_a_validation(training: Training, tmp_path: Path, rank: int) -> None:
    """The validation is abandoned, and repeated by the resumed run."""
    train = Path(training.arguments[2]).read_text().splitlines()
    write_pairs(tmp_path, "valid", [line for line in letters(3, 3000) if line not in train][:1200])
    words = [*texts(tmp_path, "valid"), "--set", "train.average_last=1", "--set", "train.max_steps=4"]
    run = tmp_path / "run"
    group = training.start(2, run, *words)
    wait_for_step(run, 3, group)
    time.sleep(0.1)
    group.send(signal.SIGTERM, rank)
    assert_stopped(group.wait(30), run)
    assert events_of(run, "validation") == []
    assert events_of(run)[-1]["step"] == 3
    training.resume(2, run, "--set", "train.max_steps=3")
    assert [one["step"] for one in events_of(run, "validation")] == [3]


@pytest.mark.slow
def test_the_other_is_asked_in_a_save(training: Training, whole: Whole, tmp_path: Path) -> None:
    """Slow every flush of the first process down to half a second, and send the second the signal meanwhile."""
    skip_without_strace()
    run, gate = tmp_path / "run", tmp_path / "gate"
    group = training.start(2, run, *LONG, each=[{"HEED_TEST_GATE": str(gate)}] * 2)
    tracer = attach(group.pids[0], tmp_path / "log", "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=500000")
    try:
        gate.touch()
        wait_for(lambda: (run / "checkpoints" / ".step-00000010.new").exists(), "beginning of a save", group)
        group.send(signal.SIGTERM, 1)
        assert_stopped(group.wait(30), run)
    finally:
        tracer.terminate()
        tracer.communicate()
    assert events_of(run)[-1]["step"] == 10
    training.resume(2, run)
    assert_same_end(run, whole(2, *LONG))


def test_asked_while_the_corpus_is_made_ready(training: Training, tmp_path: Path) -> None:
    """Before training starts there is nothing to save: all exit, and nothing is left behind."""
    write_pairs(tmp_path, "train", letters(4, 20_000))
    words = [*texts(tmp_path, "train"), "--set", "text.tokenizer="]  # to be learnt
    group = training.start(2, tmp_path / "run", *words)
    wait_for(lambda: "learning a joint vocabulary" in group.said(), "beginning", group)
    group.send(signal.SIGTERM)
    ended = group.wait(30)
    assert ended.codes[0] == 130 and ended.codes[1] != 0, ended.said
    assert "Traceback" not in "".join(ended.said)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.src", "train.tgt"]


TorchrunStart = Callable[..., Torchrun]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=["TERM", "INT"]
)
def test_torchrun_is_asked(
    training: Training, torchrun: TorchrunStart, whole: Whole, tmp_path: Path, number: signal.Signals
) -> None:
    """torchrun forwards the signal of a scheduler or of Ctrl-C, and gives its processes thirty seconds."""
    run = tmp_path / "run"
    started = torchrun(2, *training.arguments, *LONG, "--out", run)
    wait_for_step(run, 5, started)
    started.process.send_signal(number)
    assert started.wait(30) != 0
    assert started.living() == []
    assert started.said().count("stopped and saved at step") == 1
    assert "[rank" not in started.said()  # no traceback of a process
    assert events_of(run)[-1]["event"] == "interrupted"
    training.resume(2, run)
    assert_same_end(run, whole(2, *LONG))


def test_groups_do_not_outlive_a_test(training: Training, tmp_path: Path) -> None:
    """The other tests rely on this when they fail."""
    group: Group = training.start(2, tmp_path / "run", *LONG)
    wait_for_step(tmp_path / "run", 1, group)
    group.kill()
    assert not any(Path(f"/proc/{pid}").exists() for pid in group.pids)
