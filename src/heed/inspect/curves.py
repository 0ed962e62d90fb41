"""What a run recorded in its events.jsonl, as curves over steps.

A killed training that goes on repeats the steps after its last checkpoint. They then stand in the file twice, and
only the second time counts. A kill can also leave a line half-written; such lines are left out and counted.
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

# What tells how a run stands; other kinds of events may come and go.
_LIFE = ("start", "resume", "step", "validation", "checkpoint", "interrupted", "end")


@dataclass(frozen=True)
class History:
    """The events of a run, without those that were done over."""

    events: list[dict[str, Any]]
    damaged_lines: list[int]  # numbers of lines that are no whole event

    def curve(self, kind: str, key: str) -> Curve:
        """A number of an event over the steps; of two at a step the later one. What is not finite is left out."""
        found = {}
        for event in self.events:
            if event["event"] == kind and _is_step(event.get("step")) and _is_of_the_run_itself(event):
                found[event["step"]] = _number(event.get(key))
        return sorted((step, value) for step, value in found.items() if not math.isnan(value))

    @property
    def step(self) -> int:
        """How far the run has come, as far as it is recorded."""
        return max((event["step"] for event in self.events if _is_step(event.get("step"))), default=0)

    @property
    def last(self) -> dict[str, Any] | None:
        """The last event of a known kind."""
        return next((event for event in reversed(self.events) if event["event"] in _LIFE), None)

    @property
    def criterion(self) -> Criterion:
        """What the run goes by (`train.metric`). Runs of heed 0.1.0 did not say: it was BLEU."""
        said = [event.get("metric") for event in self.events if event["event"] == "start"]
        return CRITERIA.get(str(said[-1]), BLEU) if said else BLEU

    def best(self, by: Criterion) -> float | None:
        """The best of all validations, those of averaged weights included."""
        scores = (_number(event.get(by.key)) for event in self.events if event["event"] == "validation")
        return by.best([score for score in scores if not math.isnan(score)])


def read_history(run: Path) -> History:
    """Read what happened in a run folder, now or long ago.

    Raises:
        CheckpointError: there is no such file, or it cannot be read.
    """
    path = run / "events.jsonl"
    try:
        content = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(
            f"{run}: no events.jsonl in it; name a run folder (`heed runs` lists them), as given to heed train --out"
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
            # What a resumed training appended to a half-written line is whole.
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
    """A finite number, or else nan."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.nan


def _is_of_the_run_itself(event: dict[str, Any]) -> bool:
    """Averaged weights are validated too, at the end; they are no point of the run's own curve."""
    return str(event.get("of", "step")).startswith("step")


@dataclass(frozen=True)
class Panel:
    """One picture of several runs: a number of the training, and perhaps one of the validation on the same axis."""

    title: str
    unit: str
    training: str = ""  # the key in "step" events
    validation: str = ""  # the key in "validation" events
    ratio: bool = False  # equal ratios matter, not differences: on a logarithmic axis if it spans decades


PANELS = (
    Panel("Training loss", "nats per token, label-smoothed", training="loss"),
    Panel("Perplexity", PERPLEXITY.unit, training="perplexity", validation="perplexity", ratio=True),
    *(Panel(f"Validation {one.label}", one.unit, validation=one.key) for one in CRITERIA.values() if one.metric),
    Panel("Learning rate", "step size of Adam", training="learning_rate"),
)


@dataclass(frozen=True)
class Drawn:
    """A curve in a panel."""

    run: int  # which of the runs, from 0: decides colour and line style
    curve: Curve
    validation: bool


def curves_of(panel: Panel, histories: list[History]) -> list[Drawn]:
    """All there is to draw in a panel; runs without such events have no curve in it."""
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
