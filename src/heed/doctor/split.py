"""Split a corpus into training, validation and test text that share no source sentence.

A random line is not enough: one source often has several translations, and a model that trained on one of them is
tested on what it has seen. So lines are drawn by source sentence, compared without case, spaces and punctuation.
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
from heed.doctor.reading import PORTION, RawPair, Watch, unwatched
from heed.durable import new_folder
from heed.errors import ConfigError, DataError

TRAIN, VALID, TEST = PARTS = ("train", "valid", "test")
_NEVER_HELD_OUT = -1  # the group of pairs that cannot test anything: a side without a letter or digit


@dataclass(frozen=True)
class Split:
    """The parts that were written; the test part is missing if it was to have no lines."""

    texts: dict[str, ParallelText]
    counts: dict[str, int]
    n_sources: int
    """Different source sentences in the whole corpus; all that cannot be tested by count as one."""


def split(text: ParallelText, out: Path, n_valid: int, n_test: int, seed: int = 1, watch: Watch = unwatched) -> Split:
    """Write the parts of a corpus into a new folder, each in the order of the corpus; every line is in one of them.

    Raises:
        ConfigError: the folder is not empty, or a size cannot be.
        DataError: the corpus cannot be read, or is too small.
    """
    refuse_folder(out)
    if n_valid < 1 or n_test < 0:
        raise ConfigError(f"--valid {n_valid} --test {n_test}: must be at least 1 and at least 0")
    n_pairs = text.count()
    groups = _groups(watch(_portions(text), n_pairs, "reading"))
    part_of_line = _draw(groups, {VALID: n_valid, TEST: n_test}, random.Random(seed), text.name)
    counts = {part: int((part_of_line == number).sum()) for number, part in enumerate(PARTS)}
    out.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(out) as folder:
        files = [_files(text, folder, part) if counts[part] else [] for part in PARTS]
        _write(watch(_portions(text), n_pairs, "writing"), part_of_line, files)
    texts = {part: ParallelText(*map(str, _files(text, out, part))) for part in PARTS if counts[part]}
    return Split(texts, counts, len(np.unique(groups)))


def refuse_folder(out: Path) -> None:
    """Raise ConfigError if the parts cannot go there without overwriting something."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; name a new folder for the parts")
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out}: is not empty; name a new folder, so that nothing is overwritten")


def _portions(text: ParallelText) -> Iterator[list[RawPair]]:
    pairs = ((source.encode(), target.encode()) for source, target in text)
    while portion := list(islice(pairs, PORTION)):
        yield portion


def _groups(portions: Iterable[Sequence[RawPair]]) -> NDArray[np.int64]:
    """For each pair the number of its source sentence, in the order in which they first appear."""
    sources, usable = [], []
    for portion in portions:
        source, target = (Lines([pair[side] for pair in portion]) for side in (0, 1))
        sources.append(hashes(source.folded))
        usable += [bool(a and b) for a, b in zip(source.folded, target.folded, strict=True)]
    # The hashes differ from process to process; the order of first appearance does not.
    _, first, inverse = np.unique(np.concatenate(sources), return_index=True, return_inverse=True)
    groups: NDArray[np.int64] = first.argsort().argsort()[inverse]
    groups[np.isin(groups, groups[~np.array(usable, dtype=bool)])] = _NEVER_HELD_OUT
    return groups


def _draw(groups: NDArray[np.int64], wanted: dict[str, int], chance: random.Random, name: str) -> NDArray[np.int8]:
    """For each pair the number of its part. Sources are taken in random order, all lines of each, while they fit."""
    sizes = np.bincount(groups[groups != _NEVER_HELD_OUT]).tolist()
    order = [group for group, size in enumerate(sizes) if size]
    chance.shuffle(order)
    # One more than there are groups: the last is what _NEVER_HELD_OUT finds.
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
                f"{name}: {len(groups):,} pairs of {len(sizes):,} different source sentences are too few for {asked} "
                "and something to train on; ask for fewer"
            )
        order = rest
    return part_of_group[groups]


def _files(text: ParallelText, folder: Path, part: str) -> list[Path]:
    """`train.en` and `train.de` for `corpus.en` and `corpus.de`; `.source` and `.target` if the endings are alike."""
    paths = [Path(path) for path in (text.source, text.target) if path]
    endings = [Path(path.name.removesuffix(".gz")).suffix for path in paths]
    if len(endings) == 2 and (endings[0] == endings[1] or not all(endings)):
        endings = [".source", ".target"]
    return [
        folder / f"{part}{ending}{'.gz' * (path.suffix == '.gz')}" for path, ending in zip(paths, endings, strict=True)
    ]


def _write(portions: Iterable[Sequence[RawPair]], part_of_line: NDArray[np.int8], files: list[list[Path]]) -> None:
    with ExitStack() as stack:
        streams = [[stack.enter_context(_writing(path)) for path in paths] for paths in files]
        pairs = (pair for portion in portions for pair in portion)
        for pair, part in zip(pairs, part_of_line.tolist(), strict=True):
            if len(streams[part]) == 1:
                streams[part][0].write(b"\t".join(pair) + b"\n" if any(pair) else b"\n")
                continue
            for stream, line in zip(streams[part], pair, strict=True):
                stream.write(line + b"\n")


@contextmanager
def _writing(path: Path) -> Iterator[BinaryIO]:
    """A new file, compressed if its name says so, flushed to the disk at the end."""
    with open(path, "wb") as raw:
        if path.suffix == ".gz":
            # The same text gives the same file: no name and no time inside.
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield raw
        raw.flush()
        os.fsync(raw.fileno())
