"""Pieces grouped into words, with the characters of the text that each piece covers."""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.text.normalize import SPACE_MARK
from heed.text.tokenizer import Tokenizer
from heed.translation import START

Floats = NDArray[np.floating[Any]]

END = "</s>"
# Thai, Lao, Burmese, Khmer; Japanese and Chinese.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[\U00020000-\U0003ffff]"
)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>$")


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
    spelt = [_bytes(piece) for piece in marked]
    text, ends = _decoded(spelt)
    offsets = []
    for number, (begin, end) in enumerate(ends):
        is_space = begin < end and text[begin] == " " and spelt[number] != b" "
        offsets.append((begin + is_space, end))
    words = _words(marked, text, ends)
    word_labels = [_decoded([spelt[i] for i in word])[0].strip(" ") for word in words]
    return Side(
        text,
        [*ids, tokenizer.vocabulary.end],
        [*pieces, END],
        [*map(shown, pieces), END],
        [*offsets, (len(text), len(text))],
        [*words, [len(pieces)]],
        [*(label or "␣" for label in word_labels), END],
    )


def _bytes(piece: str) -> bytes:
    byte = _BYTE.match(piece)
    return bytes.fromhex(byte[1]) if byte else piece.replace(SPACE_MARK, " ").encode()


def _decoded(spelt: Sequence[bytes]) -> tuple[str, list[tuple[int, int]]]:
    """Return a text given as the bytes of its pieces, without the space it begins with, and each piece's characters."""
    # A byte that is part of no character becomes one replacement mark.
    text = b"".join(spelt).decode(errors="surrogateescape")
    character_of = [n for n, one in enumerate(text) for _ in one.encode(errors="surrogateescape")] + [len(text)]
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    leading = text.startswith(" ")
    spans, at = [], 0
    for one in spelt:
        begin, last = character_of[at], character_of[at + len(one) - 1]
        spans.append((max(begin - leading, 0), last + 1 - leading))
        at += len(one)
    return text[leading:], spans


def _words(pieces: Sequence[str], text: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Begin a word at each space, and around each character of a script that is written without spaces."""
    words: list[list[int]] = []
    reached = 0
    for i, (piece, (begin, end)) in enumerate(zip(pieces, spans, strict=True)):
        is_new_character = 0 < reached <= begin < len(text)
        between = is_new_character and _UNSPACED.search(text[begin - 1 : begin + 1]) is not None
        is_open = bool(words) and [pieces[n] for n in words[-1]] != [SPACE_MARK]
        if piece.startswith(SPACE_MARK) or not words or (between and is_open):
            words.append([])
        words[-1].append(i)
        reached = max(reached, end)
    return words


def shown(piece: str) -> str:
    """Show a lone space as such, a byte by its number, and other pieces without their space mark."""
    if (byte := _BYTE.match(piece)) is not None:
        return f"⟨{byte[1]}⟩"
    return piece.replace(SPACE_MARK, "") or "␣"


def by_words(weights_LM: Floats, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Floats:
    """Return attention between words: the mean over the pieces of a row's word, the sum over those of a column's."""
    summed = np.stack([weights_LM[:, list(members)].sum(1) for members in columns], axis=1)
    return np.stack([summed[list(members)].mean(0) for members in rows])
