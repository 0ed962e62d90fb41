"""Delete, move or replace the run folder during training."""

import os
import shutil
from pathlib import Path

import pytest

from tests.faults.conftest import Process, Training, assert_same_run
from tests.faults.test_full_disk import wait_until_said

LONGER = ["--set", "train.max_steps=300", "--set", "train.save_every=20", "--set", "train.validate_every=150"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def process(training: Training, run: Path) -> Process:
    started = training.start(run, *LONGER)
    wait_until_said(started, "step 25/")
    return started


def test_deleted(process: Process, run: Path) -> None:
    """The training warns at once, does not create the folder again, and fails in the end."""
    shutil.rmtree(run, ignore_errors=True)  # a save may be under way
    shutil.rmtree(run, ignore_errors=True)
    wait_until_said(process, "the run folder is gone")
    ended = process.wait()
    assert ended.code == 1, ended.said
    assert "could not save step 40: the run folder is gone" in ended.said
    assert "has free space" not in ended.said and "done after" not in ended.said and "Traceback" not in ended.said
    last = ended.said.splitlines()[-1]
    assert last.startswith(f"heed train: {run}: the run folder is gone") and "step 300 could not be saved" in last
    assert "heed train --resume NEW_PATH" in last and "train again" in last
    assert not run.exists()


def test_moved_away_and_back(training: Training, process: Process, run: Path, tmp_path: Path) -> None:
    """Then nothing is lost."""
    os.rename(run, tmp_path / "elsewhere")
    wait_until_said(process, "the run folder is gone")
    os.rename(tmp_path / "elsewhere", run)
    ended = process.wait()
    assert ended.code == 0, ended.said
    assert training.train(tmp_path / "whole", *LONGER).code == 0
    assert_same_run(run, tmp_path / "whole")


def test_replaced_by_another_run(training: Training, process: Process, run: Path, tmp_path: Path) -> None:
    """The other run stays untouched."""
    shutil.copytree(training.whole, tmp_path / "other")
    os.rename(run, tmp_path / "elsewhere")
    os.rename(tmp_path / "other", run)
    ended = process.wait()
    assert ended.code == 1, ended.said
    assert "the run folder is gone: deleted, moved, or replaced by another" in ended.said
    assert_same_run(run, training.whole)
