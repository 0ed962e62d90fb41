"""Many lines to ids at once, several times as fast as sentencepiece alone: each word is encoded once.

No piece of our vocabularies reaches over a space, and byte-pair encoding merges neighbours only, so the ids of a
line are the ids of its words, one after the other. The words of a block of text are looked up in a table, and all
the rest is NumPy.
"""

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

from heed.text.normalize import ODD_BLANKS, SPACE_MARK, normalize
from heed.text.tokenizer import Tokenizer

# Every kind of blank but the space itself and the line end, which here stands between lines.
_ODD_BLANK = re.compile(f"[{ODD_BLANKS}]".replace("\n", ""))

_LINE_END, _NOTHING = 0, 1  # the two words every table begins with


class LineEncoder:
    """Ids of whole blocks of lines. What it remembers of words is bounded, and never changes a result."""

    def __init__(self, tokenizer: Tokenizer, most_words: int = 200_000) -> None:
        self._tokenizer = tokenizer
        self._most_words = most_words
        self._table = _WordTable(tokenizer)

    def encode(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ids of all lines end to end, each closed by an end token, and how many each line has.

        Every line of `text` ends with a line feed.
        """
        if not self._tokenizer.splits_at_spaces:
            return self._by_lines(text)
        if self._table.size > self._most_words:
            self._table = _WordTable(self._tokenizer)
        text = unicodedata.normalize("NFC", text.replace(SPACE_MARK, "_"))
        # Blanks at the ends of lines and runs of them only make empty words, which have no ids.
        words = _ODD_BLANK.sub(" ", text).replace("\n", " \n ").split(" ")
        words.pop()  # what follows the last line end
        return self._table.look_up(words)

    def _by_lines(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        lines = self._tokenizer.encode_arrays([normalize(line) for line in text.split("\n")[:-1]])
        end = np.array([self._tokenizer.vocabulary.end], dtype=np.int32)
        ids = np.concatenate([part for line in lines for part in (line, end)])
        return ids, np.array([len(line) + 1 for line in lines], dtype=np.int32)


class _Numbers(dict[str, int]):
    """Words in the order they were met; the `new` ones are those nobody has taken up yet."""

    def __init__(self, known: dict[str, int]) -> None:
        super().__init__(known)
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        self.new.append(word)
        return number


class _WordTable:
    """The ids of words: those of word i are `ids[starts[i] : starts[i] + lengths[i]]`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = tokenizer.pieces(range(len(tokenizer)))
        self._begins_word = np.array([piece.startswith(SPACE_MARK) for piece in pieces])
        self._numbers = _Numbers({"\n": _LINE_END, "": _NOTHING})
        self._ids = np.array([tokenizer.vocabulary.end], dtype=np.int32)
        self._lengths = np.array([1, 0], dtype=np.int32)
        self._starts = np.array([0, 1], dtype=np.int64)

    @property
    def size(self) -> int:
        """Words, or their ids if those are many: a "word" may be a page without a space."""
        return max(len(self._numbers), len(self._ids) // 10)

    def look_up(self, words: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        numbers = np.fromiter(map(self._numbers.__getitem__, words), dtype=np.int32, count=len(words))
        self._learn()
        lengths = self._lengths[numbers]
        ends = np.cumsum(lengths, dtype=np.int64)
        positions = np.repeat(self._starts[numbers] - ends + lengths, lengths)
        positions += np.arange(len(positions))
        ends_of_lines = ends[numbers == _LINE_END]
        return self._ids[positions], np.diff(ends_of_lines, prepend=0).astype(np.int32)

    def _learn(self) -> None:
        """Encode the words that were met for the first time."""
        if not self._numbers.new:
            return
        # In lines of some words sentencepiece is quicker than word by word; a word's first piece shows where it begins.
        lines = [" ".join(self._numbers.new[i : i + 100]) for i in range(0, len(self._numbers.new), 100)]
        self._numbers.new = []
        ids = np.concatenate(self._tokenizer.encode_arrays(lines))
        begins = np.flatnonzero(self._begins_word[ids]) + len(self._ids)
        self._ids = np.concatenate([self._ids, ids])
        self._starts = np.concatenate([self._starts, begins])
        self._lengths = np.diff(self._starts, append=len(self._ids)).astype(np.int32)
