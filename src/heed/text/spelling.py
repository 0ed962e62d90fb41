"""The text that pieces spell, and the words that they make."""

import re
from collections.abc import Sequence

from heed.text.normalize import SPACE_MARK

# Thai, Lao, Burmese, Khmer; Japanese and Chinese.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[\U00020000-\U0003ffff]"
)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>$")


def has_unspaced_script(text: str) -> bool:
    """Return whether a text has a character of a script that is written without spaces."""
    return _UNSPACED.search(text) is not None


def byte_of(piece: str) -> str | None:
    """Return the two digits of a piece that stands for a byte; None for other pieces."""
    found = _BYTE.match(piece)
    return found and found[1]


def spelt(piece: str) -> bytes:
    """Return the bytes that a piece spells."""
    byte = byte_of(piece)
    return bytes.fromhex(byte) if byte else piece.replace(SPACE_MARK, " ").encode()


def decoded(parts: Sequence[bytes]) -> tuple[str, list[tuple[int, int]]]:
    """Return a text given as the bytes of its pieces, without the space it begins with, and each piece's characters."""
    # A byte that is part of no character becomes one replacement mark.
    text = b"".join(parts).decode(errors="surrogateescape")
    character_of = [n for n, one in enumerate(text) for _ in one.encode(errors="surrogateescape")] + [len(text)]
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    leading = text.startswith(" ")
    spans, at = [], 0
    for one in parts:
        begin, last = character_of[at], character_of[at + len(one) - 1]
        spans.append((max(begin - leading, 0), last + 1 - leading))
        at += len(one)
    return text[leading:], spans


def words(pieces: Sequence[str], text: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the numbers of each word's pieces, given what `decoded` returns for them.

    A word begins at each space, and around each character of a script that is written without spaces.
    """
    found: list[list[int]] = []
    reached = 0
    for i, (piece, (begin, end)) in enumerate(zip(pieces, spans, strict=True)):
        is_new_character = 0 < reached <= begin < len(text)
        between = is_new_character and has_unspaced_script(text[begin - 1 : begin + 1])
        is_open = bool(found) and [pieces[n] for n in found[-1]] != [SPACE_MARK]
        if piece.startswith(SPACE_MARK) or not found or (between and is_open):
            found.append([])
        found[-1].append(i)
        reached = max(reached, end)
    return found
