"""Torch is imported with the garbage collector paused, which is enabled again afterwards."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ENVIRONMENT

# Records every collection that happens while torch is being imported.
WATCHED = """
import gc, json, sys
from heed.cli.main import main

amid_import = []

def watch(phase, info):
    torch = sys.modules.get("torch")
    amid_import.append(torch is not None and torch.__spec__._initializing)

gc.callbacks.append(watch)
main(sys.argv[1:])
gc.callbacks.remove(watch)
json.dump([sum(amid_import), "torch" in sys.modules, gc.isenabled(), gc.get_freeze_count()], sys.stdout)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "--model", "none-here", "--engine", "torch"],  # an empty folder
        ["evaluate", "--model", "none-here", "--source", "none", "--reference", "none", "--engine", "torch"],
        ["train", "--resume", "none"],
        ["train", "--preset", "tiny", "--source", "none", "--target", "none", "--out", "run"],
        ["export", "--model", "none", "--to", "ctranslate2", "--out", "exported"],
        ["bench", "translate", "--model", "none"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_nothing_is_collected_while_torch_is_imported_but_is_again_afterwards(
    arguments: list[str], tmp_path: Path
) -> None:
    """Each command imports torch, then fails because its file or folder is missing."""
    (tmp_path / "none-here").mkdir()
    command = [sys.executable, "-c", WATCHED, *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True)
    assert "none" in done.stderr and "Traceback" not in done.stderr, done.stderr
    n_amid_import, has_torch, is_enabled, n_frozen = json.loads(done.stdout)
    assert has_torch and is_enabled
    assert n_amid_import == 0
    assert n_frozen > 100_000


@pytest.mark.parametrize("before", ["gc.enable()", "gc.disable()"])
def test_the_collector_is_left_as_it_was_found_if_torch_cannot_be_imported(before: str) -> None:
    script = f"""
import gc, sys
from heed.cli.startup import import_torch
from heed.errors import ConfigError
{before}
was = gc.isenabled()
sys.path.clear()
try:
    import_torch()
except ConfigError as error:
    print(str(error)[:24], gc.isenabled() == was)
"""
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout == "PyTorch is not installed True\n", done.stderr
