"""Split a text that is longer than the model's limit into parts that fit, without losing any of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from heed.text.normalize import normalize
from heed.text.tokenizer import Tokenizer

_WINDOW_CHARACTERS = 10_000  # of a long text, encoded together

# Places to cut, best first; a part ends where a match ends.
_BOUNDARIES = (
    ("sentence end", re.compile(r"[.!?…][\"'”’»)\]]*(?= )|[。！？]")),
    ("comma or colon", re.compile(r"[,;:–—](?= )|[、，；：]")),
    ("space", re.compile(r"\S(?= )")),
)


@dataclass(frozen=True)
class Part:
    """A part of a text; `cut` is the kind of boundary it ends at, "end" for the last part."""

    text: str
    cut: str


def split_to_fit(text: str, tokenizer: Tokenizer, limit: int) -> list[Part]:
    """Split a text into parts of at most `limit` tokens; joined, they are the text without spaces at the cuts.

    Cut at the last sentence end that fits, else at a comma, else at a space, else anywhere. A single character that
    takes more byte tokens than `limit` is still a part.
    """
    return list(_parts(normalize(text), tokenizer, limit, "end"))


def _parts(text: str, tokenizer: Tokenizer, limit: int, last: str) -> Iterator[Part]:
    """Yield the parts of a normalised text; `last` is the cut of the last one."""
    text = text.strip(" ")
    # The offsets of all tokens would take hundreds of times the memory of a long text, so it is cut window by window.
    # Even half a window has more than `limit` tokens, so a part can always be cut off it.
    size = max(_WINDOW_CHARACTERS, 2 * (limit + 2) * tokenizer.longest_piece)
    at = 0
    while len(text) - at > size:
        space = text.rfind(" ", at + size // 2, at + size)
        window, end = text[at : space if space > 0 else at + size], 0  # whole words, if possible
        for begin, end, kind in _cuts(window, tokenizer, limit):
            yield from _checked(window[begin:end], tokenizer, limit, kind)
        if not end:  # a foreign vocabulary may drop characters, so that a long window has few tokens
            end = len(window)
            yield from _checked(window, tokenizer, limit, "anywhere")
        at += end + (text[at + end] == " ")
    text, end = text[at:], 0
    for begin, end, kind in _cuts(text, tokenizer, limit):
        yield from _checked(text[begin:end], tokenizer, limit, kind)
    yield from _checked(text[end:], tokenizer, limit, last)


def _cuts(text: str, tokenizer: Tokenizer, limit: int) -> Iterator[tuple[int, int, str]]:
    """Yield begin, end and kind of end of each part but the last."""
    encoding = tokenizer.encode(text)
    begin, first_token = 0, 0
    while len(text) - begin > 1:
        # A part that does not begin at a space gets one more token, which marks the beginning of a word.
        fitting = limit if begin == 0 or text[begin] == " " else max(limit - 1, 1)
        if len(encoding.ids) - first_token <= fitting:
            break
        # The first character that no longer fits, but at least one further, even if it takes several byte tokens.
        end_of_fit = max(encoding.offsets[first_token + fitting][0], begin + 1)
        kind, end = _last_boundary(text, begin, end_of_fit)
        yield begin, end, kind
        begin = end
        # All byte tokens of a character begin at its offset, but only the last one ends at its end.
        while first_token < len(encoding.ids) and encoding.offsets[first_token][0] < begin:
            first_token += 1


def _checked(text: str, tokenizer: Tokenizer, limit: int, cut: str) -> Iterator[Part]:
    """Yield the text as one part if it fits, else as several: a cut inside a word may add tokens to the rest."""
    text = text.strip(" ")
    if len(text) > 1 and len(tokenizer.encode_arrays([text])[0]) > limit:
        yield from _parts(text[: len(text) // 2], tokenizer, limit, "anywhere")
        yield from _parts(text[len(text) // 2 :], tokenizer, limit, cut)
    elif text:
        yield Part(text, cut)


def _last_boundary(text: str, begin: int, end_of_fit: int) -> tuple[str, int]:
    for kind, pattern in _BOUNDARIES:
        # Search one character further, to see the space after a boundary.
        ends = [match.end() for match in pattern.finditer(text, begin, end_of_fit + 1) if match.end() <= end_of_fit]
        if ends:
            return kind, ends[-1]
    return "anywhere", end_of_fit
