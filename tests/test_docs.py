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


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.toml")), ids=lambda path: path.stem)
def test_every_config_is_valid(path):
    from heed.presets import preset
    from heed.settings import build_config, read_config

    settings = read_config(path)
    build_config(preset(settings["preset"]), (str(path), settings))


@pytest.mark.parametrize(
    ("name", "model", "text", "save_every"),
    [
        ("wmt14-en-de-base", {}, {}, 1_500),
        ("wmt14-en-de-big", {}, {}, 600),
        ("wmt14-en-fr-big", {"dropout": 0.1}, {"vocab_size": 32_000}, 600),
    ],
)
def test_the_configs_of_the_paper_are_its_presets_on_the_text_that_heed_gets(name, model, text, save_every):
    """All else that they spell out is what the preset says: the paper's training has no other settings."""
    from dataclasses import replace

    from heed.config import DataConfig
    from heed.datasets.catalogue import find
    from heed.presets import preset
    from heed.settings import build_config, read_config

    path = ROOT / "configs" / f"{name}.toml"
    settings = read_config(path)
    data_set, _, size = name.rpartition("-")
    expected = preset(size)
    files = {
        part.name: [f"{data_set}/{part.name}.{side}" for side in ("en", name[9:11])] for part in find(data_set).parts
    }
    expected = replace(
        expected,
        data=DataConfig(
            train_source=files["train"][0],
            train_target=files["train"][1],
            valid_source=files["newstest2013"][0],
            valid_target=files["newstest2013"][1],
        ),
        model=replace(expected.model, **model),
        text=replace(expected.text, **text),
        train=replace(expected.train, patience=0, save_every=save_every),
    )
    assert build_config(preset(settings["preset"]), (str(path), settings)) == expected
    assert f"heed data get {data_set} --out {data_set}\n" in path.read_text(encoding="utf-8")
    # The paper's own numbers, not by way of the preset.
    shape = {"base": (512, 2048, 8, 100_000, 5), "big": (1024, 4096, 16, 300_000, 20)}[size]
    train, decode = expected.train, expected.decode
    assert shape == (
        *(expected.model.d_model, expected.model.d_ff, expected.model.h),
        *(train.max_steps, train.average_last),
    )
    assert (train.batch_tokens, train.warmup_steps, train.label_smoothing) == (25_000, 4_000, 0.1)
    assert (decode.beam, decode.alpha, decode.extra_length) == (4, 0.6, 50)
