"""`heed split`: its output."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, ENVIRONMENT, heed, letters, write_lines


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "all.src", letters(3, 200))
    write_lines(tmp_path / "all.tgt", letters(4, 200))
    return tmp_path


def test_the_command_it_names_trains_on_what_it_wrote(folder: Path) -> None:
    sizes = ["--valid", "10", "--test", "20", "--out", "data"]
    done = subprocess.run(
        [COMMAND, "split", "--source", "all.src", "--target", "all.tgt", *sizes],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "         170  data/train.src and data/train.tgt\n" in done.stdout
    assert "          10  data/valid.src and data/valid.tgt\n" in done.stdout
    command = done.stdout.split("next:\n", 1)[1].replace("\\\n", " ").split()
    assert (
        command
        == (
            "heed train --source data/train.src --target data/train.tgt --valid-source data/valid.src "
            "--valid-target data/valid.tgt --preset quick --out runs/x"
        ).split()
    )
    small = "train.max_steps=1 model.d_model=16 model.d_ff=16 model.h=2".split()
    settings = [word for setting in small for word in ("--set", setting)]
    trained = subprocess.run(
        [COMMAND, *command[1:], *settings],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
    )
    assert trained.returncode == 0, trained.stderr
    assert "warning" not in trained.stderr  # no pair of the validation text is trained on


def test_json(folder: Path) -> None:
    files = ["--source", folder / "all.src", "--target", folder / "all.tgt"]
    done = heed("split", *files, "--valid", 10, "--test", 0, "--seed", 9, "--json", "--out", folder / "data")
    said = json.loads(done.out)
    assert said["seed"] == 9 and said["parts"].keys() == {"train", "valid"}
    assert said["parts"]["valid"] == {
        "lines": 10,
        "source": str(folder / "data" / "valid.src"),
        "target": str(folder / "data" / "valid.tgt"),
    }


def test_exit_codes(folder: Path) -> None:
    files = ["--source", folder / "all.src", "--target", folder / "all.tgt"]
    few = heed("split", *files, "--out", folder / "data")
    assert few.code == 1 and "200 pairs" in few.err and "--valid 500 --test 500" in few.err
    taken = heed("split", *files, "--valid", 10, "--test", 10, "--out", folder)
    assert taken.code == 2 and "not empty" in taken.err
    assert heed("split", *files, "--valid", -1, "--out", folder / "data").code == 2
