"""Download a file over HTTP, resuming where it was cut off, and check what arrived.

Bytes gather in NAME.part; NAME appears once all of it is there and right. The part survives the process: the next call
continues it. NAME.part.version holds what the server calls the version it came from, so that two are never mixed.
"""

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed import __version__
from heed.datasets.catalogue import Upstream
from heed.datasets.disk import write_all, writing
from heed.durable import sync_folder
from heed.errors import DataError

BLOCK_BYTES = 1 << 18
STALL_SECONDS = 30.0  # without a byte before a connection counts as dead
RETRY_SECONDS = (1.0, 2.0, 4.0, 8.0)  # before each try that follows one without progress

# Shows progress: of how many bytes (None: not known), doing what; yields what to tell how many are done.
Bar = Callable[[int | None, str], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True)
class _Break:
    """Why a connection ended early; the next one may do better."""

    why: str
    was_reached: bool = True  # the server answered


def download(file: Upstream, url: str, path: Path, bar: Bar, retry_seconds: Sequence[float] = RETRY_SECONDS) -> None:
    """Put the file at this address in its place, whole and checked.

    Raises:
        DataError: it is not to be had, not the file that is expected, or cannot be written.
    """
    if path.exists():
        check(file, path, "delete it to download it again")
        return
    part = path.with_name(f"{path.name}.part")
    furthest, failures, is_first = _size(part), 0, True
    while broken := _receive(file, url, part, bar):
        size = _size(part)
        failures = 0 if size > furthest else failures + 1
        furthest = max(furthest, size)
        if failures > len(retry_seconds) or (is_first and not broken.was_reached):
            kept = f"{size:,} bytes are kept, and the same command resumes; " if size else ""
            raise DataError(
                f"{url}: {broken.why}; {kept}check the network, or get {path.name} another way "
                "and name its folder with --from"
            )
        is_first = False
        if failures:
            time.sleep(retry_seconds[failures - 1])
    _settle(file, url, part, path)


def check(file: Upstream, path: Path, advice: str) -> None:
    """Compare a file with its size and checksum, as far as they are known.

    Raises:
        DataError: they differ.
    """
    n_bytes = path.stat().st_size
    if file.n_bytes is not None and n_bytes != file.n_bytes:
        raise DataError(f"{path}: has {n_bytes:,} bytes, expected {file.n_bytes:,}; {advice}")
    if file.checksum:
        algorithm, expected = file.checksum.split(":")
        found = digest(path, algorithm)
        if found != expected:
            raise DataError(f"{path}: wrong content: {algorithm} is {found}, expected {expected}; {advice}")


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Return the checksum of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def _settle(file: Upstream, url: str, part: Path, path: Path) -> None:
    """Check a complete part, and give it its name."""
    wrong = path.with_name(f"{path.name}.wrong")
    try:
        check(file, part, f"{url} has changed or was altered on the way; it is kept as {wrong.name}")
    except DataError:
        with writing(wrong):
            os.replace(part, wrong)
        _version_file(part).unlink(missing_ok=True)
        raise
    with writing(path):
        with open(part, "rb") as stream:
            os.fsync(stream.fileno())
        os.replace(part, path)
        sync_folder(path.parent)
    _version_file(part).unlink(missing_ok=True)


def _receive(file: Upstream, url: str, part: Path, bar: Bar) -> _Break | None:
    """Append what the part lacks; returns what went wrong if that was not all."""
    version = _read_version(part)
    begin = _size(part) if version or file.checksum else 0
    if begin and begin == file.n_bytes:
        return None
    headers = {"User-Agent": f"heed/{__version__}", "Accept-Encoding": "identity"}
    if begin:
        headers["Range"] = f"bytes={begin}-"
        if version:
            headers["If-Range"] = version
    response = _opened(url, headers)
    if isinstance(response, _Break):
        return response
    with response:
        if response.status == 416:  # nothing is left to send: the part is whole, or of another version
            if begin and response.headers.get("Content-Range", "") == f"bytes */{begin}":
                return None
            part.unlink(missing_ok=True)
            return _Break("the server has another version by now")
        if response.status == 206:
            first, total = _content_range(response.headers.get("Content-Range", ""))
            if first != begin:
                part.unlink(missing_ok=True)
                return _Break(f"the server sent bytes from {first} instead of from {begin}")
        else:  # all of it: the first time, another version, or a server that cannot resume
            begin, total = 0, _number(response.headers.get("Content-Length"))
        if None not in (total, file.n_bytes) and total != file.n_bytes:
            raise DataError(
                f"{url}: has {total:,} bytes, expected {file.n_bytes:,}; it is not the file that heed knows: "
                "get the right one another way, and name its folder with --from"
            )
        with writing(part):
            stream = open(part, "ab" if begin else "wb", buffering=0)
            if not begin:  # after the part was emptied: a crash in between must not pair old bytes with the new version
                _version_file(part).write_text(_version(response.headers), encoding="utf-8")
        with stream, bar(total, file.name) as tell:
            tell(begin)
            while block := _read(response):
                if isinstance(block, _Break):
                    return block
                write_all(stream, part, block)
                begin += len(block)
                tell(begin)
        if total is not None and begin < total:
            return _Break(f"the connection broke after {begin:,} of {total:,} bytes")
    return None


def _opened(url: str, headers: dict[str, str]) -> Any:
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=STALL_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            return error
        with error:
            said = f"the server answers {error.code} ({error.reason})"
        if error.code >= 500 or error.code in (408, 429):
            return _Break(said)
        raise DataError(
            f"{url}: {said}; it may have moved: get {url.rsplit('/', 1)[-1]} another way and name its folder, "
            "or a mirror, with --from"
        ) from None
    except urllib.error.URLError as error:
        cause = error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason))
        return _Break(f"cannot be reached ({cause.strerror or cause})", was_reached=False)
    except (ValueError, http.client.InvalidURL) as error:
        raise DataError(f"{url}: is no address to download from ({error}); see --from") from None
    except (OSError, http.client.HTTPException) as error:  # after the connection was made
        return _Break(f"the connection broke ({error})")


def _read(response: Any) -> bytes | _Break:
    try:
        return bytes(response.read1(BLOCK_BYTES))
    except (OSError, http.client.HTTPException) as error:
        return _Break(f"the connection broke ({error})")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _version_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _read_version(part: Path) -> str:
    try:
        return _version_file(part).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _version(headers: Any) -> str:
    """Return what an If-Range header may name: a strong ETag, else the time of the last change."""
    tag = headers.get("ETag", "")
    return str(tag if tag.startswith('"') else headers.get("Last-Modified", ""))


def _content_range(value: str) -> tuple[int | None, int | None]:
    """Return the first byte and the whole size of "bytes 5-9/10"."""
    span, _, total = value.removeprefix("bytes ").partition("/")
    return _number(span.partition("-")[0]), _number(total)


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() else None
