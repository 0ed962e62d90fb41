"""Pieces grouped into words, with the characters of the text that each piece covers."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.text.normalize import SPACE_MARK
from heed.text.spelling import byte_of, decoded, spelt, words
from heed.text.tokenizer import Tokenizer
from heed.translation import START

Floats = NDArray[np.floating[Any]]

END = "</s>"


@dataclass(frozen=True)
class Side:
    """A sentence as the model reads or writes it; the last piece is the end token.

    `words` lists the numbers of each word's pieces. A word is the text between two spaces, or a piece of a script
    that has none; the end token is a word of its own.
    """

    text: str
    ids: list[int]
    pieces: list[str]
    labels: list[str]  # of pieces, to be shown: no space marks, bytes as the character they are a part of
    offsets: list[tuple[int, int]]  # text[begin:end] of each piece; empty for the end token
    words: list[list[int]]
    word_labels: list[str]

    @property
    def input_labels(self) -> list[str]:
        """The labels of the decoder's inputs: the start, then all pieces but the last."""
        return [START, *self.labels[:-1]]


def side_of(tokenizer: Tokenizer, ids: Sequence[int], lone: Set[str] = frozenset()) -> Side:
    """Describe a sentence given as ids without the end token. Pieces in `lone` are words of their own.

    The text is what the pieces spell, byte by byte: a model need not spell a word as the tokenizer would, nor in bytes
    that make a character. A byte that is part of a character has that character's offsets.
    """
    pieces = tokenizer.pieces(ids)
    marked = [SPACE_MARK + piece if piece in lone else piece for piece in pieces]
    parts = [spelt(piece) for piece in marked]
    text, ends = decoded(parts)
    offsets = []
    for number, (begin, end) in enumerate(ends):
        is_space = begin < end and text[begin] == " " and parts[number] != b" "
        offsets.append((begin + is_space, end))
    grouped = words(marked, text, ends)
    word_labels = [decoded([parts[i] for i in word])[0].strip(" ") for word in grouped]
    return Side(
        text,
        [*ids, tokenizer.vocabulary.end],
        [*pieces, END],
        [*map(shown, pieces), END],
        [*offsets, (len(text), len(text))],
        [*grouped, [len(pieces)]],
        [*(label or "␣" for label in word_labels), END],
    )


def shown(piece: str) -> str:
    """Show a lone space as such, a byte by its number, and other pieces without their space mark."""
    if (byte := byte_of(piece)) is not None:
        return f"⟨{byte}⟩"
    return piece.replace(SPACE_MARK, "") or "␣"


def by_words(weights_LM: Floats, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Floats:
    """Return attention between words: the mean over the pieces of a row's word, the sum over those of a column's."""
    summed = np.stack([weights_LM[:, list(members)].sum(1) for members in columns], axis=1)
    return np.stack([summed[list(members)].mean(0) for members in rows])
