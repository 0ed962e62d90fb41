from itertools import count

import numpy as np
import pytest

from heed.data.store import encode_pairs
from heed.symbols import EOS
from heed.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return Tokenizer.learn(["one two three four five six"] * 50, 320)


def test_pairs_become_ids_with_an_end_each(words: Tokenizer) -> None:
    store = encode_pairs([("one two", "three"), ("four", "five six one")], words, 10)
    assert len(store) == 2
    for sequences, texts in ((store.source, ["one two", "four"]), (store.target, ["three", "five six one"])):
        assert [sequences[i].tolist() for i in range(2)] == [[*words.encode(text).ids, EOS] for text in texts]
    assert store.source.lengths.tolist() == [3, 2]
    assert store.target.lengths.tolist() == [2, 4]
    assert store.source.ids.dtype == np.int32


def test_blank_and_long_pairs_are_accounted_for_by_line(words: Tokenizer) -> None:
    three, four = "one two three", "one two three four"
    pairs = [
        ("one", "one"),
        ("", "one"),
        (three, three),
        ("one", " \x00\u2028"),
        (four, "one"),
        ("one", four),
        ("two", ""),
    ]
    store = encode_pairs(pairs, words, 3)
    assert store.lines.tolist() == [1, 3]
    assert store.blank_lines == (2, 4, 7)
    assert store.long_lines == (5, 6)


def test_line_numbers_go_on_over_many_portions(words: Tokenizer) -> None:
    numbers = count(1)
    pairs = (("one", "" if next(numbers) % 7_000 == 0 else "two") for _ in range(25_000))
    store = encode_pairs(pairs, words, 3)
    assert store.blank_lines == (7_000, 14_000, 21_000)
    assert len(store) == 24_997
    assert store.lines[-1] == 25_000
    assert store.target[24_996].tolist() == [*words.encode("two").ids, EOS]


def test_nothing_fit_is_an_empty_store(words: Tokenizer) -> None:
    for pairs in ([], [("", "")]):
        store = encode_pairs(pairs, words, 3)
        assert len(store) == len(store.source) == len(store.target) == 0
        assert store.source.lengths.tolist() == []
