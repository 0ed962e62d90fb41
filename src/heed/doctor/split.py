"""Split a corpus into training, validation and test text that share no source sentence.

Random lines are not enough: a source often has several translations, so a model would be tested on sources it was
trained on. Lines are therefore drawn by source sentence, ignoring case, spaces and punctuation.
"""

import gzip
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from heed.data.corpus import ParallelText
from heed.doctor.measure import Lines, hashes
from heed.doctor.reading import PAIRS_PER_CHUNK, Progress, RawPair, without_progress
from heed.durable import new_folder
from heed.errors import ConfigError, DataError

TRAIN, VALID, TEST = PARTS = ("train", "valid", "test")
_NEVER_HELD_OUT = -1  # the group of pairs that are useless for testing: a side has no letter or digit


@dataclass(frozen=True)
class Split:
    """The parts that were written; there is no test part if it was to have no lines."""

    texts: dict[str, ParallelText]
    counts: dict[str, int]
    n_sources: int
    """Number of different source sentences in the whole corpus; all that are never held out count as one."""


def split(
    text: ParallelText, out: Path, n_valid: int, n_test: int, seed: int = 1, progress: Progress = without_progress
) -> Split:
    """Write the parts of a corpus to a new folder; each line goes to exactly one part, in the original order.

    Raises:
        ConfigError: the folder is not empty, or a size is out of range.
        DataError: the corpus cannot be read, or is too small.
    """
    refuse_folder(out)
    if n_valid < 1 or n_test < 0:
        raise ConfigError(f"--valid {n_valid} --test {n_test}: --valid must be at least 1, --test at least 0")
    n_pairs = text.count()
    groups = _groups(progress(_chunks(text), n_pairs, "reading"))
    part_of_line = _draw(groups, {VALID: n_valid, TEST: n_test}, random.Random(seed), text.name)
    counts = {part: int((part_of_line == number).sum()) for number, part in enumerate(PARTS)}
    out.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(out) as folder:
        files = [_files(text, folder, part) if counts[part] else [] for part in PARTS]
        _write(progress(_chunks(text), n_pairs, "writing"), part_of_line, files)
    texts = {part: ParallelText(*map(str, _files(text, out, part))) for part in PARTS if counts[part]}
    return Split(texts, counts, len(np.unique(groups)))


def refuse_folder(out: Path) -> None:
    """Raise ConfigError if writing to this folder would overwrite something."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; name a new folder for the parts")
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out}: is not empty; name a new folder, so that nothing is overwritten")


def _chunks(text: ParallelText) -> Iterator[list[RawPair]]:
    pairs = ((source.encode(), target.encode()) for source, target in text)
    while chunk := list(islice(pairs, PAIRS_PER_CHUNK)):
        yield chunk


def _groups(chunks: Iterable[Sequence[RawPair]]) -> NDArray[np.int64]:
    """Return for each pair the number of its source sentence, in order of first appearance."""
    sources, usable = [], []
    for chunk in chunks:
        source, target = (Lines([pair[side] for pair in chunk]) for side in (0, 1))
        sources.append(hashes(source.folded))
        usable += [bool(a and b) for a, b in zip(source.folded, target.folded, strict=True)]
    # The hashes differ from process to process; the order of first appearance does not.
    _, first, inverse = np.unique(np.concatenate(sources), return_index=True, return_inverse=True)
    groups: NDArray[np.int64] = first.argsort().argsort()[inverse]
    groups[np.isin(groups, groups[~np.array(usable, dtype=bool)])] = _NEVER_HELD_OUT
    return groups


def _draw(groups: NDArray[np.int64], wanted: dict[str, int], chance: random.Random, name: str) -> NDArray[np.int8]:
    """Return for each pair the number of its part.

    Sources are taken in random order, each with all its lines, as long as they fit.
    """
    sizes = np.bincount(groups[groups != _NEVER_HELD_OUT]).tolist()
    order = [group for group, size in enumerate(sizes) if size]
    chance.shuffle(order)
    # One entry more than groups: _NEVER_HELD_OUT, as index -1, finds the last.
    part_of_group = np.full(len(sizes) + 1, PARTS.index(TRAIN), dtype=np.int8)
    for part, left in wanted.items():
        rest = []
        for group in order:
            if sizes[group] <= left:
                part_of_group[group] = PARTS.index(part)
                left -= sizes[group]
            else:
                rest.append(group)
        if left or not rest:
            asked = " ".join(f"--{part} {n}" for part, n in wanted.items())
            raise DataError(
                f"{name}: {len(groups):,} pairs with {len(sizes):,} different source sentences are too few for {asked} "
                "and a training part; ask for fewer lines"
            )
        order = rest
    return part_of_group[groups]


def _files(text: ParallelText, folder: Path, part: str) -> list[Path]:
    """Name the files of a part: `train.en` and `train.de` for `corpus.en` and `corpus.de`.

    If the corpus's files have the same ending or none, the part's have `.source` and `.target`.
    """
    paths = [Path(path) for path in (text.source, text.target) if path]
    endings = [Path(path.name.removesuffix(".gz")).suffix for path in paths]
    if len(endings) == 2 and (endings[0] == endings[1] or not all(endings)):
        endings = [".source", ".target"]
    return [
        folder / f"{part}{ending}{'.gz' * (path.suffix == '.gz')}" for path, ending in zip(paths, endings, strict=True)
    ]


def _write(chunks: Iterable[Sequence[RawPair]], part_of_line: NDArray[np.int8], files: list[list[Path]]) -> None:
    with ExitStack() as stack:
        streams = [[stack.enter_context(_writing(path)) for path in paths] for paths in files]
        pairs = (pair for chunk in chunks for pair in chunk)
        for pair, part in zip(pairs, part_of_line.tolist(), strict=True):
            if len(streams[part]) == 1:
                streams[part][0].write(b"\t".join(pair) + b"\n" if any(pair) else b"\n")
                continue
            for stream, line in zip(streams[part], pair, strict=True):
                stream.write(line + b"\n")


@contextmanager
def _writing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file, which is compressed if its name ends in `.gz` and flushed to the disk at the end."""
    with open(path, "wb") as raw:
        if path.suffix == ".gz":
            # No name and no time in the header, so that the same text gives the same file.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield raw
        raw.flush()
        os.fsync(raw.fileno())
