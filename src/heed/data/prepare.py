"""Text files to a `PairStore`, in parallel, in memory that does not grow with the text.

This process reads blocks of lines of both files in step, hands each to a worker process, and writes what comes back
in the order of the text: the store is the same whatever the number of workers. It appears whole or not at all.
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
from heed.data.encode import LENGTH, Block, BlockEncoder, Encoded
from heed.data.store import NUMBER, PairStore, StoreWriter, TextFile
from heed.data.worker import Worker
from heed.durable import new_locked_folder
from heed.errors import DataError
from heed.lock import NAME as LOCK
from heed.text.lines import reading, text_bytes
from heed.text.tokenizer import Tokenizer

_LINES_AT_ONCE = 128
_BLOCK_LINES = 2_048
_BLOCK_BYTES = 1 << 20
_SMALL = 8  # so many blocks are encoded before a worker would have started


def prepare(
    text: ParallelText,
    tokenizer: Tokenizer,
    folder: Path,
    *,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
    learnt: Mapping[str, Any] = MappingProxyType({}),
) -> PairStore:
    """Encode a parallel text into a new folder, which replaces one that stands there.

    `progress` is told how many lines are done; `learnt` is noted as the way the vocabulary came about. Pairs of any
    length are kept, those with a blank side are left out and listed.

    Raises:
        DataError: the files cannot be read, are empty, or have different numbers of lines; a line is not UTF-8;
            another process is preparing the same folder.
    """
    if any(path == "-" or Path(path).is_fifo() for path in (text.source, text.target) if path):
        text.count()  # refuses what can be read only once
    files = [_ReadFile(path) for path in (text.source, text.target) if path]
    with (
        new_locked_folder(folder, replacing=True) as (new, lock),
        StoreWriter(new, tokenizer) as writer,
        closing(_blocks(text, files)) as blocks,
        closing(_encoded(text, tokenizer, blocks, processes or available_cores())) as encoded,
    ):
        done = 0
        for block, found in encoded:
            numbers = np.arange(block.first_line, block.first_line + block.n_lines, dtype=NUMBER)
            blank = np.frombuffer(found.blank, dtype=LENGTH)
            writer.add(
                (found.source_ids, found.source_lengths),
                (found.target_ids, found.target_lengths),
                np.delete(numbers, blank).tobytes(),
                numbers[blank].tobytes(),
            )
            done += block.n_lines
            if progress is not None:
                progress(done)
        if done == 0:
            text.count()  # says which file is empty
        writer.finish([file.as_read() for file in files], learnt)
        (new / LOCK).unlink()
    lock.release()
    return PairStore.open(folder)


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- encoding, here or elsewhere --------------------------------------------------------------------------------


def _encoded(
    text: ParallelText, tokenizer: Tokenizer, blocks: Iterator[Block], processes: int
) -> Generator[tuple[Block, Encoded], None, None]:
    """Blocks with what became of them, in order."""
    first = list(islice(blocks, _SMALL))
    if processes == 1 or len(first) < _SMALL:
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
    """So many processes, each with a thread here that waits for it; however this ends, they end too."""
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
            worker.kill()  # whoever waits for it goes on
        threads.shutdown()
        for worker in workers:
            worker.close()


# --- reading ----------------------------------------------------------------------------------------------------


class _ReadFile(io.RawIOBase):
    """A text file that takes the checksum of its bytes, compressed or not, while it is read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._sum = hashlib.sha256()
        self._file: io.FileIO | None = None
        self._stat: os.stat_result | None = None

    def portions(self) -> Generator[list[bytes], None, None]:
        """Its lines, some at a time."""
        with reading(self._path), open(self._path, "rb", buffering=0) as self._file:  # for the former's complaints
            self._stat = os.fstat(self._file.fileno())
            stream = text_bytes(io.BufferedReader(self, 1 << 20), self._path)
            while lines := list(islice(stream, _LINES_AT_ONCE)):
                yield lines
            now = os.fstat(self._file.fileno())
            if (now.st_size, now.st_mtime_ns) != (self._stat.st_size, self._stat.st_mtime_ns):
                raise DataError(f"{self._path}: changed while it was read; prepare again when it is finished")

    def as_read(self) -> TextFile:
        assert self._stat is not None
        name = os.fsencode(self._path).decode("utf-8", "backslashreplace")  # JSON takes nothing else
        return TextFile(name, self._stat.st_size, self._stat.st_mtime_ns, self._sum.hexdigest())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        assert self._file is not None
        size = self._file.readinto(buffer)
        self._sum.update(buffer[:size])
        return size


def _blocks(text: ParallelText, files: list[_ReadFile]) -> Generator[Block, None, None]:
    """The lines of all files in step."""
    first_line = 1
    with ExitStack() as stack:
        readers = [stack.enter_context(closing(file.portions())) for file in files]
        while sides := _next_lines(text, readers):
            source, target = (b"".join(side) for side in (*sides, [])[:2])
            yield Block(first_line, len(sides[0]), source, target)
            first_line += len(sides[0])


def _next_lines(text: ParallelText, readers: Sequence[Iterator[list[bytes]]]) -> list[list[bytes]]:
    """As many lines of each file as make a block; nothing when all are at their end."""
    sides: list[list[bytes]] = [[] for _ in readers]
    n_bytes = 0
    while len(sides[0]) < _BLOCK_LINES and n_bytes < _BLOCK_BYTES:
        portions = [next(reader, []) for reader in readers]
        if len({len(portion) for portion in portions}) > 1:
            text.count()  # says how many lines each has
            raise DataError(f"{text.name}: changed while they were read; prepare again when they are finished")
        for side, portion in zip(sides, portions, strict=True):
            side += portion
            n_bytes += sum(map(len, portion))
        if not portions[0]:
            break
    return sides if sides[0] else []
