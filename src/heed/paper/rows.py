"""Train the rows of a table one after the other: each in a run folder of its own, none twice.

A row that has finished is read from its folder; one that was interrupted, by Ctrl-C or by a kill, resumes from its
newest checkpoint. So the same command, given again, continues with the table wherever it stopped.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from heed.config import Config
from heed.durable import write_json
from heed.errors import CheckpointError, DivergedError
from heed.model.build import model_class
from heed.run import RunFolder
from heed.settings import read_run_config
from heed.training.loop import resume, train
from heed.training.step import StepResult
from heed.vocabulary import Vocabulary

_DIVERGED = "diverged.json"  # in the run folder of a row that cannot be trained to its end
_TYPICAL_LENGTH = 25  # tokens of a sentence, for counts of operations


@dataclass(frozen=True)
class RowPlan:
    """A model to train."""

    name: str  # of its run folder
    config: Config


@dataclass(frozen=True)
class RowProgress:
    """How far a table has come, after a step of one of its rows."""

    name: str
    number: int  # of the row, from 1
    n_rows: int
    step: int
    max_steps: int
    loss: float
    seconds_left: float | None  # until all rows are done; None: not known yet


@dataclass(frozen=True)
class RowResult:
    """What a finished row scores on the validation text, without averaging of checkpoints."""

    name: str
    path: Path
    parameters: int
    vocabulary: int
    steps: int
    seconds: float  # of training and validation, as far as events tell
    perplexity: float  # per token and unsmoothed, at the last step; infinite if it diverged or was not validated
    bleu: float  # at the last step; 0 if the training diverged or was not validated
    best_bleu: float  # of all validations
    diverged: bool = False

    def plain(self) -> dict[str, Any]:
        """Return the result for JSON, which has no infinity: null."""
        ppl = self.perplexity if math.isfinite(self.perplexity) else None
        return {**vars(self), "path": str(self.path), "perplexity": ppl}


OnProgress = Callable[[RowProgress], None]


def train_rows(
    rows: Sequence[RowPlan], folder: Path, on_progress: OnProgress = lambda progress: None
) -> list[RowResult]:
    """Train every row that is not finished, in this order, in subfolders of `folder`; return the results of all.

    Raises:
        CheckpointError: a row's folder was started with other settings.
        KeyboardInterrupt: training was stopped by a signal; what is done is saved.
        HeedError: as `heed.training.loop.train` raises it.
    """
    for row in rows:
        check_same_settings(row, folder / row.name)
    left = [
        0 if finished(folder / row.name) else row.config.train.max_steps - steps_done(folder / row.name) for row in rows
    ]
    clock = Clock([operations(row.config) for row in rows], left)
    results = []
    for number, row in enumerate(rows, 1):
        path = folder / row.name
        if finished(path) is None:
            try:
                reason = _train(row, path, clock, number, len(rows), on_progress)
            except DivergedError as error:  # a result as well, which the next call should not train again
                write_json(path / _DIVERGED, {"error": str(error)})
                reason = "diverged"
            if reason == "interrupted":
                raise KeyboardInterrupt
        results.append(_result(path))
    return results


def steps_done(path: Path) -> int:
    """Return the step that a row's newest checkpoint has; 0 if there is none."""
    names = (folder.name.removeprefix("step-") for folder in (path / "checkpoints").glob("step-*"))
    return max((int(name) for name in names if name.isdigit()), default=0)


def finished(path: Path) -> RowResult | None:
    """Return the result of a run folder if no step is left to make, else None."""
    if not (path / "config.json").exists():
        return None
    run = RunFolder.open(path)
    if (path / _DIVERGED).exists():
        return _read(run, steps_done(path), diverged=True)
    end = run.ending()
    return None if end is None else _read(run, end["step"], diverged=False)


