"""Translate a text into training text, in chunks, so that a kill loses at most one chunk.

Each chunk is appended to the files and flushed to disk; then `progress.json` records how long the files are. Whatever
is beyond that belongs to a chunk that was not finished, and is cut off when the work goes on.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from heed.durable import open_file, read_json, sync_folder, write_json
from heed.errors import CheckpointError, ConfigError, DamageError
from heed.lock import FolderLock
from heed.options import SearchOptions
from heed.text.lines import read_lines
from heed.text.normalize import normalize
from heed.translation import SENTENCE, Translation
from heed.translator import Translator

SOURCE, TARGET, LEFT_OUT = "source", "target", "left_out.tsv"
PROGRESS = "progress.json"

_LINES_PER_CHUNK = 1_000  # sorted by length into batches
_NAMES = (SOURCE, TARGET, LEFT_OUT)


@dataclass(frozen=True)
class Counts:
    """Count what has become of the lines of a text."""

    lines: int = 0  # read
    pairs: int = 0  # written
    blank: int = 0  # lines that are blank
    unfinished: int = 0  # translations that stopped at the length limit
    empty: int = 0  # translations without a word
    repeated: int = 0  # translations that a better one of the same line equals
    in_parts: int = 0  # lines over the model's limit, which were translated in parts

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Pairing:
    """Say how a line and its translation become a pair for training."""

    reverse: bool = False  # the translation is the source (back-translation)
    tag: str = ""  # a word to put before each source line

    def __post_init__(self) -> None:
        if self.tag != "".join(self.tag.split()):
            raise ConfigError(f"--tag {self.tag!r} must be one word, without blanks")

    def pair(self, line: str, translation: str) -> tuple[str, str]:
        source, target = (translation, line) if self.reverse else (line, translation)
        return (f"{self.tag} {source}" if self.tag else source), target


def distil(
    translator: Translator,
    options: SearchOptions,
    text: str,
    pairing: Pairing,
    folder: Path,
    settings: dict[str, Any],
    progress: Callable[[int], None] = lambda done: None,
) -> Counts:
    """Translate a text file into the files `source` and `target` of a folder, or go on with what a kill ended.

    `settings` is what the pairs depend on, which must not change in between. `progress` is called with the number of
    lines done. Translations that are unfinished, empty or repeated are left out, and listed in `left_out.tsv`.

    Raises:
        CheckpointError: the folder has other files, or was begun with other settings; another process works in it.
        DataError: the text cannot be read.
        DecodeError: the options contradict each other or are not supported.
    """
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or _is_ours(folder))):
        raise CheckpointError(f"{folder}: already exists, and `heed distil` did not make it; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    with FolderLock.acquire(folder):
        settings = {**settings, "input": _sha256(text), **asdict(pairing)}
        counts = _restore(folder, settings, text)
        for lines in _chunks(text, counts.lines):
            found = translator.run(lines, replace(options, first_number=counts.lines), _from(counts.lines, progress))
            counts += _append(folder, lines, found, counts.lines, pairing)
            write_json(folder / PROGRESS, {"settings": settings, "counts": asdict(counts), "sizes": _sizes(folder)})
            progress(counts.lines)
        for name in _NAMES:
            if _part(folder, name).exists():
                os.replace(_part(folder, name), folder / name)
        sync_folder(folder)
    return counts


def _is_ours(folder: Path) -> bool:
    # Killed before its first chunk was done, there is only a lock, and the files of that chunk.
    names = {path.name for path in folder.iterdir()}
    return PROGRESS in names or names <= {"lock", f".{PROGRESS}.new", *(_part(folder, name).name for name in _NAMES)}


def _restore(folder: Path, settings: dict[str, Any], text: str) -> Counts:
    """Return what is done, after cutting off what is not."""
    if not (folder / PROGRESS).exists():
        sizes, counts = dict.fromkeys(_NAMES, 0), Counts()
    else:
        found = read_json(folder / PROGRESS, f"delete {folder}, and run the command again")
        then, sizes = found.get("settings", {}), found.get("sizes", {})
        if changed := list(_changes(then, settings, text)):
            raise CheckpointError(
                f"{folder}: {' and '.join(changed)} since this folder was begun; "
                f"restore {'it' if len(changed) == 1 else 'them'}, or name a new folder"
            )
        counts = Counts(**{field.name: found["counts"][field.name] for field in fields(Counts)})
    for name in _NAMES:
        part = _part(folder, name)
        if (folder / name).exists() and not part.exists():  # complete
            part = folder / name
        size = part.stat().st_size if part.exists() else 0
        if size < sizes[name]:
            raise DamageError(
                f"{part}: damaged ({size:,} bytes instead of {sizes[name]:,}); delete {folder}, and run it again"
            )
        with open(part, "ab") as file:
            file.truncate(sizes[name])
    return counts


def _changes(then: dict[str, Any], now: dict[str, Any], text: str) -> Iterator[str]:
    """Say which options of the command are no longer as they were."""
    for key, value in now.items():
        old, option = then.get(key), "--sample" if key == "sampling" else f"--{key.replace('_', '-')}"
        if old == value:
            continue
        if key == "input":
            yield f"--input {text} has changed"
        elif key == "models":
            yield "the weights of --model have changed"
        elif isinstance(old, dict) and isinstance(value, dict):
            yield from _changes(old, value, text)
        elif _is_left_out(old):
            yield f"{option} has been added"
        elif _is_left_out(value):
            yield f"{option} has been dropped"
        else:
            yield f"{option} has changed from {old} to {value}"


def _is_left_out(value: Any) -> bool:
    return value is None or value is False or value == ""


def _append(folder: Path, lines: list[str], found: list[Translation], first: int, pairing: Pairing) -> Counts:
    """Append the pairs of a chunk to the files."""
    written: dict[str, list[str]] = {name: [] for name in _NAMES}
    counts = Counts(lines=len(lines))
    for number, (line, translation) in enumerate(zip(lines, found, strict=True), first + 1):
        if not normalize(line):
            counts += Counts(blank=1)
            continue
        counts += Counts(in_parts=any(cut != SENTENCE for cut in translation.cuts))
        seen: set[str] = set()
        for one in translation.alternatives or (translation,):
            reason = _reason_against(one, seen)
            seen.add(one.text)
            if reason:
                counts += Counts(**{reason: 1})
                written[LEFT_OUT].append(f"{number}\t{reason}")
                continue
            counts += Counts(pairs=1)
            for name, side in zip((SOURCE, TARGET), pairing.pair(line, one.text), strict=True):
                written[name].append(side)
    for name, new in written.items():
        with open(_part(folder, name), "ab") as file:
            file.write("".join(f"{one}\n" for one in new).encode())
            file.flush()
            os.fsync(file.fileno())
    return counts


def _reason_against(translation: Translation, seen: set[str]) -> str:
    if not translation.finished:
        return "unfinished"
    if not translation.text:
        return "empty"
    return "repeated" if translation.text in seen else ""


def _chunks(text: str, done: int) -> Iterator[list[str]]:
    lines = islice(read_lines(text), done, None)
    while chunk := list(islice(lines, _LINES_PER_CHUNK)):
        yield chunk


def _from(done: int, progress: Callable[[int], None]) -> Callable[[int, int], None]:
    """Return a function for the progress of a chunk, when `done` lines came before it."""
    return lambda n_here, total: progress(done + n_here)


def _part(folder: Path, name: str) -> Path:
    return folder / f"{name}.part"


def _sizes(folder: Path) -> dict[str, int]:
    return {name: _part(folder, name).stat().st_size for name in _NAMES}


def _sha256(path: str) -> str:
    with open_file(Path(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
