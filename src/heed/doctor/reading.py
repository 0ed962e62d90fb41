"""Corpora as bytes, a portion of pairs at a time: a damaged line must not end the reading."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TypeVar

from heed.data.corpus import ParallelText
from heed.errors import DataError
from heed.text.lines import reading

Item = TypeVar("Item")
RawPair = tuple[bytes, bytes]
Watch = Callable[[Iterable[Sequence[RawPair]], int, str], Iterator[Sequence[RawPair]]]
"""Passes portions on and shows how far it has come, given the number of pairs and a word for what is being done."""

PORTION = 1024
NOT_TWO_COLUMNS = b"\t"
"""A TSV line of one column or three is its whole text, with this before it, and no target."""


def unwatched(portions: Iterable[Sequence[RawPair]], total: int, what: str) -> Iterator[Sequence[RawPair]]:
    yield from portions


def count_lines(path: str) -> int:
    if path == "-" or Path(path).is_fifo():
        raise DataError(f"{path}: can be read only once, and a corpus is read several times; put it into a file")
    count, last = 0, b"\n"
    with reading(path) as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    if not count and last == b"\n":
        raise DataError(f"{path}: is empty; a corpus needs at least one line")
    return count + (last != b"\n")


def raw_lines(path: str) -> Iterator[bytes]:
    """Lines without their ends, as `heed.text.lines` has them."""
    rest, mark = b"", b"\xef\xbb\xbf"
    with reading(path) as stream:
        while block := stream.read(1 << 20):
            block = rest + block
            if mark and len(block) >= len(mark):
                block, mark = block.removeprefix(mark), b""
            *lines, rest = block.split(b"\n")
            yield from (line.removesuffix(b"\r") for line in lines) if b"\r" in block else lines
    if rest:
        yield rest.removesuffix(b"\r")


def raw_pairs(text: ParallelText) -> Iterator[RawPair]:
    """Pairs of lines; the shorter file is filled up with blank ones."""
    if text.target:
        yield from zip_longest(raw_lines(text.source), raw_lines(text.target), fillvalue=b"")
        return
    for line in raw_lines(text.source):
        columns = line.split(b"\t")
        if len(columns) == 2:
            yield columns[0], columns[1]
        else:
            yield (NOT_TWO_COLUMNS + line if line.strip() else b""), b""


def portions(text: ParallelText) -> Iterator[list[RawPair]]:
    pairs = raw_pairs(text)
    while portion := list(islice(pairs, PORTION)):
        yield portion
