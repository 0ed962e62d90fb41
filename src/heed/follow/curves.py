"""Read what a run recorded in its events.jsonl, as curves over steps.

A resumed training repeats the steps after its last checkpoint. They are then in the file twice, and only the second
time counts. A kill can also leave an incomplete line; such lines are skipped, and their numbers are reported.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heed.durable import read_file
from heed.errors import CheckpointError
from heed.evaluate.criterion import BLEU, CRITERIA, PERPLEXITY, Criterion

Curve = list[tuple[int, float]]  # (step, value), by step

# The events that tell the state of a run; other kinds are ignored.
_STATE_EVENTS = ("start", "resume", "step", "validation", "checkpoint", "interrupted", "end")


@dataclass(frozen=True)
class History:
    """The events of a run, without those that a resumed training repeated."""

    events: list[dict[str, Any]]
    damaged_lines: list[int]  # numbers of the lines that are not complete events

    def curve(self, kind: str, key: str) -> Curve:
        """Return a number of an event over steps; the later one counts at equal steps. Skip values not finite."""
        found = {}
        for event in self.events:
            if event["event"] == kind and _is_step(event.get("step")) and _is_not_averaged(event):
                found[event["step"]] = _number(event.get(key))
        return sorted((step, value) for step, value in found.items() if not math.isnan(value))

    @property
    def step(self) -> int:
        """Return the last step that is recorded."""
        return max((event["step"] for event in self.events if _is_step(event.get("step"))), default=0)

    @property
    def last(self) -> dict[str, Any] | None:
        """Return the last event that tells the state of the run."""
        return next((event for event in reversed(self.events) if event["event"] in _STATE_EVENTS), None)

    @property
    def criterion(self) -> Criterion:
        """Return the criterion of the run (`train.metric`); BLEU for runs of heed 0.1.0, which did not record it."""
        metrics = [event.get("metric") for event in self.events if event["event"] == "start"]
        return CRITERIA.get(str(metrics[-1]), BLEU) if metrics else BLEU

    def best(self, by: Criterion) -> float | None:
        """Return the best of all validations, including those of averaged weights."""
        scores = (_number(event.get(by.key)) for event in self.events if event["event"] == "validation")
        return by.best([score for score in scores if not math.isnan(score)])


def read_history(run: Path) -> History:
    """Read the events of a run folder.

    Raises:
        CheckpointError: events.jsonl is missing or cannot be read.
    """
    path = run / "events.jsonl"
    try:
        content = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{run}: has no events.jsonl; name a run folder, as given to heed train --out (`heed runs` lists them)"
        ) from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from None
    return _history(content.split(b"\n"))


def _history(lines: Iterable[bytes]) -> History:
    events: list[dict[str, Any]] = []
    damaged = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        event = _parse(line)
        if event is None:
            damaged.append(number)
            # A resumed training may have appended a complete event to the incomplete one.
            begin = line.rfind(b'{"event"')
            event = _parse(line[begin:]) if begin > 0 else None
        if event is None:
            continue
        if event["event"] in ("start", "resume") and _is_step(step := event.get("step")):
            events = [one for one in events if not (_is_step(one.get("step")) and one["step"] > step)]
        events.append(event)
    return History(events, damaged)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _is_step(value: object) -> bool:
    return isinstance(value, int)


def _number(value: object) -> float:
    """Return the value if it is a finite number, else nan."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.nan


def _is_not_averaged(event: dict[str, Any]) -> bool:
    """Return whether an event is about the weights of a step: validations of averaged weights are no curve points."""
    return str(event.get("of", "step")).startswith("step")


@dataclass(frozen=True)
class Panel:
    """One plot of several runs: a number from training, and perhaps one from validation on the same axis."""

    title: str
    unit: str
    training: str = ""  # the key in "step" events
    validation: str = ""  # the key in "validation" events
    ratio: bool = False  # ratios matter, not differences: use a logarithmic axis if values span a decade


PANELS = (
    Panel("Training loss", "nats per token, label-smoothed", training="loss"),
    Panel("Perplexity", PERPLEXITY.unit, training="perplexity", validation="perplexity", ratio=True),
    *(Panel(f"Validation {one.label}", one.unit, validation=one.key) for one in CRITERIA.values() if one.metric),
    Panel("Learning rate", "step size of Adam", training="learning_rate"),
)


@dataclass(frozen=True)
class Drawn:
    """A curve in a panel."""

    run: int  # number of the run, from 0, which selects colour and line style
    curve: Curve
    validation: bool


def curves_of(panel: Panel, histories: list[History]) -> list[Drawn]:
    """Return all curves of a panel; a run without such events has none."""
    found = []
    for run, history in enumerate(histories):
        if panel.training:
            found.append(Drawn(run, history.curve("step", panel.training), validation=False))
        if panel.validation:
            found.append(Drawn(run, history.curve("validation", panel.validation), validation=True))
    return [drawn for drawn in found if drawn.curve]


def is_logarithmic(panel: Panel, drawn: list[Drawn]) -> bool:
    values = [value for one in drawn for _, value in one.curve]
    return panel.ratio and min(values) > 0 and max(values) >= 10 * min(values)
