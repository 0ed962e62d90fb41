"""The plan of a table: its rows, their sizes, and the hours they will take on this machine."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heed.config import Config
from heed.data.batching import BatchPlan
from heed.model.build import model_class
from heed.paper.report import Part, Table
from heed.paper.rows import RowPlan
from heed.paper.speed import Speed
from heed.vocabulary import Vocabulary

Lengths = NDArray[np.integer]
_BUSY = 1.2  # a slowdown worth mentioning


@dataclass(frozen=True)
class Planned:
    """A row, and what it computes."""

    row: RowPlan
    vocabulary: Vocabulary
    operations: float  # of one update

    @property
    def parameters(self) -> int:
        """Return the size of the model."""
        model = self.row.config.model
        return model_class(model).count_parameters(model, self.vocabulary)

    def hours(self, speed: Speed) -> float:
        """Return how long all updates take at this speed."""
        return self.row.config.train.max_steps * self.operations * speed.seconds_per_operation / 3600


@dataclass(frozen=True)
class Cost:
    """What an average update of a row computes."""

    operations: float  # multiplications and additions, forward and backward
    target_tokens: float


def cost_on(config: Config, vocabulary: Vocabulary, sources: Lengths, targets: Lengths) -> Cost:
    """Count the operations of one epoch of sentences with these lengths, and divide them by its updates."""
    batches = BatchPlan(sources, targets, config.train.batch_tokens, config.train.seed, config.model.max_length)
    fits = np.maximum(sources, targets) <= config.model.max_length + 1
    kept = [np.asarray(side)[fits].astype(np.int64) for side in (sources, targets)]
    total = model_class(config.model).update_operations(config.model, vocabulary, *kept)
    return Cost(total / len(batches), float(kept[1].sum()) / len(batches))


def plan_part(
    name: str,
    title: str,
    rows: Sequence[Planned],
    settings: Mapping[str, Callable[[RowPlan], str]],
    speeds: Sequence[Speed],
    rule: str,
    counted_for: str,
    more: str,
) -> Part:
    """Return the plan of a table: each row's settings, its size and its cost.

    `settings` has the columns that tell rows apart, `speeds` that of each row; `rule` says how the
    rows are trained, `counted_for` for what text the operations are counted, and `more` what they leave out.
    """
    hours = [one.hours(speed) for one, speed in zip(rows, speeds, strict=True)]
    table = tuple(
        (
            one.row.name,
            *(show(one.row) for show in settings.values()),
            f"{one.row.config.train.max_steps:,}",
            f"{one.parameters / 1e6:.1f}",
            shown_hours(each),
        )
        for one, each in zip(rows, hours, strict=True)
    )
    columns = ("row", *settings, "steps", "M", "hours")
    notes = (rule, cost_note(shown_hours(sum(hours)), counted_for, more, speeds))
    values = {"rows": [dict(zip(columns, row, strict=True)) for row in table], "hours": sum(hours)}
    return Part(name, title, (Table(columns, table),), notes, values=values)


def cost_note(hours: str, counted_for: str, more: str, speeds: Collection[Speed]) -> str:
    """Say what all rows take, and where the number is from."""
    note = (
        f"All rows: about {hours} hours on this machine, from operations counted for {counted_for} and the speed of a "
        f"few updates just now; {more}."
    )
    slowdown = max(speed.slowdown for speed in speeds)
    if slowdown < _BUSY:
        return note
    return f"{note} Other programs use the cores: while they do, it takes about {slowdown:.1f} times as long."


def shown_hours(hours: float) -> str:
    """Write a number of hours with two significant digits at least."""
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2f}"
