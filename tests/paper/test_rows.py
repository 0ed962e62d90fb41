"""Rows of a table: each trained once, resumed where it stopped, and read back."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from heed.cli.experiments import stopping
from heed.errors import CheckpointError
from heed.paper.rows import Clock, RowPlan, RowProgress, finished, operations, session_seconds, steps_done, train_rows
from tests.paper.conftest import Texts


def plans(texts: Texts) -> list[RowPlan]:
    model = texts.config.model
    return [RowPlan("base", texts.config), RowPlan("wide", replace(texts.config, model=replace(model, d_ff=64)))]


def test_rows_are_trained_once_and_read_back(texts: Texts, tmp_path: Path) -> None:
    told: list[RowProgress] = []
    first = train_rows(plans(texts), tmp_path / "rows", told.append)
    assert [(one.name, one.step) for one in told] == [(name, i) for name in ("base", "wide") for i in range(1, 7)]
    assert [(one.number, one.n_rows, one.max_steps) for one in told[5:7]] == [(1, 2, 6), (2, 2, 6)]
    assert told[0].seconds_left is None and told[-1].seconds_left == 0
    assert all(one.seconds_left is not None and one.seconds_left > 0 for one in told[1:-1])

    again: list[RowProgress] = []
    assert train_rows(plans(texts), tmp_path / "rows", again.append) == first and again == []
    for name, found in zip(("base", "wide"), first, strict=True):
        events = [json.loads(line) for line in (tmp_path / "rows" / name / "events.jsonl").read_text().splitlines()]
        (last,) = (one for one in events if one["event"] == "validation" and one["step"] == 6)
        assert (found.perplexity, found.bleu, found.steps) == (last["perplexity"], last["bleu"], 6)
    # Each feed-forward layer gets 32 more inner numbers: a column, a bias and a row for each, in both stacks.
    assert first[1].parameters - first[0].parameters == 2 * 32 * (16 + 1 + 16)


def test_a_stop_is_saved_and_the_rest_follows(texts: Texts, tmp_path: Path) -> None:
    uninterrupted = train_rows(plans(texts), tmp_path / "other")

    def interrupt(progress: RowProgress) -> None:
        if (progress.name, progress.step) == ("wide", 3):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train_rows(plans(texts), tmp_path / "rows", interrupt)
    assert finished(tmp_path / "rows" / "base") is not None
    assert finished(tmp_path / "rows" / "wide") is None and steps_done(tmp_path / "rows" / "wide") == 3

    told: list[RowProgress] = []
    found = train_rows(plans(texts), tmp_path / "rows", told.append)
    assert [(one.name, one.step) for one in told] == [("wide", 4), ("wide", 5), ("wide", 6)]
    assert [(one.perplexity, one.bleu) for one in found] == [(one.perplexity, one.bleu) for one in uninterrupted]


def test_a_killed_row_resumes_from_its_newest_checkpoint(texts: Texts, tmp_path: Path) -> None:
    train_rows(plans(texts)[:1], tmp_path)
    # What a kill between steps 4 and 6 leaves: the checkpoint of step 4, and no end in the events.
    shutil.rmtree(tmp_path / "base" / "checkpoints" / "step-00000006")
    events = tmp_path / "base" / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if json.loads(line).get("step") == 6)
    events.write_text("".join(lines[:cut]) + lines[cut][:9])
    told: list[RowProgress] = []
    (found,) = train_rows(plans(texts)[:1], tmp_path, told.append)
    assert [one.step for one in told] == [5, 6] and found.steps == 6


KILLED = """
import json, os, signal, sys
from pathlib import Path
import torch
from heed.paper.rows import RowPlan, train_rows
from heed.settings import config_from_dict

def kill(progress):
    if (progress.name, progress.step) == ("wide", 5):
        os.kill(os.getpid(), signal.SIGKILL)

