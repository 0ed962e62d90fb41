"""Features of translations, computed by hand."""

import math

import pytest

from heed.confidence.features import SENTENCE, WORD, sentence_features, word_features
from heed.confidence.references import good_sentences, good_words
from heed.translation import Translation


def translation(pieces: list[str], logprobs: list[float], finished: bool = True) -> Translation:
    source = ["▁the", "▁old", "▁dog"]
    return Translation("", 0.0, sum(logprobs), pieces, source, finished, log_probabilities=tuple(logprobs))


def test_a_sentence() -> None:
    found = sentence_features(translation(["▁der", "▁alte", "▁Hun", "d", "."], [-0.1, -0.2, -0.3, -0.9, -0.2, -0.1]))
    ratio = math.log(6 / 4)  # with the end tokens
    assert found == pytest.approx([-0.3, -0.9, math.exp(-0.9), ratio, ratio**2, math.log(4)])
    assert len(found) == len(SENTENCE)


def test_nothing_but_the_end() -> None:
    assert sentence_features(translation([], [-2.0])) == pytest.approx(
        [-2.0, -2.0, math.exp(-2.0), math.log(1 / 4), math.log(1 / 4) ** 2, math.log(4)]
    )
    assert word_features(translation([], [-2.0])) == []


def test_words() -> None:
    found = word_features(translation(["▁der", "▁alte", "▁Hun", "d", "."], [-0.1, -0.2, -0.3, -0.9, -0.3, -0.6]))
    assert [text for text, _ in found] == ["der", "alte", "Hund."]
    mean = -2.4 / 6
    expected = [
        [-0.1, math.exp(-0.1), -0.2, math.exp(-0.2), mean],
        [-0.2, math.exp(-0.2), -0.3, math.exp(-0.3), mean],
        [-0.9, math.exp(-0.9), -0.6, math.exp(-0.6), mean],
    ]
    for (_, features), by_hand in zip(found, expected, strict=True):
        assert features == pytest.approx(by_hand)
        assert len(features) == len(WORD)


def test_a_translation_that_never_ended_has_nothing_after_its_last_word() -> None:
    (_, first), (_, last) = word_features(translation(["▁der", "▁der"], [-0.1, -0.4], finished=False))
    assert (first[2], last[2]) == (-0.4, -0.4)


def test_bytes_and_scripts_without_spaces_are_words_too() -> None:
    pieces = ["▁", "<0xE4>", "<0xBD>", "<0xA0>", "好", "▁fox", "▁"]
    found = word_features(translation(pieces, [-0.1] * 8))
    assert [text for text, _ in found] == ["你", "好", "fox"]


@pytest.mark.parametrize(
    ("words", "reference", "good"),
    [
        (["Der", "alte", "Hund."], "Ein alter Hund", [False, False, True]),
        (["die", "die", "DIE"], "Die Katze und die Maus", [True, True, False]),
        (["–", "„Hund“"], "Hund – Katze", [True, True]),
        (["–", "Hund"], "Hund", [False, True]),
        (["你", "好", "好"], "你好吗", [True, True, False]),
        (["a"], "", [False]),
    ],
)
def test_a_word_is_good_if_the_reference_has_it(words: list[str], reference: str, good: list[bool]) -> None:
    assert good_words(words, reference) == good


def test_a_sentence_is_good_from_a_chrf_on() -> None:
    import sacrebleu

    translations = ["Der alte Hund schläft.", "Ein Hund schlief.", "Katzen"]
    references = ["Der alte Hund schläft.", "Der alte Hund schläft.", "Der alte Hund schläft."]
    scores = [sacrebleu.sentence_chrf(a, [b]).score for a, b in zip(translations, references, strict=True)]
    assert scores[0] == 100 > scores[1] > scores[2]
    assert good_sentences(translations, references, 100) == [True, False, False]
    assert good_sentences(translations, references, scores[1]) == [True, True, False]
    assert good_sentences(translations, references, scores[1] + 0.01) == [True, False, False]
