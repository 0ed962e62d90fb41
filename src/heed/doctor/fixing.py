"""A cleaned copy of a corpus, and an account of what is not in it."""

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
from heed.doctor.reading import Watch, raw_pairs, unwatched
from heed.errors import ConfigError, DataError

DROPPED_LIST, REPAIRED_LIST = "dropped.tsv", "repaired.tsv"
_BIT = {name: np.uint32(1 << place) for place, name in enumerate(KINDS)}
Bits = NDArray[np.uint32]


@dataclass(frozen=True)
class Fixed:
    text: ParallelText
    kept: int
    dropped: dict[str, int]
    """Pairs left out, by their first reason."""
    repaired: dict[str, int]
    """Pairs changed and kept, by their first reason."""

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
    watch: Watch = unwatched,
) -> Fixed:
    """Write the corpus without its faults into a folder, under the same file names.

    What was written is examined and cleaned again until nothing is found: a repaired line may turn out to be a
    duplicate, and what is unusual depends on all the rest.

    Raises:
        ConfigError: the folder is not empty, or two files would have the same name.
        DataError: a fault that only a person can mend, or nothing would be left.
    """
    text = examination.text
    refuse_folder(text, out)
    dropped, repaired = np.zeros((2, examination.n_source), dtype=np.uint32)
    left = np.arange(examination.n_source)  # each remaining pair's place in the original
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix=".fixing-") as work:
        turn = 0
        while turn == 0 or examination.faults:
            _refuse_guessing(examination)
            drop, mend = _bits(examination, DROPPED), _bits(examination, REPAIRED)
            dropped[left] |= drop
            repaired[left] |= mend
            left = left[drop == 0]
            if not len(left):
                raise DataError(f"{text.name}: nothing would be left, so nothing is written to {out}")
            cleaned = _clean_copy(examination.text, drop, mend, Path(work) / str(turn))
            examination = examine(cleaned, tests, keep, watch)
            turn += 1
        for made, path in ((cleaned.source, text.source), (cleaned.target, text.target)):
            if path:
                _put(Path(made), out / Path(path).name)
    repaired[dropped != 0] = 0
    _write_list(out / DROPPED_LIST, dropped)
    _write_list(out / REPAIRED_LIST, repaired)
    files = [str(out / Path(path).name) for path in (text.source, text.target) if path]
    return Fixed(ParallelText(*files), len(left), _first_reasons(dropped), _first_reasons(repaired))


def refuse_folder(text: ParallelText, out: Path) -> None:
    """Complain of a place the cleaned copy cannot go to; known before anything is read."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; --fix needs the name of a new folder")
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out}: is not empty; --fix writes to a new folder, so that nothing is lost")
    names = [Path(path).name for path in (text.source, text.target) if path] + [DROPPED_LIST, REPAIRED_LIST]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two files called {name} would go into {out}; rename one of the corpus's files")


def _refuse_guessing(examination: Examination) -> None:
    name = examination.text.name
    for fault in examination.refused:
        raise DataError(f"{name}: {fault.kind.title}, which --fix does not mend by guessing; {fault.note}")
    shifted = sum(fault.count for fault in examination.faults if fault.kind.name == "shifted")
    if shifted > examination.n_source / 2:
        raise DataError(
            f"{name}: {shifted:,} of {examination.n_source:,} pairs are shifted, too many to drop; "
            "take out or put in the line where it begins, and examine again"
        )


def _bits(examination: Examination, fix: str) -> Bits:
    """For each pair its faults that are treated in this way."""
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


def _clean_copy(text: ParallelText, drop: Bits, mend: Bits, folder: Path) -> ParallelText:
    folder.mkdir()
    paths = [folder / Path(path).name.removesuffix(".gz") for path in (text.source, text.target) if path]
    with open(paths[0], "wb") as source, open(paths[-1], "ab") as target:
        for pair in _clean_pairs(text, drop, mend):
            if text.target:
                source.write(pair[0] + b"\n")
                target.write(pair[1] + b"\n")
            else:
                source.write(b"\t".join(pair) + b"\n")
    return ParallelText(*map(str, paths))


def _clean_pairs(text: ParallelText, drop: Bits, mend: Bits) -> Iterator[tuple[bytes, bytes]]:
    for (source, target), leave, faults in zip(raw_pairs(text), drop.tolist(), mend.tolist(), strict=True):
        if not leave:
            kinds = _names(faults) if faults else []
            yield (_repaired(source, kinds), _repaired(target, kinds)) if kinds else (source, target)


def _repaired(line: bytes, kinds: list[str]) -> bytes:
    return repair(line.decode(), kinds).encode()


def _put(made: Path, place: Path) -> None:
    """A finished file to its place, compressed if its name says so."""
    if place.suffix != ".gz":
        made.replace(place)
        return
    # The same text gives the same file: no name and no time inside.
    with open(made, "rb") as plain, open(place, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        shutil.copyfileobj(plain, packed, 1 << 20)


def _write_list(path: Path, bits: Bits) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("line\treasons\n")
        for place in np.flatnonzero(bits).tolist():
            file.write(f"{place + 1}\t{','.join(_names(int(bits[place])))}\n")
