"""Folders without write permission: errors name the given path, not that of a hidden temporary file."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, ENVIRONMENT, Done

# Root may write anywhere, by a capability that can be dropped.
_RIGHTS = "-dac_override,-dac_read_search,-fowner"
_PLAIN = ["setpriv", f"--inh-caps={_RIGHTS}", f"--bounding-set={_RIGHTS}"] if os.geteuid() == 0 else []


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if _PLAIN and (
        shutil.which("setpriv") is None or subprocess.run([*_PLAIN, "true"], capture_output=True).returncode
    ):
        pytest.skip("root cannot give up its rights here (no setpriv)")
    folder = shutil.copytree(Path(__file__).parents[1] / "old_run", tmp_path / "home")
    everything = [folder, *folder.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield folder
    for path in everything:
        path.chmod(0o755)


def heed(folder: Path, *words: str, **environment: str) -> Done:
    command = [*_PLAIN, COMMAND, *words]
    done = subprocess.run(
        command, cwd=folder, input=b"a b\n", env={**ENVIRONMENT, **environment}, capture_output=True, timeout=120
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("options", [[], ["--engine", "torch"]], ids=["default", "torch"])
def test_translate(folder: Path, options: list[str]) -> None:
    """Translating writes nothing into a run folder."""
    done = heed(folder, "translate", "--model", "run", *options)
    assert (done.code, done.out, done.err) == (0, "a\n", "")


def test_prepare(folder: Path) -> None:
    words = ["--source", "text/train.src", "--target", "text/train.tgt", "--vocab-size", "270"]
    done = heed(folder, "prepare", *words, "--out", "new")
    assert done.code == 1
    assert done.err.splitlines()[-1] == "heed prepare: new: Permission denied"


def test_plot(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    done = heed(folder, "plot", "run", "--out", "x.png", MPLCONFIGDIR=str(folder / "none"))
    assert (done.code, done.err) == (1, "heed plot: x.png: Permission denied\n")
