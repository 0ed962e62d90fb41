"""Work through items in chunks, with a progress bar."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from heed.bar import counting

Item = TypeVar("Item")


def in_chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def with_progress(chunks: Iterable[Sequence[Item]], total: int, what: str) -> Iterator[Sequence[Item]]:
    """Yield the same chunks, while a bar counts their items and shows the time left."""
    done = 0
    with counting(total, what) as progress:
        for chunk in chunks:
            yield chunk
            done += len(chunk)
            progress(done)
