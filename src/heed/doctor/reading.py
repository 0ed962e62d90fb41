"""Read corpora as bytes, in chunks of pairs, so that a damaged line does not stop the reading."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TypeVar

from heed.data.corpus import ParallelText
from heed.errors import DataError
from heed.text.lines import reading

Item = TypeVar("Item")
RawPair = tuple[bytes, bytes]
Progress = Callable[[Iterable[Sequence[RawPair]], int, str], Iterator[Sequence[RawPair]]]
"""Yields the same chunks and shows progress, given the total number of pairs and a description of the work."""

PAIRS_PER_CHUNK = 1024
NOT_TWO_COLUMNS = b"\t"
"""Prefix of the source of a TSV line without exactly two columns: the source is the whole line, the target empty."""


def without_progress(chunks: Iterable[Sequence[RawPair]], total: int, what: str) -> Iterator[Sequence[RawPair]]:
    yield from chunks


def count_lines(path: str) -> int:
    if path == "-" or Path(path).is_fifo():
        raise DataError(f"{path}: a pipe can be read only once, but a corpus is read several times; save it to a file")
    count, last = 0, b"\n"
    with reading(path) as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    if not count and last == b"\n":
        raise DataError(f"{path}: is empty; a corpus needs at least one line")
    return count + (last != b"\n")


def raw_lines(path: str) -> Iterator[bytes]:
    """Yield lines without their line ends, split like those of `heed.text.lines`."""
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
    """Yield pairs of lines; blank lines pad the shorter file."""
    if text.target:
        yield from zip_longest(raw_lines(text.source), raw_lines(text.target), fillvalue=b"")
        return
    for line in raw_lines(text.source):
        columns = line.split(b"\t")
        if len(columns) == 2:
            yield columns[0], columns[1]
        else:
            yield (NOT_TWO_COLUMNS + line if line.strip() else b""), b""


def chunks(text: ParallelText) -> Iterator[list[RawPair]]:
    pairs = raw_pairs(text)
    while chunk := list(islice(pairs, PAIRS_PER_CHUNK)):
        yield chunk
