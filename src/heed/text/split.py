"""A text longer than the model's limit, in parts that fit. Nothing is ever cut off."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from heed.text.tokenizer import Tokenizer

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
    """Parts of at most `limit` pieces whose texts, joined by spaces, are the text.

    Cut at the last sentence end that fits, else at a comma, else at a space, else anywhere.
    """
    return list(_parts(text, tokenizer, limit))


def _parts(text: str, tokenizer: Tokenizer, limit: int) -> Iterator[Part]:
    encoding = tokenizer.encode(text)
    text, begin, first_piece = encoding.text, 0, 0
    while len(encoding.ids) - first_piece > limit:
        # The first character that no longer fits; always some progress, even through characters spelt in bytes.
        room = max(encoding.offsets[first_piece + limit][0], begin + 1)
        kind, end = _last_boundary(text, begin, room)
        part = text[begin:end].strip(" ")
        if len(tokenizer.encode(part).ids) > limit and end - begin > 1:  # a cut inside a word changes its pieces
            yield from _parts(text[begin : begin + (end - begin) // 2], tokenizer, limit)
            yield from _parts(text[begin + (end - begin) // 2 : end], tokenizer, limit)
        elif part:
            yield Part(part, kind)
        begin = end
        while first_piece < len(encoding.ids) and encoding.offsets[first_piece][1] <= begin:
            first_piece += 1
    if text[begin:].strip(" "):
        yield Part(text[begin:].strip(" "), "end")


def _last_boundary(text: str, begin: int, room: int) -> tuple[str, int]:
    for kind, pattern in _BOUNDARIES:
        # One character more to see the space after a boundary.
        ends = [match.end() for match in pattern.finditer(text, begin, room + 1) if match.end() <= room]
        if ends:
            return kind, ends[-1]
    return "anywhere", room
