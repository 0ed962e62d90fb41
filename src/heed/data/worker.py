"""A process that encodes blocks of text until its input ends; `prepare` starts it and talks to it over two pipes.

A message is a word and up to five byte strings. The first to come is the task: the names of the text files and the
tokenizer. Each further one is a block, and is answered with the encoded block, or with what is wrong with it.

There is nothing to tidy up: when the other end of either pipe is gone, so is this process.
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
    """
    Raises:
        EOFError: the other end is gone.
    """
    sizes = _SIZES.unpack(_exactly(pipe, _SIZES.size))
    return [_exactly(pipe, size) for size in sizes]


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return content


class Worker:
    """Such a process, seen from the one that started it."""

    def __init__(self, text: ParallelText, tokenizer: Tokenizer) -> None:
        # The same modules as here, whatever lies in the working folder (-P).
        script = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # apart from the terminal's: Ctrl-C is for the parent, whose end ends this one too
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self._task: tuple[bytes, ...] = (os.fsencode(text.source), os.fsencode(text.target), tokenizer.model)

    @property
    def id(self) -> int:
        return self._process.pid

    def encode(self, block: Block) -> Encoded:
        """
        Raises:
            DataError: what is wrong with the block, or that the process died.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            if self._task:  # not before, so that several can start at once
                send(self._process.stdin, b"task", *self._task)
                self._task = ()
            numbers = _NUMBERS.pack(block.first_line, block.n_lines)
            send(self._process.stdin, b"block", numbers, block.source, block.target)
            word, *answer = receive(self._process.stdout)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            code = self._process.wait()
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            raise DataError(
                f"a process that encodes text {how}, at lines {block.first_line:,} to "
                f"{block.first_line + block.n_lines - 1:,}; if memory is short, prepare with --processes 1"
            ) from None
        if word == b"error":
            raise DataError(os.fsdecode(answer[0]))
        return Encoded(*answer)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """After `kill`: wait until nothing is left of it."""
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):  # there was something left to say
                if pipe is not None:
                    pipe.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    given, out = sys.stdin.buffer, sys.stdout.buffer
    try:
        _, source, target, model, *_ = receive(given)
        encoder = BlockEncoder(ParallelText(os.fsdecode(source), os.fsdecode(target)), Tokenizer(model))
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
