"""Read text files, plain or gzip, always UTF-8.

A line ends at "\\n" and nowhere else: U+2028, U+0085, "\\v" and "\\f" are ordinary characters, unlike in
`str.splitlines`. One "\\r" before "\\n" belongs to the line end, as Windows writes it.
"""

import gzip
import io
import shlex
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from heed.errors import DataError

GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
_SAMPLE_BYTES = 4096  # read ahead to detect compression and encoding


def decode_lines(lines: Iterable[bytes], name: str, first: int = 1) -> Iterator[str]:
    """Decode lines and remove their line ends; errors name the file `name`, and count lines from `first`."""
    for number, line in enumerate(lines, first):
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark is not text
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at position {error.start + 1}); "
                "find out its encoding and convert it; from Windows-1252, for instance: "
                "iconv -f windows-1252 -t utf-8"
            ) from None


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a file.

    Raises:
        DataError: the file cannot be opened, or a line is not UTF-8; the message names file and line.
    """
    with reading(path) as stream:
        yield from decode_lines(stream, _name(path))


def count_lines(blocks: Iterable[bytes]) -> int:
    """Count the lines of a text given in blocks; the last line may lack its line end."""
    count, last = 0, b"\n"
    for block in blocks:
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


@contextmanager
def reading(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file of UTF-8 text, plain or gzip-compressed, for reading its bytes; `-` is standard input.

    Raises:
        DataError: the file cannot be opened, is an incomplete gzip file, or its first bytes are not UTF-8.
    """
    if str(path) == "-" and sys.stdin is None:
        raise DataError("standard input: is closed; name a file, or pipe text into the command")
    try:
        raw = _standard_input() if str(path) == "-" else open(path, "rb")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the name and the folder you are in") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, not a text file; name a file in it") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    with raw:
        try:
            yield text_bytes(raw, path)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                f"{_name(path)}: damaged or incomplete gzip file ({error}); download or compress it again"
            ) from None


def _standard_input() -> io.BufferedReader:
    """Open standard input as a separate stream: Python aborts at exit if a thread still waits inside sys.stdin."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # sys.stdin was replaced by an object that is not a file
        return io.BufferedReader(sys.stdin.buffer)  # type: ignore[arg-type]


def text_bytes(stream: io.BufferedReader, path: str | Path) -> io.BufferedReader:
    """Return a stream of the text's bytes, decompressed if they begin like gzip, whatever the file's name.

    Raises:
        DataError: the bytes begin like UTF-16, UTF-32 or another kind of archive.
    """
    is_packed = stream.peek(_SAMPLE_BYTES).startswith(GZIP)
    if is_packed or str(path).endswith(".gz"):
        stream = io.BufferedReader(gzip.GzipFile(fileobj=stream), 1 << 20)
    sample = stream.peek(_SAMPLE_BYTES)[:_SAMPLE_BYTES]
    for signature, kind in _ARCHIVES.items():
        if sample.startswith(signature):
            raise DataError(f"{_name(path)}: is {kind}, not text; unpack it first")
    if encoding := _wide_encoding(sample):
        command = f"iconv -f {encoding} -t utf-8"
        if str(path) != "-":
            plain = shlex.quote(str(path))
            result = shlex.quote(str(path).removesuffix(".gz") + ".utf8")
            command = f"gzip -dc < {plain} | {command} > {result}" if is_packed else f"{command} {plain} > {result}"
        raise DataError(f"{_name(path)}: is {encoding.upper()}, not UTF-8; convert it first: {command}")
    return stream


_ARCHIVES = {
    b"PK\x03\x04": "a zip archive",
    b"\xfd7zXZ\x00": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"BZh91AY&SY": "compressed by bzip2",
}


def _wide_encoding(sample: bytes) -> str:
    """Return the encoding if it is UTF-16 or UTF-32, detected by a byte-order mark or by the positions of zeros."""
    if sample.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "utf-32"
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    zeros = [sample[place::2].count(0) for place in (0, 1)]
    if max(zeros) < max(2, len(sample) / 20):  # in UTF-16, at least every space and line end has one
        return ""
    if min(zeros) > 0.4 * max(zeros):
        return ("utf-32be" if sample[0] == 0 else "utf-32le") if sum(zeros) >= len(sample) / 2 else ""
    low = 1 if zeros[0] > zeros[1] else 0  # position of a character's low byte
    line_ends = [sample[place::2].count(b"\n") for place in (low, 1 - low)]
    if min(zeros) > 0.1 * max(zeros) or line_ends[0] < line_ends[1]:
        return ""
    return "utf-16be" if low else "utf-16le"


def _name(path: str | Path) -> str:
    return "standard input" if str(path) == "-" else str(path)
