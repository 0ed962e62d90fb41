import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.evaluate import ErrorRate, compare, score
from heed.evaluate.error_rate import edit_distance


def table_distance(a: str, b: str) -> int:
    """Fill Wagner and Fischer's table cell by cell."""
    table = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            substituted = table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, substituted)
    return table[-1][-1]


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("kitten", "sitting", 3),  # the standard example
        ("Saturday", "Sunday", 3),
        ("intention", "execution", 5),  # Jurafsky and Martin
        ("", "abc", 3),
        ("abc", "", 3),
        ("", "", 0),
        ("abc", "abc", 0),
        ("abc", "cab", 2),
    ],
)
def test_published_distances(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b) == distance
    assert edit_distance(list(a), list(b)) == distance


@given(st.text("abc", max_size=12), st.text("abcd", max_size=12))
def test_distance_is_that_of_the_table(a: str, b: str) -> None:
    assert edit_distance(a, b) == table_distance(a, b)


@pytest.mark.parametrize("length", [63, 64, 65, 127, 128, 129, 200])  # where machine words would end
def test_distance_of_long_lines_is_that_of_the_table(length: int) -> None:
    draw = random.Random(length)
    for other in (length, length - 20, length + 20):
        a, b = ("".join(draw.choices("abcde ", k=n)) for n in (length, other))
        assert edit_distance(a, b) == table_distance(a, b)


def test_cer_counted_by_hand() -> None:
    # house/mouse: 1 edit of 5; cat/cats: 1 of 4; dog/dog: 0 of 3. Together 2 of 12, and not the mean of the lines.
    found = score(ErrorRate("char"), ["house", "cat", "dog"], ["mouse", "cats", "dog"], resamples=0)
    assert found.value == pytest.approx(100 * 2 / 12)
    assert found.name == "CER"
    assert found.lower_is_better


def test_wer_counted_by_hand() -> None:
    # One of five words is missing, one of three is substituted.
    lines = ["we see a house", "it is red"], ["we see a red house", "it was red"]
    found = score(ErrorRate("word"), *lines, resamples=0)
    assert (found.name, found.value) == ("WER", pytest.approx(100 * 2 / 8))


def test_a_space_is_a_character_and_two_are_one() -> None:
    assert score(ErrorRate("char"), ["ab"], ["a b"], resamples=0).value == pytest.approx(100 / 3)
    assert score(ErrorRate("char"), ["a\u00a0  b "], ["a b"], resamples=0).value == 0


def test_an_accent_is_one_character_however_it_is_typed() -> None:
    assert score(ErrorRate("char"), ["cafe\u0301"], ["caf\u00e9"], resamples=0).value == 0
    assert score(ErrorRate("char"), ["cafe"], ["cafe\u0301"], resamples=0).value == 25


def test_the_nearest_reference_counts() -> None:
    # To "ab": 0 of 2. To "abcd" 2 of 4, to "xb" 1 of 2; of equally close ones, the longer counts.
    assert score(ErrorRate("char"), ["ab"], ["abcd"], ["ab"], resamples=0).value == 0
    assert score(ErrorRate("char"), ["ab"], ["b"], ["abc"], resamples=0).value == pytest.approx(100 / 3)


def test_more_errors_than_characters() -> None:
    found = score(ErrorRate("char"), ["aaaaaa", "aaaaaa"], ["b", "b"], resamples=100)
    assert found.value == 600
    assert found.interval == (600, 600)


def test_blank_references() -> None:
    assert score(ErrorRate("char"), [""], [""], resamples=0).value == 0
    assert score(ErrorRate("char"), ["a", "abc"], ["", "abc"], resamples=0).value == pytest.approx(100 / 3)
    assert score(ErrorRate("char"), ["a"], [""], resamples=0).value == 100


def test_signature() -> None:
    found = score(ErrorRate("char"), ["a"], ["a"], ["b"])
    assert found.signature.startswith(
        "nrefs:2|bs:1000|seed:12345|case:mixed|unicode:nfc|space:collapsed|unit:char|version:heed-"
    )
    assert "|unit:word|" in score(ErrorRate("word"), ["a"], ["a"]).signature


def test_fewer_errors_are_better() -> None:
    draw = random.Random(1)
    reference = ["".join(draw.choices("abcdef", k=20)) for _ in range(40)]
    poor = ["x" * 5 + line[5:] for line in reference]
    found = compare(ErrorRate("char"), reference, poor, reference)
    assert (found.value, found.baseline, found.difference) == (0, 25, -25)
    assert found.meaning == "significantly better than the baseline (p is below 0.05)"
    assert compare(ErrorRate("char"), poor, reference, reference).meaning.startswith("significantly worse")
