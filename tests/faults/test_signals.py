"""Stop a training by signals in every phase: it saves and exits, and the resumed run is the same."""

import random
import signal
import time
from pathlib import Path

import pytest

from tests.cli.conftest import letters, write_lines
from tests.faults.conftest import (
    Call,
    Ended,
    Process,
    Training,
    assert_same_run,
    events_of,
    find,
    inject,
    under_strace,
)

LONG = ["--set", "train.max_steps=40", "--set", "train.save_every=10", "--set", "train.validate_every=20"]
RESUME = ["train", "--resume"]
STOP = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]  # Ctrl-C, a scheduler, a terminal that is closed


def assert_stopped(ended: Ended, run: Path) -> None:
    assert ended.code == 130, ended.said
    assert "stopped and saved at step" in ended.said and f"heed train --resume {run}" in ended.said
    assert "Traceback" not in ended.said
    assert events_of(run)[-1]["event"] == "interrupted"


@pytest.mark.parametrize("number", STOP, ids=str)
def test_stopped_in_a_save(training: Training, calls: list[Call], number: signal.Signals, tmp_path: Path) -> None:
    """The signal arrives with the system call that flushes, renames or deletes."""
    for kind, text in (
        ("fsync", ".step-00000002.new/manifest.json"),
        ("rename", ".step-00000002.new"),
        ("fsync", ".step-00000003.new>"),
        ("rename", ".best.json.new"),
        ("rmdir", "step-00000002"),
        ("write", ".step-00000006.new/optimizer.safetensors"),
        ("rename", ".average-00000006.new"),
    ):
        run = tmp_path / f"{kind}-{text.strip('.>').replace('/', '-')}"
        process = training.start(run, held=True)
        call = find(calls, kind, text)
        ended = under_strace(process, tmp_path / "log", *inject(call, f"signal={number.name}"))
        assert number.name in (tmp_path / "log").read_text()
        assert_stopped(ended, run)
        ended = training.resume(run)
        assert ended.code == 0, ended.said
        training.assert_finished(run)


@pytest.mark.parametrize("number", [*STOP, signal.SIGUSR1], ids=str)  # the last: Slurm's usual warning
def test_stopped_between_steps(training: Training, number: signal.Signals, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert training.train(whole, *LONG).code == 0
    chance = random.Random(number)
    for n in range(3):
        run = tmp_path / f"run-{n}"
        process = training.start(run, *LONG)
        wait_for_step(process, run, 3)
        time.sleep(chance.uniform(0, 0.05))
        process.send(number)
        assert_stopped(process.wait(), run)
        ended = training.resume(run)
        assert ended.code == 0, ended.said
        assert_same_run(run, whole)


def test_asked_several_times_it_still_saves(training: Training, tmp_path: Path) -> None:
    """torchrun forwards a signal that Slurm has already sent to all. Only a second Ctrl-C stops at once."""
    run = tmp_path / "run"
    process = training.start(run, *LONG)
    wait_for_step(process, run, 3)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):  # pending signals of one kind count once
        process.send(number)
    assert_stopped(process.wait(), run)
    last = events_of(run)[-1]["step"]
    assert (run / "checkpoints" / f"step-{last:08d}" / "manifest.json").exists()


def test_the_two_newest_checkpoints_stay(training: Training, tmp_path: Path) -> None:
    """If the newest is damaged, the one before it exists, even if neither is a multiple of `save_every`."""
    run = tmp_path / "run"
    words = [
        "--set",
        "train.max_steps=100000",
        "--set",
        "train.save_every=50000",
        "--set",
        "train.validate_every=50000",
    ]
    for step, begin in ((3, lambda: training.start(run, *words)), (9, lambda: training.warm.start(*RESUME, run))):
        process = begin()
        wait_for_step(process, run, step)
        process.send(signal.SIGTERM)
        assert_stopped(process.wait(), run)
    saved = [event["step"] for event in events_of(run) if event["event"] == "checkpoint"]
    assert len(saved) == 2 and saved[0] < saved[1]
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names == [f"step-{step:08d}" for step in saved]


def test_the_last_step_is_validated_whatever_the_beat(training: Training, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = training.train(run, "--set", "train.max_steps=5")  # validated every 3
    assert ended.code == 0, ended.said
    validated = [event["of"] for event in events_of(run) if event["event"] == "validation"]
    assert validated[:2] == ["step 3", "step 5"]  # and then the average


@pytest.mark.parametrize("number", STOP, ids=str)
def test_stopped_in_a_validation(training: Training, corpus: Path, number: signal.Signals, tmp_path: Path) -> None:
    train = set((corpus / "train.src").read_text().splitlines())
    valid = [line for line in letters(3, 900) if line not in train]
    write_lines(tmp_path / "src", valid)
    write_lines(tmp_path / "tgt", [line[::-1] for line in valid])
    words = ["--valid-source", tmp_path / "src", "--valid-target", tmp_path / "tgt", "--set", "decode.beam=4"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert training.train(whole, *words).code == 0
    process = training.start(run, *words)
    wait_for_step(process, run, 3)
    process.send(number)
    assert_stopped(process.wait(), run)
    told = [(event["event"], event.get("step")) for event in events_of(run)]
    assert ("step", 3) in told and ("validation", 3) not in told  # stopped during validation
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert_same_run(run, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1], ids=str)
def test_stopped_in_start_up(training: Training, calls: list[Call], number: signal.Signals, tmp_path: Path) -> None:
    """While folder, vocabulary and corpus are created: the run can be resumed or started again."""
    begin = calls[: next(n for n, call in enumerate(calls) if "events.jsonl" in call.line)]
    for call in begin[::6]:
        run = tmp_path / f"{call.kind}-{call.nth}"
        ended = under_strace(training.start(run, held=True), tmp_path / "log", *inject(call, f"signal={number.name}"))
        assert ended.code == 130, f"{call}\n{ended.said}"
        assert "Traceback" not in ended.said
        ended = training.go_on(run)
        assert ended.code == 0, f"{call}\n{ended.said}"
        training.assert_finished(run)


def wait_for_step(process: Process, run: Path, step: int) -> None:
    end = time.monotonic() + 60
    while f"step {step}/" not in process.said():
        assert time.monotonic() < end, process.said()
        time.sleep(0.002)
