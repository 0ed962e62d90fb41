"""Store a prepared corpus: a folder of memory-mapped flat arrays, and a manifest with a checksum of every block.

Nothing is read before it is needed, and nothing is used unverified: a block of ids is verified before its first use,
the small arrays as a whole when they are first used.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from heed.data.encode import LENGTH_DTYPE, id_type
from heed.durable import (
    MANIFEST,
    checksum,
    json_bytes,
    open_file,
    read_file,
    read_manifest,
    write_manifest,
    write_through,
)
from heed.errors import CheckpointError, DamageError, DataError
from heed.text.tokenizer import Tokenizer

FORMAT = 1
BLOCK_BYTES = 1 << 18  # each block has a checksum
TOKENIZER = "tokenizer.model"
NUMBER_DTYPE = np.dtype("<i8")

_SIDES = ("source", "target")
_ID_TYPES = ("<u2", "<i4")
_NUMBERS_PER_CHECK = 1 << 20
_ARRAYS = (*(f"{side}.{what}" for side in _SIDES for what in ("ids", "lengths", "starts")), "lines", "blank_lines")

Ids = NDArray[np.uint16] | NDArray[np.int32]


@dataclass(frozen=True)
class TextFile:
    """The state of a text file when it was read."""

    path: str
    size: int
    mtime_ns: int
    sha256: str

    def has_changed(self) -> bool:
        """Return whether the file has other content now. If size or time differ, its checksum decides."""
        try:
            now = os.stat(self.path)
            if (now.st_size, now.st_mtime_ns) == (self.size, self.mtime_ns):
                return False
            with open_file(Path(self.path)) as file:
                return now.st_size != self.size or hashlib.file_digest(file, "sha256").hexdigest() != self.sha256
        except (OSError, ValueError):  # missing or unreadable: the store works without it
            return False


@dataclass(frozen=True)
class Part:
    """One of the corpora that a store was made from."""

    n_texts: int  # files
    n_pairs: int
    n_blank: int  # pairs left out because a side is blank


@dataclass(frozen=True)
class Place:
    """Lines of a text: `text` names its files."""

    text: str
    lines: list[int]


# --- reading --------------------------------------------------------------------------------------------------


class StoredArray:
    """One memory-mapped file of a store, whose blocks are verified before their first use."""

    def __init__(self, path: Path, kind: "np.dtype[Any]", size: int, sums: list[str]) -> None:
        self.path = path
        self._sums = sums
        self._verified = np.zeros(len(sums), dtype=bool)
        self._whole = False
        try:
            found = path.stat().st_size
            if found != size:
                raise _damaged(path, f"{found:,} bytes instead of {size:,}")
            if size % kind.itemsize or len(sums) != -(-size // BLOCK_BYTES):
                raise _damaged(path, f"{size:,} bytes do not match {len(sums):,} checksums")
            mapped = np.memmap(path, dtype=kind, mode="r") if size else np.empty(0, dtype=kind)
        except OSError as error:
            raise _damaged(path, error.strerror or str(error)) from None
        self.raw: NDArray[Any] = np.asarray(mapped)

    @property
    def array(self) -> NDArray[Any]:
        """Return the whole array, verified."""
        if not self._whole:
            self.verify()
        return self.raw

    def check(self, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Verify the blocks with the elements `begins[i] : ends[i]`, unless they have been verified before."""
        if self._whole or not len(begins):
            return
        size = self.raw.itemsize
        first, last = begins * size // BLOCK_BYTES, (ends * size - 1) // BLOCK_BYTES
        if self._verified[first].all() and self._verified[last].all() and (last - first).max() <= 1:
            return
        wanted = np.zeros(len(self._verified) + 1, dtype=np.int64)
        np.add.at(wanted, first, 1)
        np.add.at(wanted, last + 1, -1)
        self._verify(np.flatnonzero((np.cumsum(wanted[:-1]) > 0) & ~self._verified))

    def verify(self) -> None:
        """Verify every byte, even of blocks that have been verified before."""
        self._verify(np.arange(len(self._sums)))

    def _verify(self, blocks: NDArray[np.int64]) -> None:
        # Read instead of mapping, so that verified pages do not count as this process's memory.
        try:
            with open_file(self.path) as file:
                for block in blocks.tolist():
                    content = os.pread(file.fileno(), BLOCK_BYTES, block * BLOCK_BYTES)
                    if checksum(content) != self._sums[block]:
                        raise _damaged(
                            self.path,
                            f"bytes {block * BLOCK_BYTES:,} to {block * BLOCK_BYTES + len(content):,} have changed",
                        )
        except OSError as error:
            raise _damaged(self.path, error.strerror or str(error)) from None
        self._verified[blocks] = True
        self._whole = bool(self._verified.all())


