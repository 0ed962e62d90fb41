"""Figures: real XML, with as many lines, cells and words as there are weights to draw."""

import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heed.errors import ConfigError
from heed.inside.inspection import Inspection
from heed.inside.svg import _VIEWS, Choice, draw
from heed.text.tokenizer import Tokenizer
from tests.inside.conftest import SAMPLE, small_translator

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SVG = "{http://www.w3.org/2000/svg}"


def texts(figure: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure).iter(f"{SVG}text")]


@pytest.mark.parametrize("view", _VIEWS)
def test_every_view_is_a_figure(inspection: Inspection, view: str) -> None:
    root = ElementTree.fromstring(draw(inspection, view, Choice()))
    assert root.tag == f"{SVG}svg"
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        if rect.attrib["width"] != "100%":
            assert -1 <= float(rect.attrib["x"]) and float(rect.attrib["x"]) + float(rect.attrib["width"]) <= width + 1
            assert float(rect.attrib["y"]) <= height


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_lines_are_the_weights(one: Inspection, kind: str) -> None:
    figure = draw(one, "attention", Choice(kind=kind, layer=1, heads=[2], whole_words=False))  # type: ignore[arg-type]
    lines = list(ElementTree.fromstring(figure).iter(f"{SVG}line"))
    weights = one.attention[kind][0, 1]  # type: ignore[index]
    drawn = np.array([float(line.attrib["stroke-opacity"]) for line in lines])
    np.testing.assert_allclose(drawn, weights[weights >= 0.02], atol=6e-4)
    columns = one.target.input_labels if kind == "decoder" else one.source.labels
    rows = one.source.labels if kind == "encoder" else one.target.labels
    assert texts(figure)[1:] == [*rows, *columns]


def test_figure_3_follows_one_word_in_all_heads(one: Inspection) -> None:
    figure = draw(one, "figure3", Choice(word="quick"))
    lines = list(ElementTree.fromstring(figure).iter(f"{SVG}line"))
    starts = {round(float(line.attrib["x1"]) / 24) for line in lines}
    assert starts == {2}  # the second word, at 20 + 24
    assert len({line.attrib["stroke"] for line in lines}) == one.model.config.h
    assert "layer 1 of 2" in texts(figure)[0]  # the last but one, as "layer 5 of 6"


def test_numbers_in_tables_are_those_computed(one: Inspection) -> None:
    ranks = [int(text) for text in texts(draw(one, "layers", Choice())) if text.isdigit()]
    assert ranks[-one.lens.rank.size :] == one.lens.rank.ravel().tolist()
    shown = [text for text in texts(draw(one, "heads", Choice(kind="cross"))) if "." in text]
    assert [float(text.replace("−", "-")) for text in shown] == pytest.approx(
        one.heads_off.change["cross"].sum(-1).ravel().tolist(), abs=6e-3
    )


def test_text_is_never_markup(tokenizer: Tokenizer) -> None:
    found = small_translator(tokenizer, max_length=200).inspect('<b>fox</b> & "dog" \x07')
    for view in ("attention", "heatmap", "occlusion", "beam"):
        figure = draw(found, view, Choice())
        assert ElementTree.fromstring(figure).find(f".//{SVG}b") is None
    assert "<b>fox</b>" in texts(draw(found, "attention", Choice(kind="encoder")))


@pytest.mark.parametrize(
    "choice, message",
    [
        (Choice(layer=3), "--layer 3: the encoder-decoder attention has layers 1 to 2"),
        (Choice(heads=[1, 9]), "--head 9: the model has heads 1 to 2"),
        (Choice(kind="encoder", word="cat"), '--word "cat": there is no such word; there are: the quick'),
    ],
)
def test_what_is_not_there_is_named(one: Inspection, choice: Choice, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        draw(one, "attention", choice)
    assert str(caught.value).startswith(message)


def test_no_text_is_cut_off(browser: "Browser", tokenizer: Tokenizer) -> None:
    found = small_translator(tokenizer).inspect("the fox", sample=SAMPLE)
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    for view in _VIEWS:
        tab.set_content(draw(found, view, Choice()))
        outside = tab.evaluate(
            """() => {
              const page = document.querySelector("svg").getBoundingClientRect();
              return [...document.querySelectorAll("text")].filter((one) => {
                const box = one.getBoundingClientRect();
                return box.left < page.left - 1 || box.right > page.right + 1 || box.bottom > page.bottom + 1;
              }).map((one) => one.textContent);
            }"""
        )
        assert outside == [], view
    tab.close()
