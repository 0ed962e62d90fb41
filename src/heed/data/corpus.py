"""Read pairs of lines from two line-aligned files, or from one with tabs. Every error names file and line."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from heed.errors import ConfigError, DataError
from heed.text.lines import count_lines, read_lines, reading
from heed.text.normalize import normalize
from heed.wording import counted


@dataclass(frozen=True)
class ParallelText:
    """Pairs of source and target lines. Without `target`, `source` is a TSV file with both.

    `tag` is a word that every source line begins with, without being in the file.
    """

    source: str
    target: str = ""
    tag: str = ""

    def __post_init__(self) -> None:
        if self.target and self.source.removesuffix(".gz").endswith(".tsv"):
            raise ConfigError(
                f"{self.source}: a .tsv file holds both languages, so it cannot have a target file {self.target}; "
                "drop one of the two"
            )
        if not self.target and not self.source.removesuffix(".gz").endswith(".tsv"):
            raise ConfigError(
                f"{self.source}: has no translation; name a target file with as many lines (--target), "
                "or use one .tsv file with source, tab, target on each line"
            )

    @property
    def name(self) -> str:
        return f"{self.source} and {self.target}" if self.target else self.source

    def count(self) -> int:
        """Return the number of pairs.

        Raises:
            DataError: the files are empty or have different numbers of lines.
        """
        counts = [(path, count_lines_of(path)) for path in (self.source, self.target) if path]
        for path, count in counts:
            if count == 0:
                raise DataError(f"{path}: is empty; a corpus needs at least one line")
        if len({count for _, count in counts}) > 1:
            (source, n_source), (target, n_target) = counts
            raise DataError(
                f"{source} has {counted(n_source, 'line')}, but {target} has {n_target:,}; line n of one must be the "
                "translation of line n of the other. If these are the right files, find where they diverge with: "
                + shlex.join(["heed", "doctor", "--source", source, "--target", target])
            )
        return counts[0][1]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        if self.target:
            for source, target in zip(read_lines(self.source), read_lines(self.target), strict=True):
                yield self.tagged(source), target
            return
        for number, line in enumerate(read_lines(self.source), 1):
            source, target = self.columns(line, number)
            yield self.tagged(source), target

    def tagged(self, source: str) -> str:
        """Return a source line with its tag; a blank line stays as it is, because it is left out."""
        return f"{self.tag} {source}" if self.tag and normalize(source) else source

    def columns(self, line: str, number: int) -> tuple[str, str]:
        """Return both sides of a line of a TSV file; both are empty for a blank line."""
        columns = line.split("\t")
        if len(columns) != 2 and line.strip():
            raise DataError(
                f"{self.source}, line {number}: {counted(len(columns), 'column')}; write source, one tab, target"
            )
        return (columns[0], columns[1]) if len(columns) == 2 else ("", "")


def evenly_spaced_lines(pairs: Iterable[tuple[str, str]], n_pairs: int, at_most: int) -> Iterator[str]:
    """Yield lines of both languages to learn a vocabulary from: all, or every k-th if there are more than `at_most`."""
    every = -(-n_pairs // at_most)
    for source, target in islice(pairs, 0, None, every):
        yield source
        yield target


def overlap(train: Iterable[tuple[str, str]], pairs: list[tuple[str, str]]) -> int:
    """Count the (validation) pairs that are in the training text as well, letter for letter."""
    shared = set(pairs).intersection(train)
    return sum(pair in shared for pair in pairs)


def count_lines_of(path: str) -> int:
    """Return the number of lines of a file that will be read again.

    Raises:
        DataError: it cannot be read, or only once.
    """
    if path == "-" or Path(path).is_fifo():
        raise DataError(f"{path}: a pipe can be read only once, but a corpus is read several times; save it to a file")
    with reading(path) as stream:
        return count_lines(iter(lambda: stream.read(1 << 20), b""))
