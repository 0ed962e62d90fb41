"""Pieces, words and offsets of texts of all kinds."""

import pytest

from heed.inside.words import side_of
from heed.text.normalize import normalize
from heed.text.tokenizer import Tokenizer

TEXTS = ["the quick fox", "der Fuchs, über 12", "שלום quick", "你好 fox", "👩‍🚀 dog", "<b>x</b> </s> &amp;", "é"]


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_cover_the_text_and_words_cover_the_pieces(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode_ids([text])[0]
    side = side_of(tokenizer, ids)
    assert side.text == normalize(text) == tokenizer.decode(ids)
    assert side.pieces == [*tokenizer.pieces(ids), "</s>"] and side.ids == [*ids, 1]
    assert [i for word in side.words for i in word] == list(range(len(side.pieces)))
    covered = {at for begin, end in side.offsets for at in range(begin, end)}
    assert covered >= {at for at, one in enumerate(side.text) if one != " "}
    assert all(begin <= end <= len(side.text) for begin, end in side.offsets)
    assert [tuple(sorted(pair)) for pair in side.offsets] == side.offsets
    assert len(side.labels) == len(side.pieces) and len(side.word_labels) == len(side.words)
    assert "".join(side.word_labels[:-1]) == side.text.replace(" ", "")


def test_words_stand_between_spaces(tokenizer: Tokenizer) -> None:
    side = side_of(tokenizer, tokenizer.encode_ids(["the quick fox, über"])[0])
    assert side.word_labels == ["the", "quick", "fox,", "über", "</s>"]


def test_scripts_without_spaces_are_not_one_word(tokenizer: Tokenizer) -> None:
    side = side_of(tokenizer, tokenizer.encode_ids(["你好吗 fox"])[0])
    assert side.word_labels == ["你", "好", "吗", "fox", "</s>"]


def test_a_byte_is_shown_as_part_of_its_character(tokenizer: Tokenizer) -> None:
    ids = tokenizer.ids(["<0xE4>", "<0xBD>", "<0xA0>", "<0xE4>"])  # 你, and a byte that begins another
    side = side_of(tokenizer, ids)
    assert side.text == "你\ufffd"
    assert side.offsets == [(0, 1), (0, 1), (0, 1), (1, 2), (2, 2)]
    assert side.labels == ["⟨E4⟩", "⟨BD⟩", "⟨A0⟩", "⟨E4⟩", "</s>"]


def test_nothing_is_a_sentence_too(tokenizer: Tokenizer) -> None:
    side = side_of(tokenizer, [])
    assert (side.text, side.word_labels, side.offsets) == ("", ["</s>"], [(0, 0)])
