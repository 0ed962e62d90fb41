"""What people type first (bench/first_words.tsv): rules that hold for any model, and for the model in the box."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

import heed
from heed import box
from heed.config import DecodeConfig
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.translator import Translator
from tests.conftest import small_config, torch_translator

# Faults that the model in the box must not have. The rest depends on what a model has learnt, and is only reported.
NEVER = re.compile("should be blank|empty|lost|repeats|far too long|crude|invisible|tags")


def load_program() -> ModuleType:
    path = Path(__file__).parents[1] / "bench" / "first_words.py"
    spec = importlib.util.spec_from_file_location("first_words", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["first_words"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


first_words = load_program()
CASES = first_words.read_cases()


@pytest.fixture(scope="module")
def ignorant(tokenizer: Tokenizer) -> Translator:
    """A model that has learnt nothing: whatever it keeps, heed made it keep."""
    torch.manual_seed(7)
    model = Transformer(small_config(norm="pre"), tokenizer.vocabulary).eval()
    model.embedding.weight.data *= 3
    return torch_translator([model], tokenizer, DecodeConfig(extra_length=5))


def test_there_are_inputs_of_every_kind() -> None:
    assert len(CASES) >= 150 and len({case.text for case in CASES}) == len(CASES)
    kinds = {"greeting", "word", "question", "capitals", "number", "date", "unit", "name", "address", "two sentences"}
    kinds |= {"emoji", "typo", "placeholder", "button", "sign", "tag", "odd", "long", "sentence", "no final stop"}
    assert {case.kind for case in CASES} == kinds
    known = {"keep", "digits", "ends", "same", "blank"}
    assert {rule.partition(":")[0] for case in CASES for rule in case.rules} == known


def test_every_expected_translation_follows_the_rules() -> None:
    for case in CASES:
        for text in case.accepted:
            faults = first_words.faults_of(case, text)
            assert faults in ([], [f"does not end with {case.rules[0][5:]}"] if case.rules else []), (case, text)


@pytest.mark.timeout(600)
def test_any_model_answers_each_line_and_copies_what_must_be_copied(ignorant: Translator) -> None:
    found = ignorant.translate([case.text for case in CASES])
    assert len(found) == len(CASES)
    for case, one in zip(CASES, found, strict=True):
        assert case.text.strip() or one.text == ""
        assert "\n" not in one.text
        faults = first_words.faults_of(case, one.text)
        assert not [fault for fault in faults if fault.startswith(("invisible", "tags"))], (case.text, one.text)
        if case.kind in ("address", "placeholder", "tag", "number", "emoji"):
            lost = [fault for fault in first_words.faults_of(case, one.text) if fault.startswith("lost")]
            assert lost == [], (case.text, one.text)


@pytest.mark.parametrize(
    ("text", "rules", "translation", "fault"),
    [
        ("Hello", [], "", "empty"),
        ("Hello!", [], "hello", "unchanged"),
        ("", ["blank"], "x", "should be blank"),
        ("in 1984", ["keep:1984"], "im Jahr 1948", "lost 1984"),
        ("1,250", ["digits:1250"], "1.25", "lost the digits 1250"),
        ("Why?", ["ends:?"], "Warum.", "does not end with ?"),
        ("He sleeps.", [], "Er schläft , er schläft , er schläft , er schläft ,", "repeats"),
        ("He sleeps.", [], "Er " + " ".join(map(str, range(30))), "far too long"),
        ("He is here.", [], "Scheiße.", "crude: Schei"),
        ("He is here.", [], "Er ist\u200b hier.", "invisible: U+200B"),
        ("He is here.", [], "Er ist \ufffd hier.", "invisible: U+FFFD"),
        ("Chapter 7, page 128", [], "Zeug 78, Seite 128", "invented 78"),
        ("Apollo 11 landed in 1969.", [], "Apollo 119 landete 1969.", "invented 119"),
        ("at 9 a.m.", [], "um 22 Uhr", "invented 22"),
        ("<b>Bold</b>", [], "</b>Fett<b>", "tags out of order"),
        ("He is here.", [], "Der Fick-Dich-Mann", "crude: Fick"),
    ],
)
def test_a_fault_is_found(text: str, rules: list[str], translation: str, fault: str) -> None:
    found, *_ = first_words.faults_of(first_words.Case("x", text, tuple(rules), ()), translation)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("text", "rules", "translation"),
    [
        ("OK", ["same"], "OK"),
        ("1,250", ["digits:1250"], "1.250 Leute"),
        ("1,250", ["digits:1250"], "1 250"),
        ("at 3:30 pm", [], "um 15:30 Uhr"),
        ("12/25/2024", [], "am 25.12.2024"),
        ("1,000.50", [], "es kostet 1.000,50"),
        ("<b>Bold</b><br/>", [], "<br/><b>Fett</b>"),
        ("a\u200bb", [], "x\u200by"),
        ("yes yes yes yes yes", [], "ja ja ja ja ja"),
        ("He marches.", [], "Er marschiert im Marsch."),
        ("The sixth essex", [], "Der sechste Essex"),
    ],
)
def test_no_fault_is_imagined(text: str, rules: list[str], translation: str) -> None:
    assert first_words.faults_of(first_words.Case("x", text, tuple(rules), ()), translation) == []


@pytest.mark.skipif(box.DEFAULT not in box.names(), reason="no model in the box yet")
@pytest.mark.timeout(600)
def test_the_model_in_the_box_has_none_of_the_worst_faults() -> None:
    translations = [one.text for one in heed.load().translate([case.text for case in CASES])]
    worst = [
        (one.text[:80], one.translation[:80], fault)
        for one in first_words.examine(CASES, translations)
        for fault in one.faults
        if NEVER.match(fault) and not (fault.startswith("lost") and one.kind in ("name", "unit", "date"))
    ]
    assert worst == []
