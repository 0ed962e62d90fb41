"""Encode blocks of text in a worker, a process that `prepare` starts and talks to over two pipes.

A message is a word and up to five byte strings. The first message is the task: the names of the text files and the
tokenizer. Each further message is a block; the answer is the encoded block or an error.

A worker ends as soon as the other end of either pipe is closed, so it needs no cleaning up.
"""

import os
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from typing import IO

from heed.data.corpus import ParallelText
from heed.data.encode import Block, BlockEncoder, Encoded
from heed.errors import DataError
from heed.text.tokenizer import Tokenizer

_SIZES = struct.Struct("<6Q")
_NUMBERS = struct.Struct("<2Q")


def send(pipe: IO[bytes], word: bytes, *parts: bytes) -> None:
    sizes = [len(word), *map(len, parts), *[0] * (5 - len(parts))]
    for part in (_SIZES.pack(*sizes), word, *parts):
        pipe.write(part)
    pipe.flush()


def receive(pipe: IO[bytes]) -> list[bytes]:
    """Read a message.

    Raises:
        EOFError: the other end of the pipe is closed.
    """
    sizes = _SIZES.unpack(_exactly(pipe, _SIZES.size))
    return [_exactly(pipe, size) for size in sizes]


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


class Worker:
    """A worker, as seen by the process that starts it."""

    def __init__(self, text: ParallelText, tokenizer: Tokenizer) -> None:
        # Import the same modules as this process, whatever is in the working folder (-P).
        script = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # keeps Ctrl-C from the worker, which ends with its parent
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._task: tuple[bytes, ...] = (
            os.fsencode(text.source),
            os.fsencode(text.target),
            text.tag.encode(),
            tokenizer.model,
        )

    @property
    def id(self) -> int:
        return self._process.pid

    def encode(self, block: Block) -> Encoded:
        """Encode a block in the worker.

        Raises:
            DataError: a line of the block is wrong, or the worker died.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            if self._task:  # sent only now, so that several workers can start at the same time
                send(self._process.stdin, b"task", *self._task)
                self._task = ()
            numbers = _NUMBERS.pack(block.first_line, block.n_lines)
            send(self._process.stdin, b"block", numbers, block.source, block.target)
            word, *answer = receive(self._process.stdout)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            code = self._process.wait()
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise DataError(
                f"a worker that encodes text {how}, at lines {block.first_line:,} to "
                f"{block.first_line + block.n_lines - 1:,}; if memory is short, run heed prepare with --processes 1"
            ) from None
        if word == b"error":
            raise DataError(os.fsdecode(answer[0]))
        return Encoded(*answer)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """Wait for the end of a killed worker, and close its pipes."""
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):  # unsent bytes were left in the buffer
                if pipe is not None:
                    pipe.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    given, out = sys.stdin.buffer, sys.stdout.buffer
    try:
        _, source, target, tag, model, *_ = receive(given)
        text = ParallelText(os.fsdecode(source), os.fsdecode(target), tag.decode())
        encoder = BlockEncoder(text, Tokenizer(model))
        while True:
            _, numbers, source, target, *_ = receive(given)
            try:
                first_line, n_lines = _NUMBERS.unpack(numbers)
                found = encoder.encode(Block(first_line, n_lines, source, target))
            except DataError as error:
                send(out, b"error", os.fsencode(str(error)))
            else:
                send(out, b"encoded", *found.parts())
    except EOFError:
        return
