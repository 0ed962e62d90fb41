"""A calibrated run folder, and its held-out text."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Done, heed, letters, write_lines

OLD_RUN = Path(__file__).parent.parent / "old_run" / "run"  # reverses letters, and is often wrong


@dataclass(frozen=True)
class Calibrated:
    run: Path
    source: Path
    reference: Path
    plot: Path
    done: Done


@pytest.fixture(scope="session")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Calibrated:
    """Fit a confidence with the command. Some lines are blank."""
    folder = tmp_path_factory.mktemp("confidence")
    run = shutil.copytree(OLD_RUN, folder / "run")
    lines = [*letters(5, 700), "", "a b", ""]
    source = write_lines(folder / "held.src", lines)
    reference = write_lines(folder / "held.tgt", [*(line[::-1] for line in lines[:-3]), "a", "", ""])
    plot = folder / "reliability.svg"
    done = heed("confidence", "--model", run, "--source", source, "--reference", reference, "--plot", plot)
    assert done.code == 0, done.err
    return Calibrated(run, source, reference, plot, done)
