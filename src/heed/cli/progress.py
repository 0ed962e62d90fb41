"""Work in portions, with a progress bar."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from heed.bar import counting

Item = TypeVar("Item")


def in_portions(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def shown(portions: Iterable[Sequence[Item]], total: int, what: str) -> Iterator[Sequence[Item]]:
    """The same portions; the bar counts their items, and tells the time left."""
    done = 0
    with counting(total, what) as tell:
        for portion in portions:
            yield portion
            done += len(portion)
            tell(done)
