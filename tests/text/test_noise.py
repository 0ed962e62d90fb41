"""Typing noise: each kind changes what it says, and nothing else."""

from collections import Counter

import pytest

from heed.text import noise
from heed.text.draws import Draws
from heed.text.noise import disturbed

PAIR = ("The big cat slept well.", "Die große Katze schlief gut.")
OTHER = ("Good night!", "Gute Nacht!")


def other():
    return OTHER


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (noise._capitals, ("THE BIG CAT SLEPT WELL.", "DIE GROSSE KATZE SCHLIEF GUT.")),
        (noise._title, ("The Big Cat Slept Well.", "Die Große Katze Schlief Gut.")),
        (noise._lower, ("the big cat slept well.", PAIR[1])),
        (noise._no_stop, ("The big cat slept well", "Die große Katze schlief gut")),
        (noise._joined, (f"{PAIR[0]} Good night!", f"{PAIR[1]} Gute Nacht!")),
    ],
)
def test_kinds(kind, expected):
    assert kind(PAIR, other, Draws(1)) == expected


def test_apostrophes_go_with_or_without_capitals():
    pair = ("I don’t know Tom's dog.", "Ich kenne Toms Hund nicht.")
    found = {noise._no_apostrophe(pair, other, Draws(seed)) for seed in range(20)}
    assert found == {(source, pair[1]) for source in ("I dont know Toms dog.", "i dont know toms dog.")}
    assert noise._no_apostrophe(("'", "'"), other, Draws(1)) == ("'", "'")


def test_emoji_are_the_same_on_both_sides():
    source, target = noise._emoji(PAIR, other, Draws(3))
    assert source[len(PAIR[0]) :] == target[len(PAIR[1]) :] != ""


def test_a_typo_changes_one_place_of_the_source():
    kinds = Counter()
    for seed in range(200):
        source, target = noise._typos(PAIR, other, Draws(seed))
        assert target == PAIR[1]
        kinds[len(source) - len(PAIR[0])] += 1
        assert sorted(source) == sorted(PAIR[0]) or len(source) != len(PAIR[0])
    assert set(kinds) == {-1, 0, 1}


@pytest.mark.parametrize(
    "pair", [("", ""), ("x", "y"), ("'", "'"), ("A.", "B"), ("Wait...", "Warte..."), ("Hi 漢字", "مرحبا")]
)
def test_odd_pairs(pair):
    for seed in range(300):
        source, target = disturbed(pair, other, Draws(seed))
        assert (source.strip() != "") >= (pair[0] != "")  # noise makes no blank line
        assert (target.strip() != "") >= (pair[1] != "")


def test_stops_that_are_not_single_stay():
    assert noise._no_stop(("Wait...", "Warte..."), other, Draws(1)) == ("Wait...", "Warte...")
    assert noise._joined(("No stop", "Kein Punkt"), other, Draws(1)) == ("No stop", "Kein Punkt")


def test_every_kind_is_drawn():
    found = {disturbed(PAIR, other, Draws(seed)) for seed in range(300)}
    assert len(found) > 15  # seven fixed kinds and many typos
