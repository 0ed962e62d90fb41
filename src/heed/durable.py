"""Files and folders that are either whole or not there, whatever kills the process or fills the disk.

What is new is written beside its place, flushed to the disk (the file and the folder it stands in), and renamed into
place in one go. A folder carries a manifest with the checksum of each of its files.
"""

import errno
import hashlib
import io
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from heed.errors import CheckpointError, DamageError
from heed.lock import FolderLock, exclusive_access

MANIFEST = "manifest.json"


def write_file(path: Path, content: bytes) -> None:
    """Replace a file's content in one go."""
    beside = path.with_name(f".{path.name}.new")
    try:
        write_through(beside, [content])
        os.replace(beside, path)
        sync_folder(path.parent)
    except OSError as error:
        raise _named(error, path) from None


def open_file(path: Path) -> io.BufferedReader:
    """Open a regular file for reading.

    Raises:
        OSError: also for a FIFO or a device in its place, which might never come to an end.
    """
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def read_file(path: Path) -> bytes:
    """Return the content of a regular file; raises OSError as `open_file` does."""
    with open_file(path) as file:
        return file.read()


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file, which gets a checksum of itself."""
    write_file(path, _with_checksum(value))


def read_json(path: Path, advice: str = "") -> dict[str, Any]:
    """Return the JSON object in a file of ours, after its checksum was found right.

    A file without a checksum is taken as it is: older versions wrote none, and people may delete it.

    Raises:
        DamageError: the file is missing, no JSON object, or not what was written; `advice` says what to do then.
    """
    value, claimed, right = _read_object(path)
    if claimed is not None and claimed != right:
        raise DamageError(f"{path}: damaged or changed: its checksum is not right{advice and f'; {advice}'}")
    return value


def _read_object(path: Path) -> tuple[dict[str, Any], Any, str]:
    """A JSON object, the checksum it claims to have, and the one it has."""
    try:
        value = json.loads(read_file(path))
        if not isinstance(value, dict):
            raise DamageError(f"{path}: damaged (not a JSON object)")
        claimed = value.pop("checksum", None)
        return value, claimed, _checksum_of(value)
    except FileNotFoundError:
        raise DamageError(f"{path}: missing; the folder is not whole") from None
    except RecursionError:
        raise DamageError(f"{path}: damaged (JSON within JSON within JSON, too deep to read)") from None
    except ValueError as error:
        raise DamageError(f"{path}: damaged ({error})") from None
    except OSError as error:
        raise DamageError(f"{path}: cannot be read ({error.strerror})") from None


def _with_checksum(value: dict[str, Any]) -> bytes:
    return json_bytes({**value, "checksum": _checksum_of(value)})


def _checksum_of(value: dict[str, Any]) -> str:
    return checksum(json_bytes(value))


def is_plain_name(name: object) -> bool:
    """Return whether this is the name of something within a folder, and leads nowhere else."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", os.sep, "\0"}


@contextmanager
def new_folder(path: Path, replacing: bool = False) -> Iterator[Path]:
    """A folder to fill, beside its place; when the block ends well it is put into place, else it is removed.

    The folder around it must be there: one that was removed meanwhile is not made again behind the user's back.
    Whoever fills it flushes each file (`write_through`). If something stands in its place by then, that is an OSError;
    or, `replacing`, it is renamed out of the way first, and deleted last.
    """
    beside, before = path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")
    for leftover in (beside, before):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        beside.mkdir()
        yield beside
        sync_folder(beside)
        if replacing and path.exists():
            os.rename(path, before)
        os.rename(beside, path)
        sync_folder(path.parent)
    except BaseException as error:
        if before.exists() and not path.exists():
            os.rename(before, path)
        shutil.rmtree(beside, ignore_errors=True)  # a full disk needs the space
        if isinstance(error, OSError) and Path(str(error.filename)).is_relative_to(beside):
            raise _named(error, path / Path(str(error.filename)).relative_to(beside)) from None
        raise
    shutil.rmtree(before, ignore_errors=True)


@contextmanager
def new_locked_folder(path: Path, replacing: bool = False) -> Iterator[tuple[Path, FolderLock]]:
    """A `new_folder` that takes long to fill, so another process might begin to; and its lock, held.

    The lock goes into place with the folder, and is given back if that fails.

    Raises:
        CheckpointError: another process is filling it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = None
    try:
        with ExitStack() as stack:
            with exclusive_access(path.parent):
                if FolderLock.is_held(path.with_name(f".{path.name}.new")):
                    raise CheckpointError(
                        f"{path}: another process is making it; wait until it has ended, or name another folder"
                    )
                folder = stack.enter_context(new_folder(path, replacing))
                lock = FolderLock.acquire(folder)
            yield folder, lock
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def delete_folder(path: Path) -> None:
    """Renamed first, so that a crash half-way leaves no half folder in its place."""
    away = path.with_name(f".{path.name}.deleted")
    shutil.rmtree(away, ignore_errors=True)
    try:
        os.rename(path, away)
    except FileNotFoundError:
        return
    try:
        sync_folder(path.parent)
    except OSError:
        os.rename(away, path)  # whole, and in its place to be deleted another time
        raise
    shutil.rmtree(away, ignore_errors=True)


def tidy(parent: Path) -> None:
    """Clear away what a crash left of `new_folder` and `delete_folder` in here."""
    for before in parent.glob(".*.old"):
        path = parent / before.name.removeprefix(".").removesuffix(".old")
        if path.exists():
            shutil.rmtree(before, ignore_errors=True)
        else:  # killed between the two renames
            os.rename(before, path)
    for leftover in (*parent.glob(".*.new"), *parent.glob(".*.deleted")):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def write_through(path: Path, parts: Iterable[Any]) -> str:
    """Write a new file of these parts (bytes, or arrays of them), flushed to the disk; returns its checksum."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
            digest.update(part)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _named(error: OSError, path: Path) -> OSError:
    """The same error by the name that people know, not by a hidden one beside it."""
    return OSError(error.errno, error.strerror, str(path))


def sync_folder(path: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_manifest(folder: Path, info: dict[str, Any]) -> None:
    """A folder's last file, with a checksum of itself."""
    write_through(folder / MANIFEST, [_with_checksum(info)])


def read_manifest(folder: Path, formats: tuple[int, ...], advice: str) -> dict[str, Any]:
    """What was written, to the bit.

    Raises:
        DamageError: it is not that.
        CheckpointError: it is of another format version than these; `advice` says what to do then.
    """
    path = folder / MANIFEST
    manifest, claimed, right = _read_object(path)
    if claimed is not None and claimed != right:
        raise DamageError(f"{path}: damaged: its checksum is not right")
    if manifest.get("format") not in formats:
        known = " and ".join(map(str, formats))
        raise CheckpointError(
            f"{folder}: has format {manifest.get('format')}, this heed reads format {known}; {advice}"
        )
    if claimed is None:
        raise DamageError(f"{path}: damaged (it has no checksum)")
    return manifest


def json_bytes(value: Any) -> bytes:
    """JSON as UTF-8; half of a surrogate pair, which JSON may spell but UTF-8 lacks, stays spelt."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
