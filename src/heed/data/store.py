"""A parallel corpus as ids, in four flat arrays: no Python object per sentence."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from heed.symbols import EOS
from heed.text.tokenizer import Tokenizer

_LINES_AT_ONCE = 10_000


@dataclass(frozen=True)
class Sequences:
    """Many id sequences end to end; sequence i is `ids[starts[i] : starts[i + 1]]`, EOS included."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> NDArray[np.int32]:
        return self.ids[self.starts[i] : self.starts[i + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)


@dataclass(frozen=True)
class PairStore:
    """Encoded pairs fit for training, and an account of those that are not.

    `lines[i]` is the line number in the files that pair i comes from.
    """

    source: Sequences
    target: Sequences
    lines: NDArray[np.int64]
    blank_lines: tuple[int, ...]  # a side is blank
    long_lines: tuple[int, ...]  # a side is longer than the model's limit

    def __len__(self) -> int:
        return len(self.source)

    @property
    def checksum(self) -> str:
        """The same for the same pairs in the same order only."""
        digest = hashlib.sha256()
        for side in (self.source, self.target):
            digest.update(side.starts.tobytes())
            digest.update(side.ids.tobytes())
        return digest.hexdigest()


def encode_pairs(pairs: Iterable[tuple[str, str]], tokenizer: Tokenizer, max_length: int) -> PairStore:
    """Encode a corpus, leaving out (and accounting for) pairs with a blank or over-long side."""
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    lines: list[int] = []
    blank: list[int] = []
    long: list[int] = []
    number = 0
    for chunk in _chunked(pairs):
        sources, targets = (tokenizer.encode_ids(texts) for texts in zip(*chunk, strict=True))
        for source, target in zip(sources, targets, strict=True):
            number += 1
            if not source or not target:
                blank.append(number)
            elif max(len(source), len(target)) > max_length:
                long.append(number)
            else:
                sides[0].append(source)
                sides[1].append(target)
                lines.append(number)
    return PairStore(_flatten(sides[0]), _flatten(sides[1]), np.array(lines, dtype=np.int64), tuple(blank), tuple(long))


def _flatten(sequences: list[list[int]]) -> Sequences:
    starts = np.zeros(len(sequences) + 1, dtype=np.int64)
    np.cumsum([len(ids) + 1 for ids in sequences], out=starts[1:])
    flat = np.fromiter((i for ids in sequences for i in (*ids, EOS)), dtype=np.int32, count=starts[-1])
    return Sequences(flat, starts)


def _chunked(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    iterator = iter(pairs)
    while chunk := list(islice(iterator, _LINES_AT_ONCE)):
        yield chunk
