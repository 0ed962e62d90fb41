"""Write translations to standard output, or to a file that is replaced only once the whole text is written."""

import gzip
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from heed.durable import sync_folder
from heed.errors import DataError


class Output:
    """A writer of lines in UTF-8 with plain newlines, whatever the locale; compresses if the name ends in `.gz`.

    A file is written as FILE.part and renamed at the end, so an old FILE is replaced only by a complete one. If writing
    ends early, FILE.part stays, with all lines written so far. Devices and named pipes are written to directly.
    """

    def __init__(self, path: str | None) -> None:
        """Check that the file can be written, but open it only with the first line.

        Raises:
            DataError: the file cannot be written.
        """
        self.part: Path | None = None  # FILE.part, if a regular file is written
        self._to_standard = path is None or path == "-" or _is_standard_output(path)
        self._raw: BinaryIO | None = None
        self._stream: BinaryIO | gzip.GzipFile | None = None
        if path is None or self._to_standard:
            return
        self._path = Path(os.path.realpath(path))  # a link stays a link
        self._is_compressed = path.endswith(".gz")
        if self._path.is_dir():
            raise DataError(f"{path}: is a folder; name a file in it")
        if not self._path.parent.is_dir():
            raise DataError(f"{path}: the folder {Path(path).parent} does not exist; create it, or name another file")
        if not self._path.exists() or self._path.is_file():
            self.part = self._path.with_name(f"{self._path.name}.part")
        written = [one for one in (self._path, self.part and self._path.parent) if one and one.exists()]
        if not all(os.access(one, os.W_OK) for one in written):
            raise DataError(f"{path}: cannot be written (permission denied); name another file")

    @property
    def is_terminal(self) -> bool:
        return self._to_standard and sys.stdout.isatty()

    @property
    def has_begun(self) -> bool:
        """Return whether the file has been opened, which the first line does."""
        return self._stream is not None

    def write(self, line: str) -> None:
        self._opened().write(f"{line}\n".encode())

    def flush(self) -> None:
        self._opened().flush()

    def __enter__(self) -> "Output":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._to_standard:
            return
        if kind is not None:
            with suppress(OSError):  # do not hide the error that is being handled, such as a full disk
                self._close()
            return
        self._opened()  # without any lines, write an empty file
        self._close()
        if self.part is not None:
            if self._path.exists():
                shutil.copymode(self._path, self.part)
            os.replace(self.part, self._path)
            sync_folder(self._path.parent)

    def _opened(self) -> "BinaryIO | gzip.GzipFile":
        if self._to_standard:
            return sys.stdout.buffer
        if self._stream is None:
            self._raw = open(self.part or self._path, "wb")
            # No name and no time in the header, so that the same text gives the same file.
            self._stream = gzip.GzipFile("", "wb", fileobj=self._raw, mtime=0) if self._is_compressed else self._raw
        return self._stream

    def _close(self) -> None:
        if self._stream is None or self._raw is None:
            return
        try:
            if self._stream is not self._raw:
                self._stream.close()
            self._raw.flush()
            if self.part is not None:
                os.fsync(self._raw.fileno())
        finally:
            self._raw.close()


def _is_standard_output(path: str) -> bool:
    """Return whether a path, such as /dev/stdout, names the file that standard output goes to."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # the path does not exist, or standard output is not a file
        return False
