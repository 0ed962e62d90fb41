"""Write a clean copy of a corpus, with lists of the dropped and the repaired lines."""

import gzip
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.data.corpus import ParallelText
from heed.doctor.damage import repair
from heed.doctor.examination import Examination, examine
from heed.doctor.kinds import DROPPED, KINDS, REPAIRED
from heed.doctor.reading import Progress, raw_pairs, without_progress
from heed.errors import ConfigError, DataError

DROPPED_LIST, REPAIRED_LIST = "dropped.tsv", "repaired.tsv"
_BIT = {name: np.uint32(1 << place) for place, name in enumerate(KINDS)}
Bits = NDArray[np.uint32]


@dataclass(frozen=True)
class Fixed:
    text: ParallelText
    kept: int
    dropped: dict[str, int]
    """Number of pairs dropped, by their first reason."""
    repaired: dict[str, int]
    """Number of pairs repaired and kept, by their first reason."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.text.source,
            "target": self.text.target or None,
            "kept": self.kept,
            "dropped": self.dropped,
            "repaired": self.repaired,
        }


def fix(
    examination: Examination,
    out: Path,
    tests: Sequence[ParallelText] = (),
    keep: Collection[str] = (),
    progress: Progress = without_progress,
) -> Fixed:
    """Write the corpus without its faults to a folder, under the same file names.

    The copy is examined and cleaned again until no fault is left: a repaired line may be a duplicate, and whether a
    pair is an outlier depends on all others.

    Raises:
        ConfigError: the folder is not empty, or two files would have the same name.
        DataError: a fault cannot be fixed automatically, or nothing would be left.
    """
    text = examination.text
    refuse_folder(text, out)
    dropped, repaired = np.zeros((2, examination.n_source), dtype=np.uint32)
    left = np.arange(examination.n_source)  # each remaining pair's position in the original
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix=".fixing-") as work:
        round_number = 0
        while round_number == 0 or examination.faults:
            _refuse_unfixable(examination)
            to_drop, to_repair = _bits(examination, DROPPED), _bits(examination, REPAIRED)
            dropped[left] |= to_drop
            repaired[left] |= to_repair
            left = left[to_drop == 0]
            if not len(left):
                raise DataError(
                    f"{text.name}: nothing would be left, so nothing is written to {out}; "
                    "see the report above, and keep what is not a fault with --keep"
                )
            cleaned = _clean_copy(examination.text, to_drop, to_repair, Path(work) / str(round_number))
            examination = examine(cleaned, tests, keep, progress)
            round_number += 1
        for made, path in ((cleaned.source, text.source), (cleaned.target, text.target)):
            if path:
                _put(Path(made), out / Path(path).name)
    repaired[dropped != 0] = 0
    _write_list(out / DROPPED_LIST, dropped)
    _write_list(out / REPAIRED_LIST, repaired)
    files = [str(out / Path(path).name) for path in (text.source, text.target) if path]
    return Fixed(ParallelText(*files), len(left), _first_reasons(dropped), _first_reasons(repaired))


def refuse_folder(text: ParallelText, out: Path) -> None:
    """Raise ConfigError if the clean copy cannot be written to this folder, before anything is read."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; --fix needs the name of a new folder")
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out}: is not empty; --fix writes to a new folder, so that nothing is lost")
    names = [Path(path).name for path in (text.source, text.target) if path] + [DROPPED_LIST, REPAIRED_LIST]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{out} would get two files called {name}; rename one of the corpus's files")


def _refuse_unfixable(examination: Examination) -> None:
    name = examination.text.name
    for fault in examination.refused:
        raise DataError(f"{name}: {fault.kind.title}, which --fix cannot repair; {fault.note}")
    shifted = sum(fault.count for fault in examination.faults if fault.kind.name == "shifted")
    if shifted > examination.n_source / 2:
        raise DataError(
            f"{name}: {shifted:,} of {examination.n_source:,} pairs are shifted, too many to drop; "
            "add or remove the line where the shift begins, and run heed doctor again"
        )


def _bits(examination: Examination, fix: str) -> Bits:
    """Return for each pair its faults that --fix treats in this way."""
    bits = np.zeros(examination.n_source, dtype=np.uint32)
    for fault in examination.faults:
        if fault.kind.fix == fix:
            bits[fault.lines - 1] |= _BIT[fault.kind.name]
    return bits


def _names(bits: int) -> list[str]:
    return [name for name, bit in _BIT.items() if bits & int(bit)]


def _first_reasons(bits: Bits) -> dict[str, int]:
    found = bits[bits != 0]
    lowest, counts = np.unique(found & (~found + np.uint32(1)), return_counts=True)
    return {_names(int(bit))[0]: int(count) for bit, count in zip(lowest, counts, strict=True)}


def _clean_copy(text: ParallelText, to_drop: Bits, to_repair: Bits, folder: Path) -> ParallelText:
    folder.mkdir()
    paths = [folder / Path(path).name.removesuffix(".gz") for path in (text.source, text.target) if path]
    with open(paths[0], "wb") as source, open(paths[-1], "ab") as target:
        for pair in _clean_pairs(text, to_drop, to_repair):
            if text.target:
                source.write(pair[0] + b"\n")
                target.write(pair[1] + b"\n")
            else:
                source.write(b"\t".join(pair) + b"\n")
    return ParallelText(*map(str, paths))


def _clean_pairs(text: ParallelText, to_drop: Bits, to_repair: Bits) -> Iterator[tuple[bytes, bytes]]:
    for (source, target), drop, faults in zip(raw_pairs(text), to_drop.tolist(), to_repair.tolist(), strict=True):
        if not drop:
            kinds = _names(faults) if faults else []
            yield (_repaired(source, kinds), _repaired(target, kinds)) if kinds else (source, target)


def _repaired(line: bytes, kinds: list[str]) -> bytes:
    return repair(line.decode(), kinds).encode()


def _put(made: Path, place: Path) -> None:
    """Move a finished file to its place, compressed if its name ends in `.gz`."""
    if place.suffix != ".gz":
        made.replace(place)
        return
    # No name and no time in the header, so that the same text gives the same file.
    with open(made, "rb") as plain, open(place, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


def _write_list(path: Path, bits: Bits) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("line\treasons\n")
        for place in np.flatnonzero(bits).tolist():
            file.write(f"{place + 1}\t{','.join(_names(int(bits[place])))}\n")
