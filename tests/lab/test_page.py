"""The lab's page in a real browser: typing, switches, forced words, comparing, asking why; by mouse and keyboard."""

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heed.engines.pytorch import PyTorchEngine
from heed.inside.inspection import look
from heed.inside.observe import Switches
from heed.inside.words import by_words
from heed.loading import load
from heed.options import SearchOptions
from heed.translator import Translator
from tests.lab.conftest import TEXT, Open, RunningLab, running_lab

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

VIEWS = ["attention", "beam", "walk", "heads", "occlusion", "layers", "why", "compare", "training"]
START = f"text={TEXT.replace(' ', '+')}"


def answered(tab: "Page") -> int:
    return int(tab.get_attribute("html", "data-answered") or 0)


def wait_for_answer(tab: "Page", after: int) -> None:
    tab.wait_for_function(f"() => Number(document.documentElement.dataset.answered) > {after}", timeout=60_000)
    tab.wait_for_function("() => !document.documentElement.dataset.busy", timeout=60_000)


def wait_for_translation(tab: "Page", text: str) -> None:
    tab.wait_for_function("(text) => document.getElementById('translation').value === text", arg=text, timeout=60_000)


def engine_of(translator: Translator) -> PyTorchEngine:
    assert isinstance(translator.engine, PyTorchEngine)
    return translator.engine


def numbers(text: str) -> list[float]:
    return [float(one.replace("−", "-")) for one in re.findall(r"[−-]?\d+(?:\.\d+)?", text)]


# --- typing -------------------------------------------------------------------------------------------------------


