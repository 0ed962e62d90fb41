import pytest

from heed.evaluate import Bleu, ChrF, ErrorRate, ExactMatch, score


def test_counted_by_hand() -> None:
    found = score(ExactMatch(), ["ja", "nein", "Ja", "ja ja"], ["ja", "nein", "ja", "ja"], resamples=0)
    assert found.value == 50
    assert (found.name, found.lower_is_better) == ("exact", False)


def test_white_space_and_composition_do_not_matter_but_case_does() -> None:
    assert score(ExactMatch(), [" ein  Haus "], ["ein Haus"], resamples=0).value == 100
    assert score(ExactMatch(), ["u\u0308ber"], ["\u00fcber"], resamples=0).value == 100
    assert score(ExactMatch(), ["Haus"], ["haus"], resamples=0).value == 0


def test_a_match_with_any_reference_counts() -> None:
    assert score(ExactMatch(), ["a", "b", "c"], ["a", "x", "x"], ["x", "b", "x"], resamples=0).value == pytest.approx(
        200 / 3
    )


def test_interval_and_signature() -> None:
    found = score(ExactMatch(), ["a"] * 50 + ["b"] * 50, ["a"] * 100)
    assert found.value == 50
    assert found.interval is not None
    # Of 100 fair coins, 95 % of the counts lie within about 1.96 * sqrt(100 / 4) = 9.8 of 50.
    assert found.interval == (pytest.approx(40.2, abs=1.5), pytest.approx(59.8, abs=1.5))
    assert found.signature.startswith(
        "nrefs:1|bs:1000|seed:12345|case:mixed|unicode:nfc|space:collapsed|unit:line|version:heed-"
    )


def test_one_word_outputs_are_ranked_right_by_all_but_bleu() -> None:
    """299 lines of garbage and one right word must not beat the perfect answer, nor half of it right."""
    words = [f"word{i:03}" for i in range(300)]
    garbage = [*["ab ab ab ab ab"] * 299, words[-1]]
    half = [*words[:150], *[word[::-1] for word in words[150:]]]
    for metric in (ExactMatch(), ChrF(), ErrorRate("char"), ErrorRate("word")):
        values = [score(metric, lines, words, resamples=0).value for lines in (garbage, half, words)]
        assert values == sorted(values, reverse=metric.lower_is_better), metric
        assert len(set(values)) == 3, metric
    assert score(Bleu(), garbage, words, resamples=0).value > score(Bleu(), words, words, resamples=0).value == 0
