"""Measure many lines at once, by array arithmetic over their bytes."""

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_NGRAM = 4
_GAP = b"\n" * (_NGRAM - 1)  # so that no n-gram reaches into the next line
CODES = 1 << 18

_LOWER = np.array([byte + 32 if 65 <= byte <= 90 else byte for byte in range(256)], dtype=np.uint8)
# Lead bytes of the characters that Latin-1 and Windows-1252 have for UTF-8 continuation bytes.
_MOJIBAKE_SECOND_LEADS = [0xC2, 0xC5, 0xC6, 0xCB, 0xE2]
# A different number for each digit, so that lines with different digits have different sums.
_DIGIT_VALUES = np.array([40_503, 12_289, 50_021, 24_593, 6_151, 61_441, 3_079, 33_391, 18_433, 55_339])

_ASCII_MARKS = bytes(byte for byte in range(128) if not chr(byte).isalnum() and byte != 10)
# Latin-1 symbols, general punctuation, CJK punctuation and full-width marks. Each pattern starts at a lead byte, so
# that no match splits a letter.
_OTHER_MARKS = re.compile(
    rb"\xc2[\x80-\xbf]|\xe2[\x80\x81][\x80-\xbf]|\xe3\x80[\x80-\xbf]|\xef\xbc[\x81-\x8f\x9a-\xa0]|\xef\xbb\xbf"
)


class Lines:
    """The lines of one side of a chunk, as one array of bytes."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.sizes = np.fromiter(map(len, lines), dtype=np.int64, count=len(lines))
        self.starts = np.cumsum(self.sizes + len(_GAP)) - self.sizes - len(_GAP)
        self.bytes = np.frombuffer(_GAP.join(lines) + _GAP, dtype=np.uint8)

    def at(self, places: Ints, weights: Ints | None = None) -> Ints:
        """Return for each line how many of these byte positions it has, or the sum of their weights."""
        line = np.searchsorted(self.starts, places, side="right") - 1
        return np.bincount(line, weights, minlength=len(self.lines)).astype(np.int64)

    def characters(self) -> Ints:
        """Return the number of characters of each line: its bytes without UTF-8 continuation bytes."""
        return self.sizes - self.at(np.flatnonzero((self.bytes & 0xC0) == 0x80))

    def words(self) -> Ints:
        return self.at(np.flatnonzero(self.bytes == ord(" "))) + 1

    def digits(self) -> Ints:
        """Return a number for each line that depends on its digits but not on their order; 0 without digits."""
        places = np.flatnonzero(self.bytes - np.uint8(48) < 10)
        return self.at(places, _DIGIT_VALUES[self.bytes[places] - 48])

    def has(self, mark: str) -> Mask:
        return self.at(np.flatnonzero(self.bytes == ord(mark))) > 0

    def suspects(self) -> Ints:
        """Return the lines that may be damaged: those with a byte or a sequence that damage begins with."""
        byte = self.bytes
        # Control characters and "&"; the lead bytes of private-use characters, U+FFFD and U+FEFF.
        marked = ((byte < 32) & (byte != 9) & (byte != 10)) | (byte == 127) | (byte == 38)
        marked |= (byte == 0xEE) | (byte == 0xEF) | (byte == 0xF3) | (byte == 0xF4)
        places = np.flatnonzero(marked)
        # U+0080 to U+009F, and mojibake: an accented letter, then a character that Latin-1 or Windows-1252 has for a
        # UTF-8 continuation byte.
        lead = np.flatnonzero((byte[:-2] == 0xC2) | (byte[:-2] == 0xC3))
        mojibake = (byte[lead] == 0xC3) & np.isin(byte[lead + 2], _MOJIBAKE_SECOND_LEADS)
        control = (byte[lead] == 0xC2) & (byte[lead + 1] < 0xA0)
        return np.flatnonzero(self.at(np.concatenate([places, lead[mojibake | control]])))

    def not_utf8(self) -> Ints:
        try:
            self.bytes.tobytes().decode("utf-8")
            return np.zeros(0, dtype=np.int64)
        except UnicodeDecodeError:
            return np.array([i for i, line in enumerate(self.lines) if not is_utf8(line)], dtype=np.int64)

    def blank(self) -> Mask:
        blank: Mask = np.fromiter(map(len, self.folded), dtype=np.int64, count=len(self.lines)) == 0
        for place in np.flatnonzero(blank).tolist():
            blank[place] = not self.lines[place].strip()
        return blank

    def lettered(self) -> Mask:
        """Return the lines that have anything but digits and punctuation."""
        return np.array([line != b"" and not line.isdigit() for line in self.folded], dtype=bool)

    def __len__(self) -> int:
        return len(self.lines)

    def bytes_of(self, which: Mask) -> Mask:
        """Return the bytes that are in one of these lines, without the gaps between lines."""
        steps = np.zeros(len(self.bytes) + 1, dtype=np.int8)
        np.add.at(steps, self.starts[which], 1)
        np.subtract.at(steps, (self.starts + self.sizes)[which], 1)
        return np.cumsum(steps[:-1], dtype=np.int8) > 0

    @cached_property
    def ngram_codes(self) -> NDArray[np.uint32]:
        """Return for each byte a hash of the n-gram that begins there, in lowercase."""
        low = _LOWER[self.bytes]
        codes = np.zeros(len(low), dtype=np.uint32)
        last = len(low) - _NGRAM + 1
        for place in range(_NGRAM):  # byte by byte, in the machine's byte order
            codes.view(np.uint8)[place::4][:last] = low[place : last + place]
        codes *= np.uint32(2_654_435_761)
        codes >>= np.uint32(32 - CODES.bit_length() + 1)
        return codes

    def sums(self, values: NDArray[np.float32]) -> Floats:
        """Return for each line the sum of its bytes' values."""
        borders = np.stack([self.starts, self.starts + self.sizes], axis=1).ravel()
        return np.where(self.sizes > 0, np.add.reduceat(values, borders)[::2], 0.0)

    @cached_property
    def folded(self) -> list[bytes]:
        """Return the lines in lowercase, without spaces and punctuation."""
        text = b"\n".join(self.lines).decode("utf-8", "replace").lower().encode()
        return _OTHER_MARKS.sub(b"", text.translate(None, _ASCII_MARKS)).split(b"\n")


def hashes(lines: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each line, which is valid only within this process."""
    return np.fromiter(map(hash, lines), dtype=np.int64, count=len(lines)).view(np.uint64)


def of_pairs(source: NDArray[np.uint64], target: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (source * np.uint64(0x9E3779B97F4A7C15)) ^ target


def is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False
