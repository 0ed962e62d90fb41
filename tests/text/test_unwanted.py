"""Characters that no translation should add, and the tokens that write them."""

import pytest

from heed.text.tokenizer import Tokenizer
from heed.text.unwanted import tokens_of_digits, tokens_of_unwanted, unwanted_in


@pytest.mark.parametrize(
    ("translation", "given", "expected"),
    [
        ("groß, 漢字 😀 – “a” 1\u202f000", "", False),
        ("a\ufffd", "a", True),
        ("a\ufffd", "\ufffd", False),
        ("a\u200bb", "a", True),
        ("a\u200bb\ufeff", "\u200b", True),
        ("a\u200cb", "", True),
        ("Schiff\u00adfahrt", "", True),
        ("👨\u200d👩\u200d👧", "", False),
        ("می\u200cخواهم", "", False),  # Persian needs it
    ],
)
def test_unwanted_characters(translation: str, given: str, expected: bool) -> None:
    assert unwanted_in(translation, given) is expected


def test_the_tokens_that_write_them() -> None:
    tokenizer = Tokenizer.learn(["ab\u200b 12 ab\u200b 1a"] * 20, 300)
    pieces = tokenizer.pieces(range(len(tokenizer)))
    barred, digits = tokens_of_unwanted(tokenizer), tokens_of_digits(tokenizer)
    for token, piece in enumerate(pieces):
        is_byte = piece.startswith("<0x")
        assert (token in barred) == (is_byte or "\u200b" in piece)
        text = chr(int(piece[3:5], 16)) if is_byte else piece
        assert (token in digits) == any(one in "0123456789" for one in text)
    assert tokens_of_unwanted(tokenizer, [tokenizer.ids(["<0x41>"])[0]]) == barred - set(tokenizer.ids(["<0x41>"]))
