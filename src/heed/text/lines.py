"""Reading text files: what counts as a line.

A line ends at "\\n" and nowhere else: U+2028, U+0085, "\\v" and "\\f" are ordinary characters, whatever
`str.splitlines` thinks. One "\\r" before the line end belongs to the line end, as Windows writes it.
"""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from heed.errors import DataError


def open_bytes(path: str | Path) -> BinaryIO:
    """Open a plain or gzip-compressed (`.gz`) file for reading; `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.buffer
    try:
        return gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb")  # type: ignore[return-value]
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the name and the folder you are in") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, not a text file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def decode_lines(lines: Iterable[bytes], name: str, first: int = 1) -> Iterator[str]:
    """Lines as text without their line ends; `name` is what a complaint calls the file, `first` the first's number."""
    for number, line in enumerate(lines, first):
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark is not text
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at position {error.start + 1}); "
                "convert the text, for instance with: iconv -f latin1 -t utf-8"
            ) from None


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file, one at a time.

    Raises:
        DataError: the file cannot be opened, or a line is not UTF-8 (file and line are named).
    """
    with reading(path) as stream:
        yield from decode_lines(stream, _name(path))


def count_lines(blocks: Iterable[bytes]) -> int:
    """Count the lines of a text given in blocks; the last line may do without its end."""
    count, last = 0, b"\n"
    for block in blocks:
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


@contextmanager
def reading(path: str | Path) -> Iterator[BinaryIO]:
    """The bytes of an open file, `.gz` unpacked.

    Raises:
        DataError: the file cannot be opened, or is not a whole gzip file.
    """
    stream = open_bytes(path)
    try:
        yield stream
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{_name(path)}: not a whole gzip file ({error}); fetch or compress it again") from None
    finally:
        if stream is not sys.stdin.buffer:
            stream.close()


def _name(path: str | Path) -> str:
    return "standard input" if str(path) == "-" else str(path)
