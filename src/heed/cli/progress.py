"""A progress bar on standard error, if somebody is there to see it."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

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


@contextmanager
def counting(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """The same for work that says itself how much is done."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
