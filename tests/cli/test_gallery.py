"""The gallery of `make gallery`: an index, and the pages that it names."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from heed.box import DEFAULT, names
from heed.demo.grammar import TYPED_BY_PEOPLE
from tests.cli.conftest import ENVIRONMENT, Trained

SCRIPT = Path(__file__).parents[2] / "docs" / "gallery.py"


def gallery(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)


def test_the_index_leads_to_a_page_for_each_sentence(trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "gallery"
    done = gallery("--model", trained.path, "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out / 'index.html'}\n"
    index = (out / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'<a href="(demo-\d+\.html)"><bdi>(.*?)</bdi>', index)
    left_out = re.findall(r"without “(.*?)”: the text has", done.stderr)  # too long for this small model
    assert [html.unescape(text) for _, text in named] == [
        pair.source for pair in TYPED_BY_PEOPLE if pair.source not in left_out
    ]
    assert len(named) >= 3
    for file, text in named:
        page = (out / file).read_text(encoding="utf-8")
        assert f"<title>{text} – heed</title>" in page and "The demo's model" in html.unescape(page)
    assert "http" not in index.replace("</html>", "")  # nothing is fetched


@pytest.mark.skipif(DEFAULT not in names(), reason="no model in the box")
def test_the_model_in_the_box_is_enough(tmp_path: Path) -> None:
    out = tmp_path / "gallery"
    done = gallery("--model", tmp_path / "none", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "without the demo's model" in done.stderr and "make demo trains it" in done.stderr
    index = (out / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'<a href="(heed-\d+\.html)"><bdi>(.*?)</bdi></a><br><small><bdi>(.*?)</bdi>', index)
    assert [text for _, text, _ in named][:1] == ["A man is riding a bike."] and len(named) == 4
    for file, _, translation in named:
        page = (out / file).read_text(encoding="utf-8")
        assert html.unescape(translation) in page and len(page) < 5e6 and '"sample":"sentences of heed demo"' in page


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    done = gallery("--model", tmp_path, "--out", tmp_path / "gallery")
    assert done.returncode == 1 and f"{tmp_path}: not a run folder" in done.stderr
    assert "Traceback" not in done.stderr
