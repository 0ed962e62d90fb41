"""Get a data set: from its publisher, a mirror or a folder, to line-aligned files in a folder of the user's.

The folder holds the files, `archives/` with the downloads, and `data.json`, which records the checksum of each file
before it gets its name. So the next call knows which files are whole and ours, completes the rest, and never overwrites
anybody else's text.
"""

import hashlib
import io
import os
import shutil
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed.datasets.catalogue import Bitext, DataSet, Part, Text, Upstream
from heed.datasets.disk import write_all, writing
from heed.datasets.download import RETRY_SECONDS, Bar, check, digest, download
from heed.datasets.unpack import chosen, extract, lines
from heed.durable import read_json, sync_folder, write_json
from heed.errors import ConfigError, DamageError, DataError
from heed.lock import NAME as LOCK
from heed.lock import FolderLock

ARCHIVES = "archives"
RECORD = "data.json"
BLOCK_LINES = 10_000

Lines = Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Written:
    """One pair of files of a data set, and its number of lines."""

    part: Part
    source: Path
    target: Path
    n_pairs: int
    was_there: bool


def get(
    data: DataSet, out: Path, origin: str, bar: Bar, retry_seconds: Sequence[float] = RETRY_SECONDS
) -> list[Written]:
    """Write the parts of a data set into a folder; those that are there already stay as they are.

    `origin` is a folder or the address of a mirror with files of the same names; empty: the publisher's own.

    Raises:
        ConfigError: the folder holds other text, or the origin cannot be.
        DataError: a file is not to be had, not what is expected, or cannot be written.
    """
    folder, mirror = _origin(origin)
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out}: is a file; name a folder for the text (--out)")
    with _locked(out):
        record = _Record(data, out)
        there = {part.name: written for part in data.parts if (written := record.written(part))}
        local = {} if folder is None else _in_folder(data, folder, [p for p in data.parts if p.name not in there])
        made = []
        for part in data.parts:
            if part.name in there:
                made.append(there[part.name])
            elif part.name in local:
                made.append(record.write(part, [local[part.name]], bar))
            elif part.bitexts and (folder is None or _has_files(folder, part)):
                places = {file: _fetched(file, out, folder, mirror, bar, retry_seconds) for file in part.files()}
                made.append(record.write(part, _unpacked(part, places, out, bar), bar))
        return made


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Make a folder and hold its lock; after an error that leaves nothing worth keeping, take both back."""
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    had_lock = (out / LOCK).exists()
    try:
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
            lock = FolderLock.acquire(out)
        with lock:
            try:
                yield
            except BaseException:
                _delete_empty(out / ARCHIVES)
                if not (had_lock or (out / ARCHIVES).exists() or (out / RECORD).exists()):
                    lock.delete(out)
                raise
    except BaseException:
        for folder in made:
            _delete_empty(folder)
        raise


def _delete_empty(folder: Path) -> None:
    with suppress(OSError):  # it has something, or does not exist
        folder.rmdir()


def _origin(origin: str) -> tuple[Path | None, str]:
    """Return the folder or the address that `--from` names."""
    scheme, separator, rest = origin.partition("://")
    if scheme in ("http", "https") and separator and rest:
        return None, origin.rstrip("/")
    if separator and scheme != "file":
        raise ConfigError(f"--from {origin}: begins with {scheme}://; give a folder, or an http:// or https:// address")
    if not origin:
        return None, ""
    folder = Path(urllib.request.url2pathname(urllib.parse.urlsplit(origin).path) if separator else origin)
    if not folder.is_dir():
        raise ConfigError(f"--from {origin}: no such folder; name the one that holds the files")
    return folder, ""


def _has_files(folder: Path, part: Part) -> bool:
    return bool(part.bitexts) and all((folder / file.name).is_file() for file in part.files())


def _in_folder(data: DataSet, folder: Path, parts: Sequence[Part]) -> dict[str, "_Lines"]:
    """Return the parts that a folder has as line-aligned text and not as the publisher's files, which can be checked.

    Raises:
        DataError: it has neither of a part that must be.
    """
    found = {}
    for part in parts:
        if _has_files(folder, part):
            continue
        if text := _aligned(data, folder, part):
            found[part.name] = text
        elif not part.is_optional:
            raise _lacking(data, folder, part)
    return found


def _lacking(data: DataSet, folder: Path, part: Part) -> DataError:
    """Return the error for a folder without a part."""
    ours, theirs = (f"{part.name}.{language}" for language in (data.source, data.target))
    for missing, other in ((ours, theirs), (theirs, ours)):
        if there := _plain_or_packed(folder / other):
            return DataError(
                f"{folder}: {missing} (or {missing}.gz) is missing beside {there.name}; "
                "put it there, or leave --from out to download"
            )
    archives = [file.name for file in part.files() if file.name not in (f"{ours}.gz", f"{theirs}.gz")]
    published = f", or the publisher's {' and '.join(archives)}" if archives else ""
    return DataError(
        f"{folder}: {ours} and {theirs} are missing; put them there, or {part.name}.tsv, or any of these as .gz"
        f"{published}; or leave --from out to download"
    )


def _aligned(data: DataSet, folder: Path, part: Part) -> "_Lines | None":
    """Return a part that a folder has as two files or one .tsv, plain or .gz."""
    for name in (part.name, *part.other_names):
        source, target, table = (
            _plain_or_packed(folder / f"{name}.{ending}") for ending in (data.source, data.target, "tsv")
        )
        if source and target:
            return _Lines(str(source), str(target), _reader(source), _reader(target), _size([source, target]))
        if table:
            return _Lines(str(table), str(table), _reader(table, 0), _reader(table, 1), _size([table]))
    return None


def _plain_or_packed(path: Path) -> Path | None:
    packed = path.with_name(f"{path.name}.gz")
    return path if path.is_file() else packed if packed.is_file() else None


def _reader(path: Path, column: int | None = None, every: int = 0) -> Lines:
    return lambda: chosen(lines(path, column), every)


def _size(paths: Sequence[Path]) -> int | None:
    """Return the size of some texts; None if one is compressed."""
    return None if any(path.suffix == ".gz" for path in paths) else sum(path.stat().st_size for path in paths)


def _fetched(
    file: Upstream, out: Path, folder: Path | None, mirror: str, bar: Bar, retry_seconds: Sequence[float]
) -> Path:
    """Return where a file of the publisher is, checked; downloads it if need be."""
    if folder is not None:
        check(file, folder / file.name, "get the right one, or leave --from out to download it")
        return folder / file.name
    archives = out / ARCHIVES
    with writing(archives):
        archives.mkdir(exist_ok=True)
    path = archives / file.name
    download(file, f"{mirror}/{file.name}" if mirror else file.url, path, bar, retry_seconds)
    return path


@dataclass(frozen=True)
class _Lines:
    """Two texts to write, and what a complaint calls them."""

    source_name: str
    target_name: str
    source: Lines
    target: Lines
    n_bytes: int | None  # of both, for the progress bar; None: not known


def _unpacked(part: Part, places: dict[Upstream, Path], out: Path, bar: Bar) -> Iterator[_Lines]:
    """Yield the bitexts of a part one after the other; each is unpacked only while it is needed."""
    for bitext in part.bitexts:
        folder = out / ".unpacked"
        shutil.rmtree(folder, ignore_errors=True)
        with writing(folder):
            folder.mkdir()
        try:
            sides = _sides(bitext, places, folder, bar)
            names = [f"{text.file.name}{text.member and ': '}{text.member}" for text in (bitext.source, bitext.target)]
            source, target = (_reader(side, every=part.every) for side in sides)
            yield _Lines(names[0], names[1], source, target, _size(sides))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _sides(bitext: Bitext, places: dict[Upstream, Path], folder: Path, bar: Bar) -> list[Path]:
    texts = (bitext.source, bitext.target)
    archives: dict[Upstream, list[Text]] = {}
    for text in texts:
        if text.member:
            archives.setdefault(text.file, []).append(text)
    found = {text: places[text.file] for text in texts if not text.member}
    for file, members in archives.items():
        with bar(places[file].stat().st_size, f"unpacking {file.name}") as tell:
            paths = extract(places[file], [text.member for text in members], folder, tell)
        found |= dict(zip(members, paths, strict=True))
    return [found[text] for text in texts]


class _Record:
    """What was written into a folder: name, checksum and number of lines of each file."""

    def __init__(self, data: DataSet, out: Path) -> None:
        self._data, self._out, self._path = data, out, out / RECORD
        self._files: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            found = read_json(self._path, "delete it, if the files beside it may be written anew")
            if found.get("data_set") != data.name:
                raise ConfigError(f"{out}: holds the data set {found.get('data_set')}; name another folder (--out)")
            if not isinstance(found.get("files"), dict):
                raise DamageError(f"{self._path}: damaged; delete it, and the files beside it")
            self._files = found["files"]

    def _paths(self, part: Part) -> list[Path]:
        return [self._out / f"{part.name}.{language}" for language in (self._data.source, self._data.target)]

    def written(self, part: Part) -> Written | None:
        """Return a part that is there, whole; None if it is to be written.

        Raises:
            ConfigError: another file has its name.
        """
        paths = self._paths(part)
        for path in paths:
            if path.exists() and digest(path) != self._files.get(path.name, {}).get("sha256"):
                why = (
                    "was changed since heed wrote it" if path.name in self._files else "was not written by this command"
                )
                raise ConfigError(f"{path}: exists already, and {why}; move it away, or name another folder (--out)")
        if not all(path.exists() for path in paths):
            return None
        return Written(part, paths[0], paths[1], self._files[paths[0].name]["lines"], was_there=True)

    def write(self, part: Part, bitexts: Iterable[_Lines], bar: Bar) -> Written:
        """Write a part; its files appear once both are whole."""
        paths = self._paths(part)
        new = [path.with_name(f".{path.name}.new") for path in paths]
        sums = [hashlib.sha256(), hashlib.sha256()]
        n_pairs = 0
        try:
            for path in new:
                with writing(path):
                    path.write_bytes(b"")
            for bitext in bitexts:
                sides = zip(new, sums, (bitext.source, bitext.target), strict=True)
                with bar(bitext.n_bytes, f"writing {part.name}") as tell:
                    done = _Progress(tell)
                    counts = [_append(text(), path, checksum, done) for path, checksum, text in sides]
                if counts[0] != counts[1]:
                    raise DataError(
                        f"{bitext.source_name} has {counts[0]:,} lines, but {bitext.target_name} has {counts[1]:,}; "
                        "line n of one must translate line n of the other, so nothing was written"
                    )
                n_pairs += counts[0]
            for path, checksum in zip(paths, sums, strict=True):
                self._files[path.name] = {"sha256": checksum.hexdigest(), "lines": n_pairs}
            with writing(self._path):
                write_json(self._path, {"data_set": self._data.name, "files": self._files})
            for path, made in zip(paths, new, strict=True):
                with writing(path):
                    os.replace(made, path)
            sync_folder(self._out)
        finally:
            for path in new:
                path.unlink(missing_ok=True)
        return Written(part, paths[0], paths[1], n_pairs, was_there=False)


class _Progress:
    """Adds up what is done, for a bar that wants to know the whole."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._n_bytes = tell, 0

    def add(self, n_bytes: int) -> None:
        self._n_bytes += n_bytes
        self._tell(self._n_bytes)


def _append(texts: Iterator[bytes], path: Path, checksum: "hashlib._Hash", done: _Progress) -> int:
    """Add lines to a file, flushed to the disk, and return how many."""
    count = 0
    with writing(path):
        file = open(path, "ab", buffering=0)
    with file:
        block: list[bytes] = []
        for line in texts:
            block += (line, b"\n")
            count += 1
            if count % BLOCK_LINES == 0:
                done.add(_flush(block, file, path, checksum))
        done.add(_flush(block, file, path, checksum))
        with writing(path):
            os.fsync(file.fileno())
    return count


def _flush(block: list[bytes], file: io.FileIO, path: Path, checksum: "hashlib._Hash") -> int:
    content = b"".join(block)
    checksum.update(content)
    write_all(file, path, content)
    block.clear()
    return len(content)
