"""Tell a validation of a collapsed model from one of a model that learns."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from heed.presets import gnmt_tiny, tiny
from heed.training.collapse import collapse_advice, signs_of_collapse
from tests.cli.conftest import heed, letters, settings, write_lines

REFERENCES = ["Er schläft.", "Sie singt ein Lied.", "Wir gehen nach Hause."]


@pytest.mark.parametrize("perplexity, found", [(8_000.0, 0), (8_000.1, 1), (inf, 1)])
def test_perplexity_above_the_vocabulary_size_is_worse_than_guessing(perplexity: float, found: int) -> None:
    signs = signs_of_collapse(perplexity, 8_000, REFERENCES, REFERENCES)
    assert len(signs) == found and all("8000" in sign for sign in signs)


@pytest.mark.parametrize(
    "translations, words",
    [
        (["Er ist."] * 3, "all 3 validation translations are the same"),
        (["Tom Tom Tom", "Tom Tom Tom Tom", "Er schläft."], "2 of 3 validation translations repeat one word"),
        (["", "", ""], "the same"),
    ],
)
def test_translations_that_are_alike_or_one_word_are_told(translations: list[str], words: str) -> None:
    (sign,) = signs_of_collapse(20.0, 8_000, REFERENCES, translations)
    assert words in sign


@pytest.mark.parametrize(
    "references, translations",
    [
        (REFERENCES, ["Er ist.", "Er ist.", "Sie ist."]),
        (REFERENCES, ["Tom Tom Tom", "Nein, nein.", "Er schläft."]),
        (REFERENCES, ["nein nein", "ja ja", "so so"]),
        (["Ja."] * 3, ["Ja."] * 3),
        (["Ja."], ["Nein."]),
    ],
)
def test_translations_that_differ_or_rightly_agree_are_not(references: list[str], translations: list[str]) -> None:
    assert signs_of_collapse(20.0, 8_000, references, translations[: len(references)]) == []


def test_the_advice_names_the_settings_and_the_peak_of_equation_3() -> None:
    config = tiny()
    config = replace(config, train=replace(config.train, warmup_steps=150))
    advice = collapse_advice(config)
    # 2.5 * 128^-0.5 * 150^-0.5 = 0.01804
    assert "0.018" in advice and "train.learning_rate_factor below 2.5" in advice and 'model.norm = "pre"' in advice
    assert max(map(len, advice.splitlines())) <= 80
    before = replace(config, model=replace(config.model, norm="pre"))
    assert "model.norm" not in collapse_advice(before)
    assert "model.norm" not in collapse_advice(gnmt_tiny())  # it has no norms


def test_a_training_at_far_too_high_a_rate_says_so(tmp_path: Path) -> None:
    lines = letters(1, 100)
    source = write_lines(tmp_path / "a.src", lines)
    target = write_lines(tmp_path / "a.tgt", [line[::-1] for line in lines])
    files = ["--source", source, "--target", target, "--valid-source", source, "--valid-target", target]
    run = tmp_path / "run"
    done = heed(
        "train",
        *files,
        *settings(train__learning_rate_factor=30, train__max_steps=20, train__average_last=1),
        "--out",
        run,
    )
    assert done.code == 0, done.err
    assert "is above the vocabulary size" in done.err or "validation translations" in done.err
    assert "train.learning_rate_factor below 30" in done.err
    assert "next: see docs/learning.md" in done.err and "next: heed translate" not in done.err
