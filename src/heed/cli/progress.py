"""A progress bar on standard error, if somebody is there to see it."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def in_portions(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def shown(portions: Iterable[Sequence[Item]], total: int, what: str) -> Iterator[Sequence[Item]]:
    """The same portions; the bar counts their items, and tells the time left."""
    if not sys.stderr.isatty():
        yield from portions
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        for portion in portions:
            yield portion
            progress.advance(task, len(portion))
