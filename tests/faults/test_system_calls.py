"""Kill a training, or make it fail, at every system call by which it changes its run folder."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.faults.conftest import Call, Ended, Training, changes_of, events_of, find, hidden_files, inject, under_strace

PARTS = 8  # so that several processes can share the work
pytestmark = pytest.mark.usefixtures("strace")


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_change_a_training_can_be_resumed(
    training: Training, calls: list[Call], part: int, tmp_path: Path
) -> None:
    """At every call that creates or deletes checkpoints, best.json or the run folder."""
    killed_at(training, [call for call in calls if not is_minor(call, calls)][part::PARTS], tmp_path)


@pytest.mark.slow
def test_killed_at_any_other_change_too(training: Training, calls: list[Call], tmp_path: Path) -> None:
    """While the corpus is encoded, while events are recorded, and between two tensors."""
    killed_at(training, [call for call in calls if is_minor(call, calls)], tmp_path)


def killed_at(training: Training, calls: list[Call], folder: Path) -> None:
    run = folder / "run"
    for call in calls:
        died = under_strace(training.start(run, held=True), folder / "log", *inject(call, "signal=KILL"))
        assert died.code == -signal.SIGKILL, call
        ended = training.go_on(run)
        assert ended.code == 0, f"{call}\n{ended.said}"
        training.assert_finished(run)
        events_of(run)
        assert list(folder.glob(".*")) == []  # nor next to it
        shutil.rmtree(run)


def is_log(call: Call) -> bool:
    return "events.jsonl" in call.line


def is_minor(call: Call, calls: list[Call]) -> bool:
    """Return whether similar calls are tested: an event, a file of the corpus, one of many writes to a file."""
    at = calls.index(call)
    file = call.line.split(",")[0]
    amid = [near.kind == "write" and near.line.split(",")[0] == file for near in calls[max(0, at - 1) : at + 2]]
    return is_log(call) or ".data.new" in call.line or (len(amid) == 3 and all(amid))


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
    """Kill a training in its second save, resume it, and kill it at its `nth` change; False if there are fewer."""
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


ERRORS = {"ENOSPC": "No space left on device", "EIO": "Input/output error", "EDQUOT": "Disk quota exceeded"}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_disk_that_fails_once_stops_no_training(
    training: Training, calls: list[Call], part: int, tmp_path: Path
) -> None:
    """The disk is full, broken or out of quota, once in each kind of save: early, late, best.json, the average."""
    places = (".step-00000002", ".step-00000004", ".best.json", ".average", "config.json")
    chosen = [n for n, call in enumerate(calls) if any(place in call.line for place in places)]
    fails_at(training, calls, [n for n in chosen if not is_minor(calls[n], calls)][part::PARTS], tmp_path)


def test_a_checkpoint_whose_deletion_fails_once_is_not_left_half_deleted(
    training: Training, calls: list[Call], tmp_path: Path
) -> None:
    away = [n for n, call in enumerate(calls) if call.kind == "rename" and ".deleted" in call.line]
    assert {calls[n + 1].kind for n in away} == {"fsync"}
    fails_at(training, calls, [n + 1 for n in away], tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_disk_that_fails_once_anywhere_stops_no_training(
    training: Training, calls: list[Call], tmp_path: Path
) -> None:
    fails_at(training, calls, list(range(len(calls))), tmp_path)


def fails_at(training: Training, calls: list[Call], numbers: list[int], folder: Path) -> None:
    run = folder / "run"
    begun = next(n for n, call in enumerate(calls) if is_log(call))
    for n in numbers:
        call, (name, text) = calls[n], list(ERRORS.items())[n % 3]
        if call.kind not in ("openat", "write", "fsync", "rename", "mkdir"):
            continue
        ended = failing_at(call, name, training, run, folder / "log")
        here = f"{name} at {call}\n{ended.said}"
        assert "Traceback" not in ended.said, here
        if n <= begun and not is_of_no_effect(call):  # not started: it says so, and can be tried again
            assert ended.code == 1 and text in ended.said, here
            ended = training.go_on(run)
        assert ended.code == 0, here
        training.assert_finished(run)
        assert list(folder.glob(".*")) == []
        shutil.rmtree(run)


def is_of_no_effect(call: Call) -> bool:
    """Return whether the call creates a folder that exists already: its error changes nothing."""
    return call.kind == "mkdir" and "= -1 EEXIST" in call.line


def failing_at(call: Call, error: str, training: Training, run: Path, log: Path) -> Ended:
    """Make one call fail, and check by its path that it is the right one: calls are found by their number."""
    ended = under_strace(training.start(run, held=True), log, *inject(call, f"error={error}"))
    hit = next((line for line in log.read_text().splitlines() if "INJECTED" in line), None)
    is_meant = hit is not None and place_in_run(hit) == place_in_run(call.line)
    assert is_meant, f"{error} at {call}, but hit: {hit}\n{ended.said}"
    return ended


def place_in_run(line: str) -> str | None:
    """Return the first file or folder of the run that a line of strace names."""
    found = re.search(r'/(\.?run\b[^">]*)', line)
    return found and found[1]


@pytest.mark.parametrize("kind", ["mkdir", "fsync", "rename"])
def test_a_disk_that_fails_for_a_while_stops_no_training(
    training: Training, calls: list[Call], kind: str, tmp_path: Path
) -> None:
    """Longer than the quick retries: training continues without step 4 and warns; nothing else is lost."""
    run = tmp_path / "run"
    first = find(calls, kind, ".step-00000004.new")
    effect = inject(first, "error=ENOSPC", times=4)
    ended = under_strace(training.start(run, held=True), tmp_path / "log", *effect)
    assert (tmp_path / "log").read_text().count("INJECTED") == 4
    assert ended.code == 0, ended.said
    assert "warning: could not save step 4: No space left on device; training continues" in ended.said
    assert hidden_files(run) == []
    last, best = "checkpoints/step-00000006", "best.json"
    for name in (*(f"{last}/{file.name}" for file in (training.whole / last).iterdir()), best):
        assert (run / name).read_bytes() == (training.whole / name).read_bytes(), name
    assert (run / "checkpoints" / "step-00000002").is_dir()  # the average needs two


@pytest.mark.parametrize("name", ["model", "optimizer"])
def test_a_write_that_lies_is_found_out(training: Training, calls: list[Call], name: str, tmp_path: Path) -> None:
    """The system claims to have written, but has not. A checkpoint is read back before an older one is deleted."""
    run = tmp_path / "run"
    lie = find(calls, "write", f".step-00000004.new/{name}.safetensors")
    written = re.search(r"= (\d+)$", lie.line)
    assert written is not None
    effect = inject(lie, f"retval={written[1]}")
    ended = under_strace(training.start(run, held=True), tmp_path / "log", *effect)
    (hit,) = [line for line in (tmp_path / "log").read_text().splitlines() if "INJECTED" in line]
    assert f".step-00000004.new/{name}.safetensors" in hit
    assert ended.code == 0, ended.said
    training.assert_finished(run)


# --- processes of their own --------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", [29])
def test_killed_in_a_process_of_its_own(training: Training, strace: None, nth: int, tmp_path: Path) -> None:
    """Run the command under strace from its first instruction, and kill it at the nth flush."""
    assert killed_at_flush(training, nth, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_at_every_flush_in_a_process_of_its_own(training: Training, strace: None, tmp_path: Path) -> None:
    n = 0
    while killed_at_flush(training, n + 1, tmp_path / f"run-{n}"):
        n += 1
    assert n >= 30


def killed_at_flush(training: Training, nth: int, run: Path) -> bool:
    """Kill the training at its nth flush; False if it ended before."""
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
