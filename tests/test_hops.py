"""Count the calls from the command to the decoder, and compare with ARCHITECTURE.md."""

import re
import subprocess
import sys
from pathlib import Path

import heed
from tests.cli.conftest import ENVIRONMENT

COUNTED = """
import sys
import torch
from heed.cli.main import main
from heed.model.transformer import Transformer

torch.set_num_threads(1)  # all in this thread
found = []

def on_call(frame, event, arg):
    if event == "call" and frame.f_code is Transformer.decode.__code__ and not found:
        while frame.f_code is not main.__code__:
            if frame.f_globals["__name__"].startswith("heed"):
                found.append(frame.f_code.co_qualname)
            frame = frame.f_back

sys.setprofile(on_call)
code = main(sys.argv[1:])
sys.setprofile(None)
print(code, *reversed(found))
"""


def test_the_number_of_calls_is_the_one_that_the_map_states(tmp_path: Path) -> None:
    run = Path(__file__).parent / "old_run" / "run"
    (tmp_path / "in").write_text("a b c\n", encoding="utf-8")
    arguments = ["translate", "--model", run, "--input", tmp_path / "in", "--output", tmp_path / "out"]
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *map(str, arguments)],
        env={**ENVIRONMENT, "HEED_KERNELS": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    code, *calls = done.stdout.split()
    assert code == "0" and calls[-1] == "Transformer.decode"
    page = (Path(heed.__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    stated = re.search(r"there are (\d+) calls", page)
    assert stated is not None
    assert len(calls) <= int(stated[1]) <= 8, calls
    for call in calls:
        assert f"`{call}`" in page, f"ARCHITECTURE.md does not name {call}"
