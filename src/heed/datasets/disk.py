"""Write files, and say what to do when the disk is full or may not be written to."""

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
        raise DataError(
            f"{path}: cannot be written ({error.strerror}); make room or name another folder (--out), "
            "then run the same command again: it continues"
        ) from None


def write_all(file: io.FileIO, path: Path, block: bytes) -> None:
    """Write a block to an unbuffered file, whose writes may be short, such as the last before the disk is full."""
    left = memoryview(block)
    with writing(path):
        while left:
            left = left[file.write(left) or 0 :]
