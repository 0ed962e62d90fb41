"""Find characters that no translation should add to its source, and the tokens that write them."""

import re
from collections.abc import Sequence

from heed.text.tokenizer import Tokenizer

# The mark of bytes that are no character, and characters of no width. The two joiners are right between letters of
# scripts that need them, such as Persian and Hindi, and between emoji.
_NEEDS_JOINERS = "\u0600-\u1cff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_UNWANTED = re.compile(
    f"[\ufffd\u200b\u2060\ufeff\u00ad]|(?<![{_NEEDS_JOINERS}])[\u200c\u200d]|[\u200c\u200d](?![{_NEEDS_JOINERS}])"
)
_CHARACTERS = frozenset("\ufffd\u200b\u200c\u200d\u2060\ufeff\u00ad")


def unwanted_in(translation: str, given: str) -> bool:
    """Return whether a translation has broken or invisible characters that are not in the text given."""
    found = _UNWANTED.findall(translation)
    return bool(found) and not set(found).issubset(given)


def tokens_of_unwanted(tokenizer: Tokenizer, given: Sequence[int] = ()) -> frozenset[int]:
    """Return the tokens that may write such characters: single bytes, and pieces that have one; not those given."""
    pieces = enumerate(tokenizer.pieces(range(len(tokenizer))))
    found = {token for token, piece in pieces if not _CHARACTERS.isdisjoint(piece)}
    return frozenset((found | tokenizer.byte_ids).difference(given))


def tokens_of_digits(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the tokens that write a digit."""
    pieces = enumerate(tokenizer.pieces(range(len(tokenizer))))
    found = {token for token, piece in pieces if re.search("[0-9]", piece)} - tokenizer.byte_ids  # named by their bytes
    bytes_of_digits = tokenizer.ids([f"<0x{byte:02X}>" for byte in b"0123456789"])
    return frozenset(found | tokenizer.byte_ids.intersection(bytes_of_digits))
