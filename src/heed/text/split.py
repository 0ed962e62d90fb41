"""Split a text that is longer than the model's limit into parts that fit, without losing any of it."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from heed.text.copying import copied_spans
from heed.text.normalize import normalize
from heed.text.tokenizer import Tokenizer

_WINDOW_CHARACTERS = 10_000  # of a long text, encoded together

# Places to cut, best first; a part ends where a match ends.
_BOUNDARIES = (
    ("sentence end", re.compile(r"[.!?…][\"'”’»)\]]*(?= )|[。！？]")),
    ("comma or colon", re.compile(r"[,;:–—](?= )|[、，；：]")),
    ("space", re.compile(r"\S(?= )")),
)
_CLOSING_MARKS = re.compile(r"[.,;:!?)\]\"'”’»…]*")


@dataclass(frozen=True)
class Part:
    """A part of a text; `cut` is the kind of boundary it ends at, "end" for the last part."""

    text: str
    cut: str
    is_copied: bool = False  # not translated, because it must be copied and is longer than the limit
    was_in_capitals: bool = False  # so its translation will be


def split_to_fit(text: str, tokenizer: Tokenizer, limit: int, copy: bool = False) -> list[Part]:
    """Split a text into parts of at most `limit` tokens; joined, they are the text without spaces at the cuts.

    Cut at the last sentence end that fits, else at a comma, else at a space, else anywhere; but not inside what a
    translation must copy, such as an address. If that alone is too long, then with `copy` it is a part of its own, and
    else it is cut as well. A single character that takes more byte tokens than `limit` is still a part.
    """
    text = normalize(text)
    spans = [(span.begin, span.end) for span in copied_spans(text)]
    lengths = [len(ids) for ids in tokenizer.encode_arrays([text[begin:end] for begin, end in spans])]
    fitting = [span for span, length in zip(spans, lengths, strict=True) if length <= limit]
    splitter = _Splitter(text, tokenizer, limit, fitting)
    parts: list[Part] = []
    at = 0
    for (begin, end), length in zip(spans, lengths, strict=True) if copy else ():
        if length > limit:
            parts += splitter.parts(at, begin, "anywhere")
            closing = _CLOSING_MARKS.match(text, end)  # a full stop alone is no sentence
            assert closing is not None
            at = closing.end()
            parts.append(Part(text[begin:at], "anywhere", is_copied=True))
    parts += splitter.parts(at, len(text), "end")
    return [*parts[:-1], replace(parts[-1], cut="end")] if parts else []


class _Splitter:
    """Cuts ranges of a normalised text, but never inside one of the spans, which all fit."""

    def __init__(self, text: str, tokenizer: Tokenizer, limit: int, spans: Sequence[tuple[int, int]]) -> None:
        self._text, self._tokenizer, self._limit = text, tokenizer, limit
        self._begins, self._ends = [begin for begin, _ in spans], [end for _, end in spans]

    def parts(self, begin: int, end: int, last: str) -> Iterator[Part]:
        """Yield the parts of a range of the text; `last` is the cut of the last one."""
        text = self._text
        while begin < end and text[begin] == " ":
            begin += 1
        # The offsets of all tokens would take hundreds of times the memory of a long text, so it is cut window by
        # window. Even half a window has more than `limit` tokens, so a part can always be cut off it.
        size = max(_WINDOW_CHARACTERS, 2 * (self._limit + 2) * self._tokenizer.longest_piece)
        while end - begin > size:
            space = text.rfind(" ", begin + size // 2, begin + size)
            stop = self._outside(space if space > 0 else begin + size)[1]  # whole words, if possible
            if stop >= end:
                break
            done = begin
            for at, done, kind in self._cuts(begin, stop):
                yield from self._checked(at, done, kind)
            if done == begin:  # a foreign vocabulary may drop characters, so that a long window has few tokens
                done = stop
                yield from self._checked(begin, stop, "anywhere")
            begin = done + (text[done] == " ")
        done = begin
        for at, done, kind in self._cuts(begin, end):
            yield from self._checked(at, done, kind)
        yield from self._checked(done, end, last)

    def _cuts(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """Yield begin, end and kind of end of each part of a range but the last."""
        text, limit = self._text, self._limit
        encoding = self._tokenizer.encode(text[first:last])
        first += last - first - len(text[first:last].lstrip(" "))  # where the encoded text begins
        begin, token = first, 0
        while last - begin > 1:
            # A part that does not begin at a space gets one more token, which marks the beginning of a word.
            fitting = limit if begin == first or text[begin] == " " else max(limit - 1, 1)
            if len(encoding.ids) - token <= fitting:
                break
            # The first character that no longer fits, but at least one further, even if it takes several byte tokens.
            end_of_fit = max(first + encoding.offsets[token + fitting][0], begin + 1)
            kind, end = self._last_boundary(begin, end_of_fit)
            if end >= last:
                break
            yield begin, end, kind
            begin = end
            # All byte tokens of a character begin at its offset, but only the last one ends at its end.
            while token < len(encoding.ids) and first + encoding.offsets[token][0] < begin:
                token += 1

    def _checked(self, begin: int, end: int, cut: str) -> Iterator[Part]:
        """Yield a range as one part if it fits, else as several: a cut inside a word may add tokens to the rest."""
        text = self._text[begin:end].strip(" ")
        if len(text) > 1 and len(self._tokenizer.encode_arrays([text])[0]) > self._limit:
            before, after = self._outside((begin + end) // 2)
            middle = before if before > begin else after
            if middle < end:
                yield from self.parts(begin, middle, "anywhere")
                yield from self.parts(middle, end, cut)
                return
        if text:
            yield Part(text, cut)

    def _last_boundary(self, begin: int, end_of_fit: int) -> tuple[str, int]:
        for kind, pattern in _BOUNDARIES:
            # Search one character further, to see the space after a boundary.
            matches = pattern.finditer(self._text, begin, end_of_fit + 1)
            ends = [match.end() for match in matches if match.end() <= end_of_fit and self._is_outside(match.end())]
            if ends:
                return kind, ends[-1]
        before, after = self._outside(end_of_fit)
        return "anywhere", before if before > begin else after

    def _outside(self, at: int) -> tuple[int, int]:
        """Return begin and end of the span that a place is inside of, or twice the place."""
        i = bisect_left(self._begins, at) - 1
        return (self._begins[i], self._ends[i]) if i >= 0 and at < self._ends[i] else (at, at)

    def _is_outside(self, at: int) -> bool:
        return self._outside(at) == (at, at)