class Sequences:
    """Concatenated sequences of ids; sequence i is `ids[starts[i] : starts[i + 1]]`, with its end token."""

    def __init__(
        self, ids: StoredArray, lengths: StoredArray, starts: StoredArray, vocabulary: Callable[[], int]
    ) -> None:
        self._ids, self._lengths, self._starts, self._vocabulary = ids, lengths, starts, vocabulary

    def __len__(self) -> int:
        return len(self._lengths.raw)

    def __getitem__(self, i: int) -> Ids:
        return self.gather(np.array([i]))[0]

    @property
    def ids(self) -> Ids:
        """Return all ids, unverified."""
        return self._ids.raw

    @property
    def lengths(self) -> NDArray[np.int32]:
        return self._checked[0]

    @property
    def starts(self) -> NDArray[np.int64]:
        return self._checked[1]

    @cached_property
    def _checked(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return lengths and starts, checked to be consistent, so that no index is outside the ids."""
        lengths, starts = self._lengths.array, self._starts.array
        if len(starts) != len(lengths) + 1 or starts[0] != 0 or starts[-1] != len(self.ids):
            raise _damaged(self._starts.path, "it does not cover the ids")
        for begin in range(0, len(lengths), _NUMBERS_PER_CHECK):
            block = lengths[begin : begin + _NUMBERS_PER_CHECK]
            if block.min() < 1 or np.any(np.diff(starts[begin : begin + len(block) + 1]) != block):
                raise _damaged(self._starts.path, f"it does not match {self._lengths.path.name}")
        return lengths, starts

    def gather(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> tuple[Ids, NDArray[np.int64]]:
        """Return the concatenated ids of some sequences, and their lengths."""
        begins, ends = self.starts[indices], self.starts[np.asarray(indices) + 1]
        self._ids.check(begins, ends)
        lengths = ends - begins
        positions = np.repeat(ends - np.cumsum(lengths), lengths)
        positions += np.arange(len(positions))
        ids = self.ids[positions]
        if len(ids) and (ids.max() >= self._vocabulary() or ids.min() < 0):
            raise _damaged(self._ids.path, f"an id is outside the vocabulary of {self._vocabulary():,}")
        return ids, lengths


class PairStore:
    """Encoded pairs, and the line numbers of those left out because a side is blank.

    A store may hold several corpora, one after the other: its `parts`. `lines[i]` is the line number of pair i in the
    text files of its part. `checksum` identifies the pairs, their order, the parts and the vocabulary. `learnt` holds
    the settings the vocabulary was learnt with, as far as known.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.checksum: str = manifest["corpus"]
        self.tokenizer_checksum: str = manifest["tokenizer"]
        self.learnt: dict[str, Any] = manifest["learnt"]
        self.texts = tuple(TextFile(**text) for text in manifest["texts"])
        if not all(isinstance(text.path, str) for text in self.texts):
            raise ValueError("a text has no name")
        if manifest["id_type"] not in _ID_TYPES:
            raise ValueError(f"ids of type {manifest['id_type']!r}")
        self._arrays = {}
        for name in _ARRAYS:
            ids, lengths = name.endswith(".ids"), name.endswith(".lengths")
            kind = np.dtype(manifest["id_type"]) if ids else LENGTH_DTYPE if lengths else NUMBER_DTYPE
            file = manifest["files"][name]
            self._arrays[name] = StoredArray(folder / name, kind, file["size"], file["blocks"])
        self.source, self.target = (self._sequences(side) for side in _SIDES)
        if not len(self.source) == len(self.target) == len(self._arrays["lines"].raw):
            raise ValueError("the two sides differ in length")
        whole = Part(len(self.texts), len(self), len(self._arrays["blank_lines"].raw))
        # Stores of heed 0.1 have one part, and do not say so.
        self.parts = tuple(Part(**part) for part in manifest.get("parts", [asdict(whole)]))
        if tuple(map(sum, zip(*map(astuple, self.parts), strict=True))) != astuple(whole):
            raise ValueError("the parts are not the whole")

    def _sequences(self, side: str) -> Sequences:
        ids, lengths, starts = (self._arrays[f"{side}.{what}"] for what in ("ids", "lengths", "starts"))
        return Sequences(ids, lengths, starts, lambda: len(self.tokenizer))

    @classmethod
    def open(cls, folder: Path) -> "PairStore":
        """Open a store.

        Raises:
            DataError: the folder is not a store, has another format, or one of its files is missing or damaged.
        """
        manifest = _read_manifest(folder)
        try:
            store = cls(folder, manifest)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(folder / MANIFEST, f"it does not describe a corpus: {error}") from None
        try:
            model = read_file(folder / TOKENIZER)
        except OSError as error:
            raise _damaged(folder / TOKENIZER, error.strerror or str(error)) from None
        if checksum(model) != store.tokenizer_checksum:
            raise _damaged(folder / TOKENIZER, "its content has changed")
        return store

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lines(self) -> NDArray[np.int64]:
        return self._arrays["lines"].array

    @property
    def blank_lines(self) -> NDArray[np.int64]:
        return self._arrays["blank_lines"].array

    @property
    def part_names(self) -> list[str]:
        """Return the files of each part, as messages name them."""
        ends = accumulate(part.n_texts for part in self.parts)
        spans = [(end - part.n_texts, end) for part, end in zip(self.parts, ends, strict=True)]
        return [" and ".join(text.path for text in self.texts[begin:end]) for begin, end in spans]

    def places(self, pairs: Sequence[int] | NDArray[np.integer[Any]]) -> list[Place]:
        """Return where some pairs are in the text files, in order."""
        return self._places([part.n_pairs for part in self.parts], self.lines, pairs)

    def blank_places(self, at_most: int) -> list[Place]:
        """Return where the first pairs with a blank side are in the text files."""
        first = np.arange(min(at_most, len(self.blank_lines)))
        return self._places([part.n_blank for part in self.parts], self.blank_lines, first)

    def _places(
        self, sizes: list[int], lines: NDArray[np.int64], numbers: Sequence[int] | NDArray[np.integer[Any]]
    ) -> list[Place]:
        """Group lines by part; `sizes` says how many of `lines` each part has."""
        numbers = np.unique(np.asarray(numbers, dtype=np.int64))
        cuts = np.searchsorted(numbers, np.cumsum(sizes)[:-1])
        groups = zip(self.part_names, np.split(numbers, cuts), strict=True)
        return [Place(name, lines[group].tolist()) for name, group in groups if len(group)]

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer.load(self.folder / TOKENIZER)

    def verify(self) -> None:
        """Verify every byte.

        Raises:
            DataError: a file is damaged.
        """
        for array in self._arrays.values():
            array.verify()

    def changed_texts(self) -> list[str]:
        """Return the text files that have changed since the store was made; a missing file does not count."""
        return [text.path for text in self.texts if text.has_changed()]


def _read_manifest(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; name one made by `heed prepare`")
    if not (folder / MANIFEST).exists():
        raise DataError(
            f"{folder}: not a prepared corpus (it has no {MANIFEST}); make one with: "
            f"heed prepare --source FILE --target FILE --out {folder}"
        )
    try:
        return read_manifest(folder, (FORMAT,), _again(folder))
    except DamageError as error:
        raise DataError(f"{error}; {_again(folder)}") from None
    except CheckpointError as error:
        raise DataError(str(error)) from None


def _damaged(path: Path, how: str) -> DataError:
    return DataError(f"{path}: missing or damaged ({how}); {_again(path.parent)}")


def _again(folder: Path) -> str:
    if (folder.parent / TOKENIZER).exists():  # a corpus inside a run folder
        return f"delete the folder {folder}; heed train --resume {folder.parent} makes it again from the text"
    return (
        f"delete the folder {folder}, and make it again from the text: "
        f"heed prepare --source FILE --target FILE --out {folder}"
    )


# --- writing --------------------------------------------------------------------------------------------------


class _ArrayWriter:
    """Writes a file, and computes the checksums of its blocks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = open(path, "wb", buffering=BLOCK_BYTES)
        self._block = hashlib.sha256()
        self.size = 0
        self.sums: list[str] = []

    def write(self, content: bytes) -> None:
        with self._named_errors():
            self._file.write(content)
        rest = memoryview(content)
        while len(rest):
            part = rest[: BLOCK_BYTES - self.size % BLOCK_BYTES]
            self._block.update(part)
            self.size += len(part)
            if self.size % BLOCK_BYTES == 0:
                self._end_block()
            rest = rest[len(part) :]

    def finish(self) -> dict[str, Any]:
        if self.size % BLOCK_BYTES:
            self._end_block()
        with self._named_errors():
            self._file.flush()
            os.fsync(self._file.fileno())
        return {"size": self.size, "blocks": self.sums}

    def close(self) -> None:
        with suppress(OSError):  # a full disk has been reported before
            self._file.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Add the file's name to errors such as a full disk."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from None

    def _end_block(self) -> None:
        self.sums.append(self._block.hexdigest())
        self._block = hashlib.sha256()


class StoreWriter:
    """Writes the files of a store into a new folder, block by block."""

    def __init__(self, folder: Path, tokenizer: Tokenizer) -> None:
        self._folder, self._tokenizer = folder, tokenizer
        self._kind = id_type(len(tokenizer))
        self._files = {name: _ArrayWriter(folder / name) for name in _ARRAYS}
        self._ends = dict.fromkeys(_SIDES, 0)
        self._texts: list[TextFile] = []
        self._parts: list[Part] = []
        for side in _SIDES:
            self._files[f"{side}.starts"].write(np.zeros(1, dtype=NUMBER_DTYPE).tobytes())

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()

    def add(self, source: tuple[bytes, bytes], target: tuple[bytes, bytes], lines: bytes, blank_lines: bytes) -> None:
        """Append pairs: ids and lengths of each side, and line numbers."""
        for side, (ids, lengths) in zip(_SIDES, (source, target), strict=True):
            ends = self._ends[side] + np.cumsum(np.frombuffer(lengths, dtype=LENGTH_DTYPE), dtype=NUMBER_DTYPE)
            if len(ends):
                self._ends[side] = int(ends[-1])
            for what, content in (("ids", ids), ("lengths", lengths), ("starts", ends.tobytes())):
                self._files[f"{side}.{what}"].write(content)
        self._files["lines"].write(lines)
        self._files["blank_lines"].write(blank_lines)

    def end_part(self, texts: Sequence[TextFile]) -> None:
        """Record that the pairs since the last call, or since the start, came from these files."""
        n_pairs, n_blank = (self._files[name].size // NUMBER_DTYPE.itemsize for name in ("lines", "blank_lines"))
        before = [(part.n_pairs, part.n_blank) for part in self._parts]
        n_pairs, n_blank = n_pairs - sum(n for n, _ in before), n_blank - sum(n for _, n in before)
        self._texts += texts
        self._parts.append(Part(len(texts), n_pairs, n_blank))

    def finish(self, learnt: Mapping[str, Any]) -> None:
        """Complete the files and write the manifest; the caller renames the folder."""
        files = {name: file.finish() for name, file in self._files.items()}
        tokenizer = write_through(self._folder / TOKENIZER, [self._tokenizer.model])
        corpus = [tokenizer, *(files[f"{side}.{what}"] for side in _SIDES for what in ("ids", "lengths"))]
        parts = [asdict(part) for part in self._parts]
        if len(parts) > 1:
            corpus.append([part["n_pairs"] for part in parts])
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "corpus": checksum(json_bytes(corpus)),
            "tokenizer": tokenizer,
            "learnt": dict(learnt),
            "id_type": self._kind.str,
            "texts": [asdict(text) for text in self._texts],
            "parts": parts,
            "files": files,
        }
        write_manifest(self._folder, manifest)
