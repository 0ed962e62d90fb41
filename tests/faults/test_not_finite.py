"""Make losses non-finite."""

import math
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch

from heed.checkpoint import read_manifest, read_tensors, write_checkpoint
from tests.cli.conftest import letters, write_lines
from tests.faults.conftest import Training, arguments, assert_same_run, events_of


def poison(path: Path, name: str, row: int | slice) -> None:
    """Write a NaN into the weights of a checkpoint, and change nothing else."""
    manifest = read_manifest(path)
    tensors = {Path(file).stem: read_tensors(path, Path(file).stem) for file in manifest["sha256"]}
    tensors["model"][name][row] = math.nan
    info = {key: value for key, value in manifest.items() if key not in ("format", "sha256")}
    write_checkpoint(path, tensors, info)


def test_all_losses_not_finite_stop_the_training_and_harm_nothing(training: Training, tmp_path: Path) -> None:
    run = training.copy(tmp_path / "run")
    shutil.rmtree(run / "checkpoints" / "step-00000006")
    poison(run / "checkpoints" / "step-00000004", "embedding.weight", slice(None))
    before = {path: path.read_bytes() for path in (run / "checkpoints").rglob("*.safetensors")}
    ended = training.resume(run, "--set", "train.max_steps=20")
    assert ended.code == 1, ended.said
    assert "Traceback" not in ended.said
    skipped = [event for event in events_of(run) if event["event"] == "skipped"]
    assert [event["step"] for event in skipped] == [5, 6, 7, 8][: len(skipped)] and len(skipped) >= 3
    n_lines = 120
    assert all(event["lines"] and all(1 <= line <= n_lines for line in event["lines"]) for event in skipped)
    assert {path: path.read_bytes() for path in before} == before


def test_a_learning_rate_that_overflows_stops_with_the_lines(training: Training, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = training.train(run, "--set", "train.learning_rate_factor=1e38", "--set", "train.max_steps=40")
    assert ended.code == 1, ended.said
    assert "train.learning_rate_factor" in ended.said and "Traceback" not in ended.said
    assert [event for event in events_of(run) if event["event"] == "skipped"]
    for path in (run / "checkpoints").glob("step-*"):
        assert all(torch.isfinite(tensor).all() for tensor in read_tensors(path, "model").values()), path


def test_one_bad_batch_is_left_out_and_named(training: Training, corpus: Path, tmp_path: Path) -> None:
    """Only one sentence reaches the bad position; the others are trained on, with and without a resume."""
    own = tmp_path / "text"
    shutil.copytree(corpus, own)
    lines = letters(1, 120)
    lines[57] = " ".join("abcd" * 6)
    write_lines(own / "train.src", lines)
    write_lines(own / "train.tgt", [line[::-1] for line in lines])
    words = [*arguments(own), *training.arguments[len(arguments(own)) :], "--set", "model.positions=learned"]
    first = tmp_path / "first"
    assert training.warm.heed(*words, "--set", "train.max_steps=4", "--out", first).code == 0
    poison(first / "checkpoints" / "step-00000004", "source_positions.weight", 15)

    whole, paused = (shutil.copytree(first, tmp_path / name) for name in ("whole", "paused"))
    ended = training.resume(whole, "--set", "train.max_steps=20")
    assert ended.code == 0, ended.said
    process = training.warm.start("train", "--resume", paused, "--set", "train.max_steps=20")
    while "step 6/" not in process.said():
        time.sleep(0.002)
    process.send(signal.SIGTERM)
    assert process.wait().code == 130
    assert training.resume(paused).code == 0
    for run in (whole, paused):
        skipped = [event for event in events_of(run) if event["event"] == "skipped"]
        assert len(skipped) >= 4 and all(58 in event["lines"] for event in skipped)  # once per epoch
        steps = [event["step"] for event in skipped]
        assert len(steps) == len(set(steps)) < 16  # and the others are trained on
    line = next(line for line in ended.said.splitlines() if "not finite" in line)
    assert line.startswith("warning: ") and "58" in line
    assert_same_run(whole, paused)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_validation_of_weights_that_have_overflowed_ends_as_promised(
    training: Training, tmp_path: Path, beam: int
) -> None:
    """Validates after every step, so also between the blow-up and the skipped steps."""
    run = tmp_path / "run"
    changes = ["train.learning_rate_factor=1e30", "train.max_steps=40", "train.validate_every=1", f"decode.beam={beam}"]
    ended = training.train(run, *(word for change in changes for word in ("--set", change)))
    assert ended.code == 1, ended.said
    assert "Traceback" not in ended.said
    assert "the last 4 steps had a non-finite loss or gradient, more than train.skip_bad_batches = 3" in ended.said
    validations = [event for event in events_of(run) if event["event"] == "validation"]
    assert validations and all(event["perplexity"] is None and event["bleu"] == 0 for event in validations[-2:])


def test_a_training_that_ends_before_it_is_stopped_names_no_model_to_translate_with(
    training: Training, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    ended = training.train(run, "--set", "train.learning_rate_factor=1e30", "--set", "train.max_steps=3")
    assert ended.code == 1, ended.said
    assert "no validation had a finite perplexity" in ended.said and "train.learning_rate_factor" in ended.said
    assert not (run / "best.json").exists() and "Traceback" not in ended.said
