"""Check that bad input is reported once, and that no process waits for one that has exited."""

from pathlib import Path

import pytest
import torch

from tests.cli.conftest import write_lines
from tests.distributed.conftest import SHARDED, Ended, Torchrun, Training, texts


def assert_said_once(ended: Ended, message: str) -> None:
    said = "".join(ended.said)
    assert said.count(message) == 1, ended.said
    assert 0 not in ended.codes and "Traceback" not in said


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "train.sharde=true"], 'unknown key "train.sharde"; did you mean "train.sharded"?'),
        (["--set", "train.precision=float16"], "train.precision"),
        (["--source", "nowhere"], "nowhere: no such file"),
        (["--valid-source", "nowhere"], "nowhere: no such file"),
    ],
)
def test_wrong_settings_and_files(training: Training, tmp_path: Path, more: list[str], message: str) -> None:
    assert_said_once(training.start(2, tmp_path / "run", *more).wait(30), message)


def test_a_folder_that_exists(training: Training, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    assert_said_once(training.start(2, tmp_path / "run").wait(30), "run: already exists")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine"]


def test_texts_of_unequal_length(training: Training, tmp_path: Path) -> None:
    for name, n in (("train.src", 5), ("train.tgt", 4)):
        write_lines(tmp_path / name, ["a b"] * n)
    ended = training.start(2, tmp_path / "run", *texts(tmp_path, "train")).wait(30)
    assert_said_once(ended, "train.src has 5 lines")
    assert not (tmp_path / "run").exists()


def test_nothing_to_resume(training: Training, tmp_path: Path) -> None:
    ended = training.server.start(2, "train", "--resume", tmp_path / "none").wait(30)
    assert_said_once(ended, "none: no such run folder")


def test_fewer_steps_than_made(training: Training, tmp_path: Path) -> None:
    run = training.train(2, tmp_path / "run", "--set", "train.max_steps=4")
    ended = training.server.start(2, "train", "--resume", run, "--set", "train.max_steps=3").wait(30)
    assert_said_once(ended, "train.max_steps = 3, but")


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
def test_every_checkpoint_damaged(training: Training, tmp_path: Path, kind: list[str]) -> None:
    """Only the first process checks it; the others must not wait for it."""
    run = training.train(2, tmp_path / "run", *kind, "--set", "train.max_steps=2")
    (run / "checkpoints" / "step-00000002" / "model.safetensors").write_bytes(b"")
    ended = training.server.start(2, "train", "--resume", run, "--set", "train.max_steps=3").wait(30)
    assert_said_once(ended, "no checkpoint is intact")


def test_a_run_folder_the_other_host_does_not_see(training: Training, tmp_path: Path) -> None:
    """Only that process knows the reason, so it must report it; the first would only see a lost connection."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    each = [{"HEED_TEST_FOLDER": str(tmp_path / name)} for name in ("here", "there")]
    ended = training.start(2, Path("run"), each=each).wait(30)
    assert 0 not in ended.codes
    assert "run: no such run folder" in "".join(ended.said), ended.said
    assert "Traceback" not in "".join(ended.said)


@pytest.mark.usefixtures("sixteen_bits")
def test_bfloat16_that_fails_on_one_of_the_hosts(training: Training, tmp_path: Path) -> None:
    """Every process tries it on its own machine: here, each Python that the second one starts dies of SIGILL."""
    has = torch.cpu.get_capabilities()
    if not (has.get("avx512_bf16") or has.get("amx_bf16")):
        pytest.skip("needs a processor with bfloat16 products")
    (tmp_path / "sitecustomize.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)\n")
    # What the first one has learnt about its machine, the second one must not find.
    each = [{}, {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}]
    ended = training.start(2, tmp_path / "run", "--set", "train.precision=bfloat16", each=each).wait(60)
    assert_said_once(ended, "a trial product died of SIGILL")
    assert "process 1 on " in "".join(ended.said)
    assert not (tmp_path / "run").exists()


def test_torchrun_ends_with_an_error(training: Training, torchrun, tmp_path: Path) -> None:
    started: Torchrun = torchrun(2, *training.arguments, "--set", "train.sharde=true", "--out", tmp_path / "run")
    assert started.wait(60) == 1  # torchrun's own code for a failed process
    assert started.living() == []
    said = [line for line in started.said().splitlines() if line.startswith("heed train")]
    assert said == ['heed train: --set: unknown key "train.sharde"; did you mean "train.sharded"?']
