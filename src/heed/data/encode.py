"""Encode blocks of a parallel text from bytes to arrays of ids. Workers import this module, so it must load fast."""

from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from heed.data.corpus import ParallelText
from heed.text.lines import decode_lines
from heed.text.tokenizer import Tokenizer
from heed.text.words import LineEncoder

LENGTH_DTYPE = np.dtype("<i4")


def id_type(vocabulary: int) -> "np.dtype[np.uint16] | np.dtype[np.int32]":
    """Return the smallest type that can hold every id."""
    return np.dtype("<u2") if vocabulary <= 1 << 16 else np.dtype("<i4")


@dataclass(frozen=True)
class Block:
    """The same lines of both files, as raw bytes; those of a TSV file are all in `source`."""

    first_line: int
    n_lines: int
    source: bytes
    target: bytes


@dataclass(frozen=True)
class Encoded:
    """The encoded pairs of a block without blank ones: concatenated ids with end tokens, as raw bytes."""

    source_ids: bytes
    source_lengths: bytes
    target_ids: bytes
    target_lengths: bytes
    blank: bytes  # the lines of the block that were left out, counted from 0

    def parts(self) -> tuple[bytes, ...]:
        return self.source_ids, self.source_lengths, self.target_ids, self.target_lengths, self.blank


class BlockEncoder:
    def __init__(self, text: ParallelText, tokenizer: Tokenizer) -> None:
        self._text = text
        self._lines = LineEncoder(tokenizer)
        self._id_type = id_type(len(tokenizer))

    def encode(self, block: Block) -> Encoded:
        """Encode a block, and leave out pairs with a blank side.

        Raises:
            DataError: a line is not UTF-8, or does not have two columns.
        """
        if self._text.target:
            source = _decode(block.source, self._text.source, block.first_line)
            target = _decode(block.target, self._text.target, block.first_line)
        else:
            source, target = self._columns(block)
        if self._text.tag:
            source = "".join(f"{self._text.tagged(line)}\n" for line in source.split("\n")[:-1])
        (source_ids, source_lengths), (target_ids, target_lengths) = map(self._lines.encode, (source, target))
        keep = (source_lengths > 1) & (target_lengths > 1)
        return Encoded(
            *self._kept(source_ids, source_lengths, keep),
            *self._kept(target_ids, target_lengths, keep),
            np.flatnonzero(~keep).astype(LENGTH_DTYPE).tobytes(),
        )

    def _kept(self, ids: NDArray[np.int32], lengths: NDArray[np.int32], keep: NDArray[np.bool_]) -> tuple[bytes, bytes]:
        if not keep.all():
            ids, lengths = ids[np.repeat(keep, lengths)], lengths[keep]
        return ids.astype(self._id_type).tobytes(), lengths.astype(LENGTH_DTYPE).tobytes()

    def _columns(self, block: Block) -> tuple[str, str]:
        lines = _decode(block.source, self._text.source, block.first_line).split("\n")[:-1]
        pairs = [self._text.columns(line, block.first_line + i) for i, line in enumerate(lines)]
        source, target = ("".join(f"{pair[side]}\n" for pair in pairs) for side in (0, 1))
        return source, target


def _decode(content: bytes, name: str, first_line: int) -> str:
    """Decode lines to one text, in which every line ends with a line feed."""
    if first_line == 1:
        content = content.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark is not text
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        for _ in decode_lines(BytesIO(content), name, first_line):  # raises an error that names the line
            pass
        raise
    return text if text.endswith("\n") else text + "\n"
