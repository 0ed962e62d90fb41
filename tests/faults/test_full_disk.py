"""Fill a real file system."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Process, Training, assert_same_run

LONGER = ["--set", "train.max_steps=150", "--set", "train.save_every=10", "--set", "train.validate_every=75"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", path], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"may not mount a tmpfs here: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", path], check=True)


def fill(path: Path) -> None:
    """Fill it to the last byte."""
    with open(path, "ab", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                continue


def wait_until_said(process: Process, words: str) -> None:
    end = time.monotonic() + 60
    while words not in process.said():
        assert time.monotonic() < end, process.said()
        time.sleep(0.005)


def test_a_disk_that_fills_up_and_is_cleared(training: Training, small_disk: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    assert training.train(whole, *LONGER).code == 0
    run = small_disk / "run"
    process = training.start(run, *LONGER)
    wait_until_said(process, "step 12/150")
    before = {path.name for path in (run / "checkpoints").glob("step-*")}
    fill(small_disk / "filler")
    wait_until_said(process, "could not save step")
    assert before & {path.name for path in (run / "checkpoints").glob("step-*")}  # nothing was deleted to make space
    os.unlink(small_disk / "filler")
    ended = process.wait()
    assert ended.code == 0, ended.said
    assert "No space left on device" in ended.said and "training continues" in ended.said
    assert_same_run(run, whole)
    lines = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert (
        sum(not line.endswith("}") for line in lines) <= 1
    )  # truncated where the disk was full, and no other line with it
    assert '"event": "end"' in lines[-1]


def test_a_disk_that_stays_full_until_the_end(training: Training, small_disk: Path, tmp_path: Path) -> None:
    """The last checkpoint waits for space; on a stop request, the message says what is saved and what is not."""
    run = small_disk / "run"
    process = training.start(run)
    wait_until_said(process, "step 3/6")
    fill(small_disk / "filler")
    wait_until_said(process, "could not save step 6")
    process.send(signal.SIGTERM)
    ended = process.wait()
    assert ended.code not in (0, -signal.SIGTERM), ended.said
    assert "stopped and saved" not in ended.said and "Traceback" not in ended.said
    assert "could not be saved" in ended.said
    os.unlink(small_disk / "filler")
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    training.assert_finished(run)


def test_no_room_even_to_begin(training: Training, small_disk: Path) -> None:
    fill(small_disk / "filler")
    run = small_disk / "run"
    ended = training.train(run)
    assert ended.code == 1
    assert "No space left on device" in ended.said and str(run) in ended.said and "Traceback" not in ended.said
    os.unlink(small_disk / "filler")
    ended = training.train(run)  # nothing prevents another attempt
    assert ended.code == 0, ended.said
    training.assert_finished(run)
    shutil.rmtree(run)
