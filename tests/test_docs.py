"""Check that generated documents are up to date, and that files named in documents exist."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "bench").rglob("*.md")])


def test_config_reference_is_up_to_date():
    render = runpy.run_path(str(ROOT / "docs" / "generate.py"))["render"]
    assert (ROOT / "docs" / "config.md").read_text(encoding="utf-8") == render(), "run `make docs`"


def anchors(path):
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8")):
        page = path.parent / target if target else path
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_named_in_the_text_exist(path):
    """Paths such as `src/heed/...`, `tests/...` and `bench/...`."""
    for name in re.findall(r"`((?:src|tests|bench|configs|docs)/[\w./-]+)`", path.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), name


def test_the_example_config_is_valid_and_complete():
    from heed.config import preset
    from heed.settings import build_config, read_config

    path = ROOT / "configs" / "multi30k-tiny.toml"
    settings = read_config(path)
    build_config(preset(settings["preset"]), (str(path), settings))
