"""`heed inspect`: pages, figures and data, and what it refuses."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Trained, heed


def test_a_page_is_written_whole(trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = heed("inspect", "a b c", "--model", trained.path, "--out", out)
    assert done.code == 0 and done.out == "" and f"{out}: " in done.err
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and text.endswith("</html>\n")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["page.html"]
    assert '"names":{"encoder":[["' in text  # the run's validation text gave the heads names


def test_json_and_npz_and_a_page_at_once(trained: Trained, tmp_path: Path) -> None:
    page, archive = tmp_path / "page.html", tmp_path / "inside.npz"
    done = heed("inspect", "a b c", "--model", trained.path, "--json", "--npz", archive, "--out", page, "--beam", 2)
    assert done.code == 0, done.err
    (line,) = done.lines
    told = json.loads(line)
    assert told["source"]["text"] == "a b c" and told["beam"]["beam"] == 2
    with np.load(archive, allow_pickle=False) as arrays:
        np.testing.assert_allclose(arrays["attention.cross"], told["arrays"]["attention.cross"], atol=1e-6)
        assert "walk.encoder.0.ff.inner" in arrays
    assert page.exists()


@pytest.mark.parametrize("view", ["attention", "figure4"])
def test_a_figure_is_drawn(trained: Trained, tmp_path: Path, view: str) -> None:
    out = tmp_path / "figure.svg"
    done = heed(
        "inspect", "a b c", "--model", trained.path, "--svg", view, "--kind", "encoder", "--word", "b", "--out", out
    )
    assert done.code == 0, done.err
    assert ElementTree.parse(out).getroot().attrib["width"]


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--json"], 1, "the text is blank"),
        (["a b " * 100, "--json"], 1, "the model's limit is 60 (model.max_length)"),
        (["a"], 2, "nothing to write; give --out page.html, --json or --npz FILE"),
        (["a", "--svg", "beam"], 2, "--svg beam needs a file to draw into; give --out figure.svg"),
        (["a", "--svg", "tree", "--out", "x.svg"], 2, "invalid choice: 'tree'"),
        (["a", "--layer", "2", "--out", "x.html"], 2, "--layer goes with --svg"),
        (["a", "--out", "x.html", "--npz", "./x.html"], 2, "--out and --npz are both x.html"),
        (["a", "--limit-mb", "0", "--out", "x.html"], 2, "--limit-mb must be above 0, not 0"),
        (
            ["a", "--svg", "attention", "--layer", "5", "--out", "x.svg"],
            2,
            "--layer 5: the encoder-decoder attention has",
        ),
        (["a", "--beam", "0", "--json"], 2, "--beam must be from 1"),
        (["a", "--out", "no/folder/x.html"], 1, "the folder no/folder does not exist"),
        (["a", "--npz", "no/folder/x.npz"], 1, "the folder no/folder does not exist"),
        (["a", "--roles-from", "none.en", "none.de", "--json"], 1, "none.en"),
    ],
)
def test_bad_input_is_refused(trained: Trained, tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    if arguments[0].startswith("--"):
        arguments = ["", *arguments]
    done = heed("inspect", *arguments, "--model", trained.path)
    assert done.code == code and message in done.err, done.err
    assert "Traceback" not in done.err and not Path("x.html").exists() and not Path("x.svg").exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    done = heed("inspect", "a", "--model", tmp_path, "--json")
    assert done.code == 1 and f"{tmp_path}: not a run folder" in done.err


def test_samples_of_different_lengths_are_refused(trained: Trained, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    done = heed("inspect", "a", "--model", trained.path, "--json", "--roles-from", tmp_path / "s", tmp_path / "t")
    assert done.code == 1 and "has 2 lines" in done.err and "has 1" in done.err
