"""Fit on translations whose goodness is known."""

import random

import pytest

from heed.confidence.calibration import Calibration
from heed.confidence.fitting import MIN_OF_EACH, MIN_SENTENCES, calibrate, is_test_half
from heed.errors import DataError
from heed.translation import Translation

Lines = tuple[list[str], list[Translation], list[str]]


def lines(n: int = 1000, chance_of_good: float | None = None) -> Lines:
    """Return sources, translations and references. The more probable a translation, the likelier it is right."""
    draw = random.Random(1)
    sources, translations, references = [], [], []
    for i in range(n):
        p = draw.random()
        words = ["".join(draw.choices("abcdefgh", k=6)) for _ in range(4)]
        logprobs = [2 * (p - 1) + 0.1 * (draw.random() - 0.5) - 0.1 for _ in range(5)]
        pieces = [f"▁{word}" for word in words]
        is_good = draw.random() < (p if chance_of_good is None else chance_of_good)
        sources.append(f"sentence {i}")
        text = " ".join(words)
        translations.append(
            Translation(text, sum(logprobs), sum(logprobs), pieces, ["▁s"] * 4, log_probabilities=tuple(logprobs))
        )
        references.append(text if is_good else "zzzzzz zzzzzz zzzzzz zzzzzz")
    return sources, translations, references


def test_the_confidence_is_the_share_that_is_good() -> None:
    """Of the fitted chances p, a share p is good by construction, so that AUC and error are known."""
    found = calibrate(*lines(4000), least_chrf=50)
    for trial, n in ((found.sentence_trial, 1), (found.word_trial, 4)):
        assert trial.n == pytest.approx(2000 * n, rel=0.1)
        assert trial.good == pytest.approx(0.5, abs=0.05)
        assert trial.auc == pytest.approx(5 / 6, abs=0.03)  # P(a > b) of densities 2p and 2(1-p)
        assert trial.error < 0.05
    assert found.n_fitted + found.sentence_trial.n == 4000


def test_lines_of_one_source_are_in_one_half() -> None:
    assert is_test_half("The dog.") == is_test_half("the  DOG") == is_test_half("The dog!")
    assert 400 < sum(is_test_half(f"sentence {i}") for i in range(1000)) < 600
    assert is_test_half("...") in (True, False)


def test_the_tested_half_is_not_fitted_on() -> None:
    """Other references in the half for testing change the trial, not the fit."""
    sources, translations, references = lines()
    before = calibrate(sources, translations, references, 50)
    for i, source in enumerate(sources):
        if is_test_half(source) and i % 3 == 0:
            references[i] = translations[i].text
    after = calibrate(sources, translations, references, 50)
    assert (before.sentence, before.word) == (after.sentence, after.word)
    assert before.sentence_trial.good < after.sentence_trial.good


def test_blank_lines_and_texts_in_parts_are_left_out() -> None:
    sources, translations, references = lines()
    before = calibrate(sources, translations, references, 50)
    blank = Translation("", 0.0, 0.0, [], [])
    cut = Translation("x", -1.0, -1.0, ["▁x"], ["▁s"], cuts=("space",), log_probabilities=(-0.5, -0.2, -0.3))
    after = calibrate(
        [*sources, "", "no reference", "long"],
        [*translations, blank, translations[0], cut],
        [*references, "x", " ", "x"],
        50,
    )
    assert after == before


def test_too_few_lines() -> None:
    sources, translations, references = lines(150)
    with pytest.raises(DataError, match=f"150 sentences with a reference, but at least {MIN_SENTENCES} are needed"):
        calibrate(sources, translations, references, 50)
    with pytest.raises(DataError, match="0 sentences with a reference"):
        calibrate([], [], [], 50)


@pytest.mark.parametrize(("chance", "kind"), [(0.0, "good"), (1.0, "bad")])
def test_all_good_or_all_bad(chance: float, kind: str) -> None:
    message = rf"only 0 {kind} translations in the half to fit on, but at least {MIN_OF_EACH} are needed.*--good"
    with pytest.raises(DataError, match=message):
        calibrate(*lines(chance_of_good=chance), least_chrf=50)


# --- as JSON ----------------------------------------------------------------------------------------------


def test_to_json_and_back() -> None:
    found = calibrate(*lines(), least_chrf=42.5)
    assert Calibration.from_dict(found.to_dict()) == found
    assert "at least 42.5" in found.meaning


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], 2, "format 2"),
        (["word"], None, "lacks or misplaces"),
        (["sentence", "bias"], "1", "not a finite number"),
        (["sentence", "bias"], float("nan"), "not a finite number"),
        (["sentence", "weights"], {"colour": 1.0}, "other features.*colour"),
        (["sentence", "weights"], [1.0], "other features"),
        (["good"], [], "lacks or misplaces"),
        (["word", "test", "bins"], [], "do not add up"),
        (["word", "test", "n"], True, "not a finite number"),
    ],
)
def test_what_is_not_a_calibration_is_refused(path: list[str], value: object, message: str) -> None:
    given = calibrate(*lines(), least_chrf=50).to_dict()
    inner = given
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        Calibration.from_dict(given)
