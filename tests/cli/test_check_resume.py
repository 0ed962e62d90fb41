"""`heed check-resume`, with real trainings and real kills."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from heed.lock import FolderLock
from tests.cli.conftest import COMMAND, ENVIRONMENT, TINY_SETTINGS, heed, started

OWN = {"train.max_steps", "train.save_every", "train.validate_every", "train.log_every"}  # chosen by the command
SETTINGS = [word for key, value in TINY_SETTINGS.items() if key not in OWN for word in ("--set", f"{key}={value}")]


def test_identical_after_kills(train_arguments: list[object], tmp_path: Path) -> None:
    folder = tmp_path / "check"
    more = ["--set", "train.save_every=7"]  # the user's setting wins
    kills = ["--steps", 20, "--kills", 2, "--seed", 2]
    words = [*train_arguments[1:], *SETTINGS, *more, *kills, "--folder", folder, "--json"]
    done = heed("check-resume", *words)
    assert done.code == 0, done.out + done.err
    found = json.loads(done.out)
    assert found["identical"] is True and found["differing"] == [] and found["steps"] == 20
    assert len(found["kills"]) == 2
    assert [f"kill {n}: {kill['phase']}" for n, kill in enumerate(found["kills"], 1)] == [
        line for line in done.err.splitlines() if line.startswith("kill ")
    ]
    assert found["folder"] == str(folder)
    assert json.loads((folder / "broken" / "config.json").read_text())["train"]["save_every"] == 7
    # An independent tool computes the same checksums.
    last = "checkpoints/step-00000020"
    assert found["sha256"].keys() >= {f"{last}/model.safetensors", f"{last}/optimizer.safetensors"}
    for name, digest in found["sha256"].items():
        for run in ("straight", "broken"):
            listed = subprocess.run(["sha256sum", folder / run / name], capture_output=True, text=True, check=True)
            assert listed.stdout.split()[0] == digest
    # The second run really was killed: its events show the resumes.
    events = [json.loads(line) for line in (folder / "broken" / "events.jsonl").read_text().splitlines()]
    starts = [event for event in events if event["event"] == "start"]
    assert len(starts) >= 2
    assert len([1 for event in events if event["event"] == "end"]) == 1


SABOTAGE = """
import sys
if any(word.endswith("/broken") for word in sys.argv):
    import torch
    right = torch.manual_seed
    torch.manual_seed = lambda seed: right(seed + 1)
"""


def test_a_resume_that_diverges_is_detected(train_arguments: list[object], tmp_path: Path) -> None:
    """The second run is sabotaged: its dropout differs."""
    (tmp_path / "sitecustomize.py").write_text(SABOTAGE, encoding="utf-8")
    words = [*train_arguments[1:], *SETTINGS, "--steps", 4, "--kills", 1, "--folder", tmp_path / "check"]
    path = os.pathsep.join([str(tmp_path), *filter(None, [ENVIRONMENT.get("PYTHONPATH")])])
    done = subprocess.run(
        [COMMAND, "check-resume", *map(str, words)],
        env={**ENVIRONMENT, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("NOT identical after 4 steps and 1 kill. ")
    assert "  checkpoints/step-00000004/model.safetensors" in lines


@pytest.mark.slow
def test_without_data_it_uses_the_built_in_corpus_and_leaves_no_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [COMMAND, "check-resume", "--steps", "4", "--kills", "1", *SETTINGS, "--set", "text.vocab_size=500"],
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "identical, byte for byte, after 4 steps and 1 kill:"
    assert "  checkpoints/step-00000004/model.safetensors" in lines
    assert list(tmp_path.glob("heed*")) == []


def test_ctrl_c_leaves_no_process_behind(train_arguments: list[object], tmp_path: Path) -> None:
    words = [*train_arguments[1:], *SETTINGS, "--steps", 100000, "--folder", tmp_path / "check"]
    events = tmp_path / "check" / "straight" / "events.jsonl"
    with started("check-resume", *words) as process:
        while not events.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().splitlines()[-1] == "heed check-resume: stopped"
    told = events.read_bytes()
    time.sleep(0.5)
    assert events.read_bytes() == told


def test_the_training_dies_with_its_parent(train_arguments: list[object], tmp_path: Path) -> None:
    words = [*train_arguments[1:], *SETTINGS, "--steps", 100000, "--folder", tmp_path / "check"]
    process = started("check-resume", *words)
    run = tmp_path / "check" / "straight"
    while not (run / "events.jsonl").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    pid = json.loads((run / "lock").read_text())["pid"]
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    try:
        while FolderLock.is_held(run):
            assert time.monotonic() < deadline, "the training still runs"
            time.sleep(0.05)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--steps", "1"], 2, "--steps 1: must be at least 2"),
        (["--kills", "0"], 2, "--kills 0: must be at least 1"),
        (["--folder", "{here}"], 2, "--folder {here}: exists already; name a new one"),
        (["--source", "{here}/absent", "--target", "{here}/absent"], 1, "absent: no such file"),
        (["--set", "train.stepps=5"], 1, 'unknown key "train.stepps"'),
    ],
)
def test_invalid_options_are_refused(words: list[str], code: int, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = heed("check-resume", *(word.format(here=tmp_path) for word in words))
    assert done.code == code
    assert complaint.format(here=tmp_path) in done.err
    assert "Traceback" not in done.err
    assert done.out == ""
