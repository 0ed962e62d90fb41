"""Encode many lines at once, several times as fast as sentencepiece alone, by encoding each word only once.

No piece of our vocabularies contains an inner space, and byte-pair encoding merges only neighbours, so the ids of a
line are the concatenated ids of its words. A table holds the ids of words, and NumPy does the rest.
"""

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

from heed.text.normalize import ODD_BLANKS, SPACE_MARK, normalize
from heed.text.tokenizer import Tokenizer

# Every kind of blank except the space and the line end, which separates lines here.
_ODD_BLANK = re.compile(f"[{ODD_BLANKS}]".replace("\n", ""))

_LINE_END, _EMPTY = 0, 1  # the first two words of every table


class LineEncoder:
    """Encodes blocks of lines. Its table of words is bounded, and never changes a result."""

    def __init__(self, tokenizer: Tokenizer, max_words: int = 200_000) -> None:
        self._tokenizer = tokenizer
        self._max_words = max_words
        self._table = _WordTable(tokenizer)

    def encode(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the concatenated ids of all lines, each with its end token, and the number of ids of each line.

        Every line of `text` must end with a line feed.
        """
        if not self._tokenizer.splits_at_spaces:
            return self._by_lines(text)
        if self._table.size > self._max_words:
            self._table = _WordTable(self._tokenizer)
        text = unicodedata.normalize("NFC", text.replace(SPACE_MARK, "_"))
        # Runs of blanks, and blanks at the ends of lines, only make empty words, which have no ids.
        words = _ODD_BLANK.sub(" ", text).replace("\n", " \n ").split(" ")
        words.pop()  # the empty word after the last line end
        return self._table.look_up(words)

    def _by_lines(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        lines = self._tokenizer.encode_arrays([normalize(line) for line in text.split("\n")[:-1]])
        end = np.array([self._tokenizer.vocabulary.end], dtype=np.int32)
        ids = np.concatenate([part for line in lines for part in (line, end)])
        return ids, np.array([len(line) + 1 for line in lines], dtype=np.int32)


class _Numbers(dict[str, int]):
    """Numbers words in order of first occurrence; `new` are those not yet encoded."""

    def __init__(self, known: dict[str, int]) -> None:
        super().__init__(known)
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        self.new.append(word)
        return number


class _WordTable:
    """A table of the ids of words; word i has `ids[starts[i] : starts[i] + lengths[i]]`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.pieces(range(len(tokenizer)))
        self._begins_word = np.array([piece.startswith(SPACE_MARK) for piece in pieces])
        self._numbers = _Numbers({"\n": _LINE_END, "": _EMPTY})
        self._ids = np.array([tokenizer.vocabulary.end], dtype=np.int32)
        self._lengths = np.array([1, 0], dtype=np.int32)
        self._starts = np.array([0, 1], dtype=np.int64)

    @property
    def size(self) -> int:
        """Return the number of words, or a tenth of the number of ids if that is more: a "word" may be a whole page."""
        return max(len(self._numbers), len(self._ids) // 10)

    def look_up(self, words: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        numbers = np.fromiter(map(self._numbers.__getitem__, words), dtype=np.int32, count=len(words))
        self._encode_new()
        lengths = self._lengths[numbers]
        ends = np.cumsum(lengths, dtype=np.int64)
        positions = np.repeat(self._starts[numbers] - ends + lengths, lengths)
        positions += np.arange(len(positions))
        ends_of_lines = ends[numbers == _LINE_END]
        return self._ids[positions], np.diff(ends_of_lines, prepend=0).astype(np.int32)

    def _encode_new(self) -> None:
        """Encode the new words."""
        if not self._numbers.new:
            return
        # Sentencepiece is faster on lines of many words than word by word; pieces with a space mark begin a word.
        lines = [" ".join(self._numbers.new[i : i + 100]) for i in range(0, len(self._numbers.new), 100)]
        self._numbers.new = []
        ids = np.concatenate(self._tokenizer.encode_arrays(lines))
        begins = np.flatnonzero(self._begins_word[ids]) + len(self._ids)
        self._ids = np.concatenate([self._ids, ids])
        self._starts = np.concatenate([self._starts, begins])
        self._lengths = np.diff(self._starts, append=len(self._ids)).astype(np.int32)