def operations(config: Config) -> float:
    """Return the multiplications and additions of one update, counted for sentences of typical length."""
    lengths = np.full(max(1, config.train.batch_tokens // _TYPICAL_LENGTH), _TYPICAL_LENGTH, dtype=np.int64)
    vocabulary = Vocabulary(config.text.vocab_size)
    return float(model_class(config.model).update_operations(config.model, vocabulary, lengths, lengths))


def check_same_settings(row: RowPlan, path: Path) -> None:
    """Refuse to continue in a folder that was started with other settings.

    Raises:
        CheckpointError: with the settings that differ.
    """
    if not (path / "config.json").exists():
        return
    there = read_run_config(path)
    # A run derives these from its machine and its text.
    derived = {name: getattr(there.train, name) for name in ("lanes", "micro_batch_tokens", "metric", "precision")}
    here = replace(row.config, train=replace(row.config.train, **derived)).to_dict()
    differences = [
        f"{section}.{key} was {values[key]!r} and is now {here[section][key]!r}"
        for section, values in there.to_dict().items()
        if isinstance(values, dict)
        for key in values
        if values[key] != here[section][key]
    ]
    if differences:
        raise CheckpointError(
            f"{path}: was started with other settings ({'; '.join(differences)}); repeat the old command to continue "
            "it, choose another --out, or delete this folder"
        )


class Clock:
    """Predict the time left for all rows, from the operations that the rest needs and the speed so far.

    A row's first step is not timed: the text is prepared before it.
    """

    def __init__(self, per_step: Sequence[float], left: Sequence[int]) -> None:
        """Take the operations of a step of each row, and the steps that it has left."""
        self._per_step, self._left = per_step, list(left)
        self._done, self._seconds = 0.0, 0.0
        self._before: float | None = None  # when the row's last step ended

    def step(self, number: int, steps_left: int, now: float) -> float | None:
        """Count a step of a row that has just ended, and return the seconds left."""
        self._left[number - 1] = steps_left
        if self._before is not None:
            self._seconds += now - self._before
            self._done += self._per_step[number - 1]
        self._before = now
        rest = sum(steps * each for steps, each in zip(self._left, self._per_step, strict=True))
        if not rest:
            return 0.0
        return self._seconds * rest / self._done if self._done else None

    def end_row(self, number: int, now: float) -> None:
        """Count what followed the row's last step: its validation. A row that diverged has no steps left, either."""
        self._seconds += 0.0 if self._before is None else now - self._before
        self._before = None
        self._left[number - 1] = 0


def _train(row: RowPlan, path: Path, clock: Clock, number: int, n_rows: int, on_progress: OnProgress) -> str:
    """Start or resume a row and return how it ended."""
    max_steps = row.config.train.max_steps

    def on_step(step: int, result: StepResult) -> None:
        left = clock.step(number, max_steps - step, time.monotonic())
        on_progress(RowProgress(row.name, number, n_rows, step, max_steps, result.loss, left))

    try:
        if (path / "config.json").exists():
            return resume(path, on_step=on_step, quiet=True).reason
        return train(row.config, path, on_step=on_step, quiet=True).reason
    finally:
        clock.end_row(number, time.monotonic())


def _result(path: Path) -> RowResult:
    found = finished(path)
    if found is None:  # a full disk keeps events from being written
        raise CheckpointError(f"{path / 'events.jsonl'}: does not say how the row ended; delete {path} to train again")
    return found


def _read(run: RunFolder, steps: int, diverged: bool) -> RowResult:
    """Read the scores of the last step, and of all validations, from the events of a run."""
    events = run.events()
    scores = [event for event in events if event.get("event") == "validation"]
    # Averages are validated at the last step too; Table 3 has none.
    last = [event for event in scores if event.get("of") == f"step {event.get('step', 0):,}"]
    data = run.config.data
    if not last and not diverged and (data.valid_source or data.valid_trees):
        raise CheckpointError(f"{run.events_path}: has no validation; delete {run.path} to train again")
    start = next(event for event in reversed(events) if event.get("event") == "start")
    return RowResult(
        name=run.path.name,
        path=run.path,
        parameters=start["parameters"],
        vocabulary=start["vocabulary"],
        steps=steps,
        seconds=session_seconds(events),
        perplexity=math.inf if diverged or not last else _number(last[-1].get("perplexity")),
        bleu=0.0 if diverged or not last else _number(last[-1].get("bleu")),
        best_bleu=max((_number(event.get("bleu")) for event in last), default=0.0),
        diverged=diverged,
    )


def session_seconds(events: Sequence[Mapping[str, object]]) -> float:
    """Return the time between the first and the last event of each session, summed."""
    total, began, before = 0.0, None, 0.0
    for event in events:
        at = _number(event.get("time"))
        if event.get("event") == "start":
            total += 0.0 if began is None else before - began
            began = at
        before = at
    return total + (before - began if began is not None else 0.0)


def _number(value: object) -> float:
    """Return a number of an event; what is not finite was written as null."""
    return float(value) if isinstance(value, int | float) else math.inf
