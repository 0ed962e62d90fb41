"""Encode text files into a `PairStore`, in parallel, with memory that does not grow with the text.

This process reads the same lines of both files block by block, sends each block to a worker, and writes the results in
the order of the text, so the store does not depend on the number of workers. It appears only when it is complete.
"""

import hashlib
import io
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any

import numpy as np

from heed.data.corpus import ParallelText
from heed.data.encode import LENGTH_DTYPE, Block, BlockEncoder, Encoded
from heed.data.store import NUMBER_DTYPE, PairStore, StoreWriter, TextFile
from heed.data.worker import Worker
from heed.durable import new_locked_folder
from heed.errors import DataError
from heed.lock import NAME as LOCK
from heed.text.lines import reading, text_bytes
from heed.text.tokenizer import Tokenizer

_LINES_PER_READ = 128
_BLOCK_LINES = 2_048
_BLOCK_BYTES = 1 << 20
_MIN_BLOCKS_FOR_WORKERS = 8  # fewer are encoded here before a worker has started


def prepare(
    text: ParallelText | Sequence[ParallelText],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
    learnt: Mapping[str, Any] = MappingProxyType({}),
) -> PairStore:
    """Encode a parallel text, or several one after the other, into a new folder, which replaces an existing one.

    `progress` is called with the number of lines done. `learnt`, the settings the vocabulary was learnt with, goes into
    the manifest. Pairs of any length are kept; those with a blank side are left out and listed.

    Raises:
        DataError: the files cannot be read, are empty, or have different numbers of lines; a line is not UTF-8;
            another process is preparing the same folder.
    """
    texts = [text] if isinstance(text, ParallelText) else text
    for text in texts:
        if any(path == "-" or Path(path).is_fifo() for path in (text.source, text.target) if path):
            text.count()  # raises the error for pipes
    done = 0
    with new_locked_folder(folder, replacing=True) as (new, lock), StoreWriter(new, tokenizer) as writer:
        for text in texts:
            with closing(_write(text, tokenizer, writer, processes or available_cores())) as written:
                for n_lines in written:
                    done += n_lines
                    if progress is not None:
                        progress(done)
        writer.finish(learnt)
        (new / LOCK).unlink()
    lock.release()
    return PairStore.open(folder)


def _write(text: ParallelText, tokenizer: Tokenizer, writer: StoreWriter, processes: int) -> Generator[int, None, None]:
    """Encode a text and write it to a store; yield the number of lines of each block once it is written."""
    files = [_ReadFile(path) for path in (text.source, text.target) if path]
    is_empty = True
    with (
        closing(_blocks(text, files)) as blocks,
        closing(_encoded(text, tokenizer, blocks, processes)) as encoded,
    ):
        for block, found in encoded:
            numbers = np.arange(block.first_line, block.first_line + block.n_lines, dtype=NUMBER_DTYPE)
            blank = np.frombuffer(found.blank, dtype=LENGTH_DTYPE)
            writer.add(
                (found.source_ids, found.source_lengths),
                (found.target_ids, found.target_lengths),
                np.delete(numbers, blank).tobytes(),
                numbers[blank].tobytes(),
            )
            is_empty = False
            yield block.n_lines
    if is_empty:
        text.count()  # raises an error that names the empty file
    writer.end_part([file.as_read() for file in files])


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- encoding, in this process or in workers --------------------------------------------------------------------


def _encoded(
    text: ParallelText, tokenizer: Tokenizer, blocks: Iterator[Block], processes: int
) -> Generator[tuple[Block, Encoded], None, None]:
    """Yield each block with its encoding, in order."""
    first = list(islice(blocks, _MIN_BLOCKS_FOR_WORKERS))
    if processes == 1 or len(first) < _MIN_BLOCKS_FOR_WORKERS:
        encoder = BlockEncoder(text, tokenizer)
        yield from ((block, encoder.encode(block)) for block in chain(first, blocks))
        return
    pending: deque[tuple[Block, Future[Encoded]]] = deque()
    with _workers(text, tokenizer, processes) as encode:
        for block in chain(first, blocks):
            pending.append((block, encode(block)))
            if len(pending) > 2 * processes:
                block, found = pending.popleft()
                yield block, found.result()
        for block, found in pending:
            yield block, found.result()


@contextmanager
def _workers(text: ParallelText, tokenizer: Tokenizer, processes: int) -> Iterator[Callable[[Block], Future[Encoded]]]:
    """Start workers, each with a thread that waits for it, and end them with the `with` block, even on an error."""
    idle: SimpleQueue[Worker] = SimpleQueue()

    def encode(block: Block) -> Encoded:
        worker = idle.get()
        try:
            return worker.encode(block)
        finally:
            idle.put(worker)

    workers: list[Worker] = []
    threads = ThreadPoolExecutor(processes, "encode")
    try:
        for _ in range(processes):
            workers.append(Worker(text, tokenizer))
            idle.put(workers[-1])
        yield lambda block: threads.submit(encode, block)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()  # unblocks the thread that waits for it
        threads.shutdown()
        for worker in workers:
            worker.close()


# --- reading ----------------------------------------------------------------------------------------------------


class _ReadFile(io.RawIOBase):
    """A text file that computes the checksum of its raw bytes while it is read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sum = hashlib.sha256()
        self._file: io.FileIO | None = None
        self._stat: os.stat_result | None = None

    def chunks(self) -> Generator[list[bytes], None, None]:
        """Yield the lines of the file in lists."""
        with reading(self._path), open(self._path, "rb", buffering=0) as self._file:  # `reading` for its error messages
            self._stat = os.fstat(self._file.fileno())
            stream = text_bytes(io.BufferedReader(self, 1 << 20), self._path)
            while lines := list(islice(stream, _LINES_PER_READ)):
                yield lines
            now = os.fstat(self._file.fileno())
            if (now.st_size, now.st_mtime_ns) != (self._stat.st_size, self._stat.st_mtime_ns):
                raise DataError(f"{self._path}: changed while it was read; run it again when the file is complete")

    def as_read(self) -> TextFile:
        assert self._stat is not None
        name = os.fsencode(self._path).decode("utf-8", "backslashreplace")  # JSON must be UTF-8
        return TextFile(name, self._stat.st_size, self._stat.st_mtime_ns, self._sum.hexdigest())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        assert self._file is not None
        size = self._file.readinto(buffer)
        self._sum.update(buffer[:size])
        return size


def _blocks(text: ParallelText, files: list[_ReadFile]) -> Generator[Block, None, None]:
    """Yield blocks with the same lines of all files."""
    first_line = 1
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(file.chunks())) for file in files]
        while sides := _next_lines(text, readers):
            source, target = (b"".join(side) for side in (*sides, [])[:2])
            yield Block(first_line, len(sides[0]), source, target)
            first_line += len(sides[0])


def _next_lines(text: ParallelText, readers: Sequence[Iterator[list[bytes]]]) -> list[list[bytes]]:
    """Read the lines of each file that make up a block; return nothing at the end of all files."""
    sides: list[list[bytes]] = [[] for _ in readers]
    n_bytes = 0
    while len(sides[0]) < _BLOCK_LINES and n_bytes < _BLOCK_BYTES:
        chunks = [next(reader, []) for reader in readers]
        if len({len(chunk) for chunk in chunks}) > 1:
            text.count()  # raises an error that names the number of lines of each
            raise DataError(f"{text.name}: changed while they were read; run it again when the files are complete")
        for side, chunk in zip(sides, chunks, strict=True):
            side += chunk
            n_bytes += sum(map(len, chunk))
        if not chunks[0]:
            break
    return sides if sides[0] else []
