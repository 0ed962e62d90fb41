"""Write files and folders that are either complete or absent, whatever kills the process or fills the disk.

New content is written under a temporary name in the same folder, flushed to disk (file and folder), and renamed into
place atomically. A folder has a manifest with the checksum of each of its files.
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
    """Replace a file's content atomically."""
    new = path.with_name(f".{path.name}.new")
    try:
        write_through(new, [content])
        os.replace(new, path)
        sync_folder(path.parent)
    except OSError as error:
        raise _with_path(error, path) from None


def open_file(path: Path) -> io.BufferedReader:
    """Open a regular file for reading.

    Raises:
        OSError: it cannot be opened, or is a FIFO or a device, reading from which may never end.
    """
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def read_file(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: as `open_file` does.
    """
    with open_file(path) as file:
        return file.read()


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a JSON file, adding a checksum of its content as the first line, which users may delete to edit it."""
    write_file(path, _with_checksum(value))


def read_json(path: Path, advice: str = "") -> dict[str, Any]:
    """Return the JSON object in a file that `write_json` wrote, after verifying its checksum.

    A file without a checksum is accepted: older versions wrote none, and users may delete it to edit the file.

    Raises:
        DamageError: the file is missing, not a JSON object, or changed; the message ends with `advice`.
    """
    value, claimed, right = _read_object(path, advice)
    if claimed is not None and claimed != right:
        raise DamageError(f"{path}: damaged or edited: its checksum is wrong{advice and f'; {advice}'}")
    return value


def _read_object(path: Path, advice: str = "") -> tuple[dict[str, Any], Any, str]:
    """Return the JSON object in a file, the checksum stored in it, and the one computed from it."""
    advice = advice and f"; {advice}"
    try:
        value = json.loads(read_file(path))
        if not isinstance(value, dict):
            raise DamageError(f"{path}: damaged (not a JSON object){advice}")
        claimed = value.pop("checksum", None)
        return value, claimed, _checksum_of(value)
    except FileNotFoundError:
        raise DamageError(f"{path}: missing; the folder is incomplete") from None
    except RecursionError:
        raise DamageError(f"{path}: damaged (its JSON is nested too deeply){advice}") from None
    except json.JSONDecodeError as error:
        raise DamageError(f"{path}: damaged or edited: {json_fault(error)}{advice}") from None
    except ValueError as error:
        raise DamageError(f"{path}: damaged ({error}){advice}") from None
    except OSError as error:
        raise DamageError(f"{path}: cannot be read ({error.strerror})") from None


def json_fault(error: json.JSONDecodeError) -> str:
    """Say which line is not JSON, and what to correct: a comma is often the fault of the line before."""
    also = ", or a comma at the end of the line before" if error.lineno > 1 else ""
    return f"line {error.lineno} is not JSON ({error.msg}); correct that line{also}"


def _with_checksum(value: dict[str, Any]) -> bytes:
    return json_bytes({"checksum": _checksum_of(value)} | value)


def _checksum_of(value: dict[str, Any]) -> str:
    return checksum(json_bytes(value))


def is_plain_name(name: object) -> bool:
    """Return whether this names an entry of a folder, and cannot lead out of it."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", os.sep, "\0"}


@contextmanager
def new_folder(path: Path, replacing: bool = False) -> Iterator[Path]:
    """Yield a temporary folder to fill; rename it to `path` when the block succeeds, remove it when it fails.

    The block must flush each file (`write_through`). The parent must exist: if it was deleted meanwhile, it is not
    created again. If `path` exists by then, that is an OSError; with `replacing`, it is renamed out of the way first
    and deleted last.
    """
    new, old = path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        new.mkdir()
        yield new
        sync_folder(new)
        if replacing and path.exists():
            os.rename(path, old)
        os.rename(new, path)
        sync_folder(path.parent)
    except BaseException as error:
        if old.exists() and not path.exists():
            os.rename(old, path)
        shutil.rmtree(new, ignore_errors=True)  # a full disk needs the space
        if isinstance(error, OSError) and Path(str(error.filename)).is_relative_to(new):
            raise _with_path(error, path / Path(str(error.filename)).relative_to(new)) from None
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def new_locked_folder(path: Path, replacing: bool = False) -> Iterator[tuple[Path, FolderLock]]:
    """Yield a `new_folder` and its lock, held, so that no other process fills the same folder meanwhile.

    The lock file moves into place with the folder; the lock is released if the block fails.

    Raises:
        CheckpointError: another process is filling the folder.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = None
    try:
        with ExitStack() as stack:
            with exclusive_access(path.parent):
                if FolderLock.is_held(path.with_name(f".{path.name}.new")):
                    raise CheckpointError(
                        f"{path}: another process is creating it; wait until that has finished, or name another folder"
                    )
                folder = stack.enter_context(new_folder(path, replacing))
                lock = FolderLock.acquire(folder)
            yield folder, lock
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def delete_folder(path: Path) -> None:
    """Delete a folder. It is renamed first, so that a crash never leaves half a folder under its name."""
    away = path.with_name(f".{path.name}.deleted")
    shutil.rmtree(away, ignore_errors=True)
    try:
        os.rename(path, away)
    except FileNotFoundError:
        return
    try:
        sync_folder(path.parent)
    except OSError:
        os.rename(away, path)  # undo, so that it can be deleted another time
        raise
    shutil.rmtree(away, ignore_errors=True)


def remove_leftovers(parent: Path) -> None:
    """Clean up what `new_folder` and `delete_folder` left in a folder when they were killed."""
    for old in parent.glob(".*.old"):
        path = parent / old.name.removeprefix(".").removesuffix(".old")
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:  # killed between the two renames
            os.rename(old, path)
    for leftover in (*parent.glob(".*.new"), *parent.glob(".*.deleted")):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def write_through(path: Path, parts: Iterable[Any]) -> str:
    """Write a new file from these parts (bytes, or arrays of bytes), flush it to disk, and return its checksum."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for part in parts:
            file.write(part)
            digest.update(part)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _with_path(error: OSError, path: Path) -> OSError:
    """Return the error with the path that the user knows instead of the temporary one."""
    return OSError(error.errno, error.strerror, str(path))


def sync_folder(path: Path) -> None:
    """Flush a folder's list of names to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(content: bytes) -> str:
    """Return the SHA-256 of the content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def write_manifest(folder: Path, info: dict[str, Any]) -> None:
    """Write a folder's manifest, which comes last and has a checksum of its own content."""
    write_through(folder / MANIFEST, [_with_checksum(info)])


def read_manifest(folder: Path, formats: tuple[int, ...], advice: str) -> dict[str, Any]:
    """Return a folder's manifest after verifying its checksum.

    Raises:
        DamageError: it is missing, or not what was written.
        CheckpointError: its format version is none of these; the message ends with `advice`.
    """
    path = folder / MANIFEST
    manifest, claimed, right = _read_object(path)
    if claimed is not None and claimed != right:
        raise DamageError(f"{path}: damaged: its checksum is wrong")
    if manifest.get("format") not in formats:
        known = " and ".join(map(str, formats))
        raise CheckpointError(
            f"{folder}: has format {manifest.get('format')}, but this heed reads format {known}; {advice}"
        )
    if claimed is None:
        raise DamageError(f"{path}: damaged (it has no checksum)")
    return manifest


def json_bytes(value: Any) -> bytes:
    """Return JSON as UTF-8. Lone surrogates, which UTF-8 cannot encode, stay escaped."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