torch.set_num_threads(1)  # as in the tests
rows = [RowPlan(name, config_from_dict(config, name)) for name, config in json.loads(sys.argv[2]).items()]
train_rows(rows, Path(sys.argv[1]), kill)
"""


def test_a_process_killed_in_the_second_row(texts: Texts, tmp_path: Path) -> None:
    uninterrupted = train_rows(plans(texts), tmp_path / "other")
    configs = json.dumps({row.name: row.config.to_dict() for row in plans(texts)})
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "rows"), configs], capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    told: list[RowProgress] = []
    found = train_rows(plans(texts), tmp_path / "rows", told.append)
    assert [(one.name, one.step) for one in told] == [("wide", 5), ("wide", 6)]
    assert [(one.perplexity, one.bleu) for one in found] == [(one.perplexity, one.bleu) for one in uninterrupted]


def test_a_row_that_diverges_is_a_result_too(texts: Texts, tmp_path: Path) -> None:
    wild = replace(texts.config, train=replace(texts.config.train, learning_rate_factor=1e30, skip_bad_batches=0))
    rows = [RowPlan("wild", wild), *plans(texts)[:1]]
    first = train_rows(rows, tmp_path)
    assert (first[0].perplexity, first[0].bleu, first[1].steps) == (math.inf, 0.0, 6)
    assert json.loads(json.dumps(first[0].plain(), allow_nan=False))["perplexity"] is None
    told: list[RowProgress] = []
    assert train_rows(rows, tmp_path, told.append) == first and told == []


def test_other_settings_in_the_same_folder_are_refused(texts: Texts, tmp_path: Path) -> None:
    train_rows(plans(texts)[:1], tmp_path)
    other = RowPlan("base", replace(texts.config, train=replace(texts.config.train, label_smoothing=0.2)))
    with pytest.raises(CheckpointError, match=r"train\.label_smoothing was 0\.1 and is now 0\.2.*another --out"):
        train_rows([other], tmp_path)


def test_the_time_left_does_not_count_what_comes_before_a_rows_first_step() -> None:
    """Two rows of 3 steps, the second twice as slow; the text of each takes 100 seconds to prepare."""
    clock = Clock([5.0, 10.0], [3, 3])
    assert clock.step(1, 2, now=100.0) is None
    assert clock.step(1, 1, now=101.0) == pytest.approx(1 * 1 + 3 * 2)
    assert clock.step(1, 0, now=102.0) == pytest.approx(3 * 2)
    clock.end_row(1, now=104.0)  # its validation counts: two steps took 4 seconds
    assert clock.step(2, 2, now=204.0) == pytest.approx(2 * 2 * 2)
    assert clock.step(2, 1, now=208.0) == pytest.approx(1 * 2 * 2)
    assert clock.step(2, 0, now=212.0) == 0


def test_a_finished_row_leaves_no_time() -> None:
    clock = Clock([5.0, 10.0], [0, 2])
    clock.end_row(1, now=50.0)
    assert clock.step(2, 1, now=60.0) is None and clock.step(2, 0, now=61.0) == 0


def test_a_row_that_diverged_leaves_no_time() -> None:
    clock = Clock([5.0, 5.0], [9, 2])
    assert [clock.step(1, 8, now=0.0), clock.step(1, 7, now=1.0)] == [None, pytest.approx(7 + 2)]
    clock.end_row(1, now=1.0)
    assert clock.step(2, 1, now=50.0) == pytest.approx(1)


def test_operations_grow_with_the_batch(texts: Texts) -> None:
    twice = replace(texts.config, train=replace(texts.config.train, batch_tokens=600))
    assert operations(twice) == 2 * operations(texts.config)


def test_time_is_summed_over_sessions() -> None:
    """A pause between a kill and the next start does not count."""
    events = [("start", 10), ("step", 13), ("start", 100), ("step", 104), ("end", 105)]
    assert session_seconds([{"event": kind, "time": at} for kind, at in events]) == 3 + 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_an_experiment_is_told_that_nothing_is_lost(number: signal.Signals) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt, match="the same command continues"), stopping():
            os.kill(os.getpid(), number)
            time.sleep(10)
    finally:
        signal.signal(signal.SIGINT, before)
