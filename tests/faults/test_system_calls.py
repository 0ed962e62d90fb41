"""Dying, and failing, at every single system call by which a training changes its run folder."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.faults.conftest import Call, Training, changes_of, events_of, find, inject, under_strace

PARTS = 8  # so that several processes can share the work
pytestmark = pytest.mark.usefixtures("strace")


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_change_a_training_can_be_resumed(
    training: Training, calls: list[Call], part: int, tmp_path: Path
) -> None:
    """Every one in which checkpoints, best.json or the run folder come and go."""
    killed_at(training, [call for call in calls if not is_log(call) and not is_corpus(call)][part::PARTS], tmp_path)


@pytest.mark.slow
def test_killed_at_any_other_change_too(training: Training, calls: list[Call], tmp_path: Path) -> None:
    """While the corpus is encoded, and while events are told."""
    killed_at(training, [call for call in calls if is_log(call) or is_corpus(call)], tmp_path)


def killed_at(training: Training, calls: list[Call], folder: Path) -> None:
    run = folder / "run"
    for call in calls:
        died = under_strace(training.start(run, held=True), folder / "log", *inject(call, "signal=KILL"))
        assert died.code == -signal.SIGKILL, call
        ended = training.go_on(run)
        assert ended.code == 0, f"{call}\n{ended.said}"
        training.assert_finished(run)
        events_of(run)
        assert list(folder.glob(".*")) == []  # nor beside it
        shutil.rmtree(run)


def is_log(call: Call) -> bool:
    return "events.jsonl" in call.line


def is_corpus(call: Call) -> bool:
    return ".data.new" in call.line


@pytest.mark.parametrize("nth", range(0, 60, 11))
def test_killed_again_at_any_change_of_the_resumed_training(
    training: Training, calls: list[Call], nth: int, tmp_path: Path
) -> None:
    killed_again(training, calls, nth, tmp_path)


@pytest.mark.slow
def test_killed_again_at_every_change_of_the_resumed_training(
    training: Training, calls: list[Call], tmp_path: Path
) -> None:
    for nth in range(1000):
        if not killed_again(training, calls, nth, tmp_path):
            return
    raise AssertionError("never got through")


def killed_again(training: Training, calls: list[Call], nth: int, folder: Path) -> bool:
    """A training killed in its second save, resumed, and killed at the `nth` change; whether there are so many."""
    run, first = folder / "run", folder / "first"
    second_save = find(calls, "rename", ".step-00000003.new")
    died = under_strace(training.start(first, held=True), folder / "log", *inject(second_save, "signal=KILL"))
    assert died.code == -signal.SIGKILL
    shutil.copytree(first, run)
    resumed = changes_of(training.warm.start("train", "--resume", run, held=True), run, folder / "log")
    shutil.rmtree(run)
    os.rename(first, run)
    if nth < len(resumed):
        process = training.warm.start("train", "--resume", run, held=True)
        died = under_strace(process, folder / "log", *inject(resumed[nth], "signal=KILL"))
        assert died.code == -signal.SIGKILL, resumed[nth]
        ended = training.resume(run)
        assert ended.code == 0, f"{resumed[nth]}\n{ended.said}"
        training.assert_finished(run)
    shutil.rmtree(run)
    return nth < len(resumed)


# --- processes of their own --------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", [11, 29])
def test_killed_in_a_process_of_its_own(training: Training, strace: None, nth: int, tmp_path: Path) -> None:
    """The command as it is typed, under strace from its first instruction: killed at the nth flush."""
    assert killed_at_flush(training, nth, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_every_flush_in_a_process_of_its_own(training: Training, strace: None, tmp_path: Path) -> None:
    n = 0
    while killed_at_flush(training, n + 1, tmp_path / f"run-{n}"):
        n += 1
    assert n >= 30


def killed_at_flush(training: Training, nth: int, run: Path) -> bool:
    """False: the training has ended before."""
    kill = ["-e", "trace=fsync", "-e", f"inject=fsync:signal=KILL:when={nth}"]
    command = [COMMAND, *training.arguments, "--out", str(run)]
    died = subprocess.run(["strace", "-f", "-o", f"{run}.log", *kill, *command], env=ENVIRONMENT, capture_output=True)
    if died.returncode == 0:
        return False
    assert died.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), died.stderr.decode()
    words = ["--resume", str(run)] if (run / "config.json").exists() else [*training.arguments[1:], "--out", str(run)]
    done = subprocess.run([COMMAND, "train", *words], env=ENVIRONMENT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    training.assert_finished(run)
    return True
