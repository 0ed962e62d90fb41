"""A text longer than the model's limit, in parts that fit. Nothing is ever cut off."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from heed.text.normalize import normalize
from heed.text.tokenizer import Tokenizer

_WINDOW_CHARACTERS = 10_000  # of a long text, looked at together

# Where to cut, best first; a part ends where a match ends.
_BOUNDARIES = (
    ("sentence end", re.compile(r"[.!?…][\"'”’»)\]]*(?= )|[。！？]")),
    ("comma or colon", re.compile(r"[,;:–—](?= )|[、，；：]")),
    ("space", re.compile(r"\S(?= )")),
)


@dataclass(frozen=True)
class Part:
    """`cut` says what it ends at: "end" for the last part, else the kind of boundary."""

    text: str
    cut: str


def split_to_fit(text: str, tokenizer: Tokenizer, limit: int) -> list[Part]:
    """Parts of at most `limit` pieces whose texts, one after the other, are the text but for spaces at the cuts.

    Cut at the last sentence end that fits, else at a comma, else at a space, else anywhere. A single
    character spelt in more bytes than `limit` is a part all the same.
    """
    return list(_parts(normalize(text), tokenizer, limit, "end"))


def _parts(text: str, tokenizer: Tokenizer, limit: int, last: str) -> Iterator[Part]:
    """`last` is the cut of the last part."""
    text = text.strip(" ")
    # The offsets of all pieces would take hundreds of times the memory of a long text, so it is cut window by window.
    # Even half a window has more than `limit` pieces, so that a part can be cut off it.
    size = max(_WINDOW_CHARACTERS, 2 * (limit + 2) * tokenizer.longest_piece)
    at = 0
    while len(text) - at > size:
        space = text.rfind(" ", at + size // 2, at + size)
        window, end = text[at : space if space > 0 else at + size], 0  # whole words, if it can be
        for begin, end, kind in _cuts(window, tokenizer, limit):
            yield from _checked(window[begin:end], tokenizer, limit, kind)
        if not end:  # a vocabulary from elsewhere may drop characters: few pieces, whatever the length
            end = len(window)
            yield from _checked(window, tokenizer, limit, "anywhere")
        at += end + (text[at + end] == " ")
    text, end = text[at:], 0
    for begin, end, kind in _cuts(text, tokenizer, limit):
        yield from _checked(text[begin:end], tokenizer, limit, kind)
    yield from _checked(text[end:], tokenizer, limit, last)


def _cuts(text: str, tokenizer: Tokenizer, limit: int) -> Iterator[tuple[int, int, str]]:
    """Where each part but the last begins and ends, and the kind of its end."""
    encoding = tokenizer.encode(text)
    begin, first_piece = 0, 0
    while len(text) - begin > 1:
        # A part that does not begin at a space gets a piece more, the mark of a word's beginning.
        fitting = limit if begin == 0 or text[begin] == " " else max(limit - 1, 1)
        if len(encoding.ids) - first_piece <= fitting:
            break
        # The first character that no longer fits; always some progress, even through characters spelt in bytes.
        room = max(encoding.offsets[first_piece + fitting][0], begin + 1)
        kind, end = _last_boundary(text, begin, room)
        yield begin, end, kind
        begin = end
        # The bytes of one character all start where it does, but only the last one ends where it ends.
        while first_piece < len(encoding.ids) and encoding.offsets[first_piece][0] < begin:
            first_piece += 1


def _checked(text: str, tokenizer: Tokenizer, limit: int, cut: str) -> Iterator[Part]:
    """One part, or several: after a cut inside a word the rest may have more pieces than it had before."""
    text = text.strip(" ")
    if len(text) > 1 and len(tokenizer.encode_arrays([text])[0]) > limit:
        yield from _parts(text[: len(text) // 2], tokenizer, limit, "anywhere")
        yield from _parts(text[len(text) // 2 :], tokenizer, limit, cut)
    elif text:
        yield Part(text, cut)


def _last_boundary(text: str, begin: int, room: int) -> tuple[str, int]:
    for kind, pattern in _BOUNDARIES:
        # One character more to see the space after a boundary.
        ends = [match.end() for match in pattern.finditer(text, begin, room + 1) if match.end() <= room]
        if ends:
            return kind, ends[-1]
    return "anywhere", room
