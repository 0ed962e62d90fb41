"""Use a run folder of version 0.1.0 (format 2: config.json and best.json without checksums), kept in tests/old_run.

The run finished 300 steps on letters and their reversal, with relative paths. Expected translations are those of 0.1.0.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import heed
from heed.durable import read_json
from heed.follow.runs import state_of
from heed.run import RunFolder
from tests.cli.conftest import COMMAND, ENVIRONMENT

FOLDER = Path(__file__).parent / "old_run"
# heed translate --model run --scores, with one thread
TRANSLATED = {"a b c": ("c a", -1.3164), "d d a": ("d a", -1.8075), "": ("", 0.0), "b a": ("a", -1.4645)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Copy the folder it was trained in: the texts, and the run."""
    shutil.copytree(FOLDER / "text", tmp_path / "home")
    shutil.copytree(FOLDER / "run", tmp_path / "home" / "run")
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "home"


def command(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *map(str, words)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )


def test_it_is_of_the_old_form() -> None:
    for name in ("config.json", "best.json"):
        assert "checksum" not in json.loads((FOLDER / "run" / name).read_bytes())
    (manifest,) = (FOLDER / "run" / "checkpoints").glob("*/manifest.json")
    assert json.loads(manifest.read_bytes())["format"] == 2


def test_it_translates_as_it_did(folder: Path) -> None:
    found = heed.load(folder / "run").translate(list(TRANSLATED))
    assert [one.text for one in found] == [text for text, _ in TRANSLATED.values()]
    assert [one.score for one in found] == pytest.approx([score for _, score in TRANSLATED.values()], abs=1e-4)


def test_it_goes_on(folder: Path) -> None:
    """New files have the new format."""
    done = command(folder, "train", "--resume", "run", "--set", "train.max_steps=310")
    assert done.returncode == 0, done.stderr
    assert "resuming at step 300" in done.stderr
    assert "drew dropout masks differently" in done.stderr
    run = RunFolder.open(folder / "run")
    assert run.steps()[-1] == 310
    for name in ("config.json", "best.json"):
        assert "checksum" in json.loads((run.path / name).read_bytes())
    assert json.loads((run.step_path(310) / "manifest.json").read_bytes())["format"] == 3
    assert read_json(run.path / "config.json")["train"]["max_steps"] == 310


def test_it_goes_by_bleu_though_its_lines_are_short(folder: Path) -> None:
    """Version 0.1.0 had no train.metric."""
    best = json.loads((FOLDER / "run" / "best.json").read_bytes())
    assert RunFolder.open(folder / "run").config.train.metric == "bleu"
    state = state_of(folder / "run")
    assert (state.state, state.metric, state.best) == ("finished", "bleu", best["bleu"])


def test_with_best_json_lost_its_scores_come_back_from_the_checkpoint(folder: Path) -> None:
    before = json.loads((FOLDER / "run" / "best.json").read_bytes())
    (folder / "run" / "best.json").unlink()
    shutil.rmtree(folder / "run" / "data")  # encoded again from the text
    assert command(folder, "train", "--resume", "run").returncode == 0
    best = json.loads((folder / "run" / "best.json").read_bytes())
    assert {key: best[key] for key in before} == before


# --- from another folder, where its relative names lead nowhere ----------------------------------------------


def test_resumed_from_elsewhere_it_says_whose_name_that_is(folder: Path) -> None:
    done = command(folder.parent / "elsewhere", "train", "--resume", "../home/run", "--set", "train.max_steps=310")
    assert done.returncode == 1
    assert "../home/run/config.json: data.valid_source = 'valid.src': no such file here" in done.stderr
    assert "change to the folder the run was started in" in done.stderr and "Traceback" not in done.stderr


def test_an_ended_run_has_no_need_of_its_text(folder: Path) -> None:
    done = command(folder.parent / "elsewhere", "train", "--resume", "../home/run")
    assert done.returncode == 0, done.stderr
    assert "already finished at step 300: nothing to do" in done.stderr
    assert "data.valid_source" in done.stderr
