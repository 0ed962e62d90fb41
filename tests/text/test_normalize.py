import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.text.normalize import normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \t\r\n\v\f ", ""),
        ("  two   words ", "two words"),
        ("tab\tand\nline", "tab and line"),
        ("nul\x00between", "nul between"),
        ("\x1b[31mred", "[31mred"),  # escape is a control character
        ("line\u2028separator", "line separator"),
        ("paragraph\u2029separator", "paragraph separator"),
        ("next\u0085line", "next line"),
        ("no\u00a0break, ideographic\u3000space", "no break, ideographic space"),
        ("e\u0301", "é"),
        ("\u1112\u1161\u11ab", "한"),
        ("½ ﬁ Ａ ²", "½ ﬁ Ａ ²"),
        ("a\u2581b", "a_b"),
        ("half \ud83d of a pair", "half ? of a pair"),
        ("👩‍👩‍👧 family", "👩‍👩‍👧 family"),
        ("שלום עולם", "שלום עולם"),
    ],
)
def test_by_example(text: str, expected: str) -> None:
    assert normalize(text) == expected


# Any code point, including lone surrogates.
ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@given(ANY_TEXT)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(ANY_TEXT)
def test_result_is_one_line_of_composed_characters_that_utf8_can_carry(text: str) -> None:
    once = normalize(text)
    assert len(once.splitlines()) <= 1
    assert unicodedata.is_normalized("NFC", once)
    assert once.encode("utf-8").decode("utf-8") == once
    assert once == " ".join(once.split())
    assert not any(unicodedata.category(character) == "Cc" for character in once)


def in_full(text: str) -> str:
    """Normalise without the fast path."""
    text = unicodedata.normalize("NFC", text.replace("\u2581", "_"))
    text = "".join("?" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    spaced = "".join(" " if letter.isspace() or unicodedata.category(letter) == "Cc" else letter for letter in text)
    return " ".join(filter(None, spaced.split(" ")))


@given(
    st.one_of(ANY_TEXT, st.text(st.sampled_from("aeé\u0301\u0308  \t\xa0\u2581\u2028\ud800\u1100\u1161"), max_size=12))
)
def test_the_fast_path_changes_nothing(text: str) -> None:
    assert normalize(text) == in_full(text)


def test_every_character_by_itself() -> None:
    for number in range(0x110000):
        text = f"a{chr(number)}b"
        if normalize(text) != in_full(text):
            raise AssertionError(f"U+{number:04X}")
