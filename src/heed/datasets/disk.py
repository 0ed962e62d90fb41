"""Write files, and say what to do when the disk is full or may not be written to."""

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heed.errors import DataError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system says about a file into what to do about it.

    Raises:
        DataError: the file cannot be written.
    """
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "make room, then run the same command again: it continues; or " if is_full else ""
        raise DataError(f"{path}: cannot be written ({error.strerror}); {advice}name another folder (--out)") from None


def write_all(file: io.FileIO, path: Path, block: bytes) -> None:
    """Write a block to an unbuffered file, whose writes may be short, such as the last before the disk is full."""
    left = memoryview(block)
    with writing(path):
        while left:
            left = left[file.write(left) or 0 :]