def test_typing_translates(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    tab = open_lab(lab, START)
    assert tab.input_value("#source") == TEXT
    assert tab.input_value("#translation") == translator.translate([TEXT], copy=False)[0].text
    tab.focus("#source")
    tab.keyboard.press("End")
    tab.keyboard.type(" the fox", delay=10)
    wait_for_translation(tab, translator.translate([f"{TEXT} the fox"], copy=False)[0].text)
    assert tab.evaluate("document.activeElement.id") == "source"
    labels = tab.eval_on_selector_all(".right .item .word", "all => all.map(one => one.textContent)")
    assert labels[:-1] == [*TEXT.split(), "the", "fox"]
    assert "fox+the" in tab.evaluate("location.hash") or "dog+the+fox" in tab.evaluate("location.hash")


def test_the_link_brings_all_of_it_back(lab: RunningLab, open_lab: Open) -> None:
    tab = open_lab(lab, f"{START}&heads=cross.0.0&beam=2&view=layers")
    before = tab.input_value("#translation")
    tab.reload()
    tab.wait_for_selector("html[data-answered]", timeout=60_000)
    assert tab.input_value("#translation") == before
    assert tab.get_attribute("[data-switch='cross.0.0']", "aria-checked") == "false"
    assert "beam 2" in tab.inner_text("#search summary")
    assert tab.get_attribute("#tab-layers", "aria-selected") == "true"


@pytest.mark.parametrize(
    "text",
    ["<b>x</b><script>1</script><img src=x>", "🦊 &amp; </textarea>", "שועל חום", "狐狸"],
)
def test_text_is_never_markup(lab: RunningLab, open_lab: Open, text: str) -> None:
    tab = open_lab(lab, START)
    tab.fill("#source", text)
    tab.wait_for_function(
        "(text) => document.title.startsWith(text.slice(0, 2)) || document.querySelector('[role=alert]:not([hidden])')",
        arg=text,
        timeout=60_000,
    )
    assert tab.input_value("#source") == text
    assert tab.evaluate("document.querySelectorAll('main img, main script, #page script').length") == 0


@pytest.mark.parametrize(
    "text, message", [("", "Type a sentence."), ("fox " * 300, "the limit is 60 (model.max_length)")]
)
def test_what_cannot_be_shown_is_said_and_the_page_goes_on(
    lab: RunningLab, open_lab: Open, translator: Translator, text: str, message: str
) -> None:
    tab = open_lab(lab, START, refusals=True)
    tab.fill("#source", text)
    tab.wait_for_selector(f"[role=alert]:has-text('{message}')", timeout=60_000)
    tab.fill("#source", "the fox")
    wait_for_translation(tab, translator.translate(["the fox"], copy=False)[0].text)
    assert tab.is_hidden("header [role=alert]")


# --- switches -----------------------------------------------------------------------------------------------------


def test_a_head_is_switched_off(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    tab = open_lab(lab, f"{START}&kind=cross&layer=1&head=1&mode=table&merged=0")
    tab.click("#switches summary")
    before = answered(tab)
    tab.click("[data-switch='cross.0.0']")
    wait_for_answer(tab, before)
    switches = Switches(heads=frozenset({("cross", 0, 0)}))
    expected = look(engine_of(translator), TEXT, SearchOptions(beam=3), switches=switches)
    assert tab.input_value("#translation") == expected.translation.text
    shown = tab.eval_on_selector_all(".heat tbody tr", "rows => rows.map(r => [...r.cells].slice(1).map(c => c.title))")
    found = np.array([[numbers(title.rsplit(":", 1)[1])[0] for title in row] for row in shown])
    np.testing.assert_allclose(found, expected.attention["cross"][1, 1], atol=1e-5)
    assert "1 off" in tab.inner_text("#switches summary")
    trained = tab.inner_text(".trained")
    assert "with everything on" in trained
    assert f"{expected.translation.log_probability:.3f}".replace("-", "−") in trained
    tab.click("text=all on")
    wait_for_translation(tab, translator.translate([TEXT], copy=False)[0].text)
    assert tab.is_hidden(".trained")


@pytest.mark.parametrize(
    "click, switches",
    [
        ("#switch-causal", Switches(causal=False)),
        ("#switch-positions", Switches(positions=False)),
        ("[data-switch='encoder.1']", Switches(layers=frozenset({("encoder", 1)}))),
    ],
    ids=["mask", "positions", "layer"],
)
def test_other_switches(
    lab: RunningLab, open_lab: Open, translator: Translator, click: str, switches: Switches
) -> None:
    tab = open_lab(lab, START)
    tab.click("#switches summary")
    before = answered(tab)
    tab.click(click)
    wait_for_answer(tab, before)
    expected = look(engine_of(translator), TEXT, SearchOptions(beam=3), switches=switches)
    assert tab.input_value("#translation") == expected.translation.text
    assert numbers(tab.inner_text("#facts").split("log P =")[1])[0] == pytest.approx(
        expected.translation.log_probability, abs=1e-3
    )


def test_switches_by_keyboard_alone(lab: RunningLab, open_lab: Open) -> None:
    tab = open_lab(lab, START)
    tab.focus("#switches summary")
    tab.keyboard.press("Enter")
    for _ in range(6):  # causal mask, positions, the first layer of the encoder
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.dataset.switch") == "encoder.0":
            break
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.dataset.switch") == "encoder.1.0"
    before = answered(tab)
    tab.keyboard.press("Space")
    wait_for_answer(tab, before)
    assert tab.get_attribute("[data-switch='encoder.1.0']", "aria-checked") == "false"
    assert tab.evaluate("document.activeElement.dataset.switch") == "encoder.1.0"


# --- the translation ----------------------------------------------------------------------------------------------


def test_typing_over_the_translation_decodes_the_rest_anew(
    lab: RunningLab, open_lab: Open, translator: Translator
) -> None:
    tab = open_lab(lab, START)
    tab.focus("#translation")
    tab.keyboard.press("Control+A")
    tab.keyboard.type("der faule", delay=10)
    expected = translator.translate([TEXT], prefixes=["der faule"])[0].text
    wait_for_translation(tab, expected)
    assert tab.evaluate("document.getElementById('translation').selectionStart") == len("der faule")
    assert tab.eval_on_selector_all(".chips .forced", "all => all.map(one => one.textContent)")[0] == "der"
    tab.click("#free")
    wait_for_translation(tab, translator.translate([TEXT], copy=False)[0].text)


def test_a_word_is_forced(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    engine = engine_of(translator)
    plain = look(engine, TEXT, SearchOptions(beam=3))
    tab = open_lab(lab, START)
    tab.click("[data-key='chip-0']")
    token = next(int(one) for one in plain.top_ids[0] if int(one) not in (plain.target.ids[0], 0, 1, 2))
    tab.click(f".alternatives [data-piece={plain.piece(token)!r}]")
    expected = look(engine, TEXT, SearchOptions(beam=3), prefix=[token])
    wait_for_translation(tab, expected.translation.text)


def test_search_options(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    from heed.options import Sampling

    tab = open_lab(lab, START)
    tab.click("#search summary")
    tab.fill("#beam", "1")
    wait_for_translation(tab, translator.translate([TEXT], beam=1, copy=False)[0].text)
    tab.check("text=draw at random")
    wait_for_translation(tab, translator.translate([TEXT], sampling=Sampling(temperature=1.0, seed=1))[0].text)
    tab.fill("#seed", "5")
    wait_for_translation(tab, translator.translate([TEXT], sampling=Sampling(temperature=1.0, seed=5))[0].text)
    tab.click("#tab-beam")
    assert "drawn at random" in tab.inner_text("main")


# --- why, compare -------------------------------------------------------------------------------------------------


def test_why_shows_what_the_lab_computed(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    tab = open_lab(lab, f"{START}&view=why")
    tab.fill("#that", "Hund")
    tab.wait_for_selector("#why .key:has-text('H')", timeout=60_000)
    tab.wait_for_function("() => document.querySelectorAll('#parts tbody tr').length === 10")
    plain = look(engine_of(translator), TEXT, SearchOptions(beam=3))
    this = [plain.target.ids[t] for t in plain.target.words[0]]
    told = lab.post("/api/why", {"client": "test", "text": TEXT, "before": [], "this": this, "that": "Hund"}).json
    assert numbers(tab.inner_text("#why .sum"))[-1] == pytest.approx(told["difference"], abs=1e-3)
    shown = tab.eval_on_selector_all("#parts tbody tr", "rows => rows.slice(0, -1).map(r => r.cells[1].textContent)")
    np.testing.assert_allclose([numbers(one)[0] for one in shown], told["parts"], atol=6e-3)
    assert "by occlusion" in tab.inner_text("main")


def test_two_checkpoints_are_compared(lab: RunningLab, open_lab: Open, run: "Path", translator: Translator) -> None:
    tab = open_lab(lab, f"{START}&view=compare&ckind=encoder&cmode=table&cah=1&cbh=1&cal=0&cbl=0")
    tab.select_option("#bckpt", "step-00000010")
    other = load(run, checkpoint="step-00000010", engine="torch")
    tab.wait_for_selector("#two tbody tr:nth-child(2):has-text('step-00000010')", timeout=60_000)
    rows = tab.eval_on_selector_all("#two tbody tr", "rows => rows.map(r => r.cells[1].textContent)")
    texts = [one.translate([TEXT], copy=False)[0].text for one in (translator, other)]
    assert ["".join(row.split()) for row in rows] == ["".join(text.split()) for text in texts]
    sides = [look(engine_of(one), TEXT, SearchOptions(beam=3)) for one in (translator, other)]
    a, b = (by_words(one.attention["encoder"][0, 1], one.source.words, one.source.words) for one in sides)
    shown = tab.eval_on_selector_all(".heat tbody tr", "rows => rows.map(r => [...r.cells].slice(1).map(c => c.title))")
    found = np.array([[numbers(title.rsplit("A ", 1)[1]) for title in row] for row in shown])
    np.testing.assert_allclose(found[..., 0], a, atol=1e-3)
    np.testing.assert_allclose(found[..., 1], b, atol=1e-3)
    shared = 100 * 2 * np.minimum(a, b).sum() / (a.sum() + b.sum())
    assert numbers(tab.inner_text("#shared"))[0] == pytest.approx(shared, abs=0.6)


def test_two_sentences_are_compared(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    tab = open_lab(lab, f"{START}&view=compare")
    tab.fill("#bsource", "the lazy fox jumps")
    expected = translator.translate(["the lazy fox jumps"], copy=False)[0].text
    tab.wait_for_function(
        "(text) => document.querySelector('#two tbody tr:nth-child(2)')?.textContent.replaceAll(' ', '')"
        ".includes(text.replaceAll(' ', ''))",
        arg=expected,
        timeout=60_000,
    )
    only_a = tab.eval_on_selector_all(
        "#two tbody tr:nth-child(1) td:nth-child(2) .tag-a", "all => all.map(o => o.textContent)"
    )
    assert {"quick", "brown", "over", "dog"} <= set(only_a)


# --- the whole page -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_fits_its_width(lab: RunningLab, open_lab: Open, width: int, dark: bool) -> None:
    tab = open_lab(lab, START, width=width, dark=dark)
    tab.click("#switches summary")
    tab.click("#search summary")
    for view in VIEWS:
        tab.click(f"#tab-{view}")
        tab.wait_for_function("() => document.querySelector('main').innerText.length > 100", timeout=60_000)
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view


@pytest.mark.parametrize("view", ["attention", "why", "compare", "training"])
def test_every_control_is_reached_by_tab_and_is_seen_to_be(lab: RunningLab, open_lab: Open, view: str) -> None:
    tab = open_lab(lab, f"{START}&view={view}&positions=0")
    tab.click("#search summary")
    if view == "training":
        tab.wait_for_selector("#frame", timeout=60_000)
    tab.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    focusable = "#page :is(button, input, select, textarea, summary, [tabindex]):not([tabindex='-1']):not(:disabled)"
    # Of radio buttons, the chosen one stands for the group.
    expected = tab.evaluate(
        f"[...document.querySelectorAll({focusable!r})].filter((one) => one.offsetParent !== null)"
        ".filter((one) => one.type !== 'radio' || one.checked).length"
    )
    assert expected > 10
    tab.evaluate("window.reached = new Set(); 0")
    for _ in range(expected + 12):
        tab.keyboard.press("Tab")
        outline = tab.evaluate(
            """() => {
              const node = document.activeElement;
              if (node === document.body) return "outside";
              window.reached.add(node.dataset.key || node.id || node);
              const style = getComputedStyle(node);
              return `${style.outlineStyle} ${style.outlineWidth}`;
            }"""
        )
        assert outline == "outside" or outline.startswith("solid"), outline
    assert tab.evaluate("window.reached.size") >= expected


def test_two_browsers_at_once(lab: RunningLab, open_lab: Open, translator: Translator) -> None:
    one, other = open_lab(lab, START), open_lab(lab, START)
    for i in range(5):
        one.fill("#source", f"the fox {i}")
        other.fill("#source", f"the lazy dog {i}")
    wait_for_translation(one, translator.translate(["the fox 4"], copy=False)[0].text)
    wait_for_translation(other, translator.translate(["the lazy dog 4"], copy=False)[0].text)


def test_the_end_of_the_lab_is_said(run: "Path", browser: "Browser") -> None:
    with running_lab(run) as own:
        tab = browser.new_page()
        tab.goto(f"{own.address}/#{START}")
        tab.wait_for_selector("html[data-answered]", timeout=60_000)
        code, err = own.stop()
        assert code == 130 and "Traceback" not in err and "heed lab: stopped" in err
        tab.wait_for_selector("[role=alert]:has-text('The lab does not answer')", timeout=60_000)
        tab.close()
