"""Report a training: one JSON line per event in the run folder, and a progress bar or plain lines on standard error."""

import errno
import io
import json
import math
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from heed.config import Config, TrainConfig
from heed.data.store import Place
from heed.errors import printable
from heed.evaluate import CRITERIA, Criterion
from heed.training.step import StepResult
from heed.training.validate import Validation
from heed.wording import counted, gigabytes, perplexity

if TYPE_CHECKING:
    from heed.training.tensorboard import TensorBoard

_SPEED_STEPS, _SPEED_SECONDS = 20, 5.0  # report the speed once either has passed


class NullStream(io.StringIO):
    """Discard everything that is written to it."""

    def write(self, text: str, /) -> int:
        return len(text)


class Log:
    """Record and print everything that happens in a training. Nothing goes to standard output."""

    def __init__(
        self, events_path: Path | None, max_steps: int, stream: TextIO | None = None, tensorboard: bool = False
    ) -> None:
        self._stream = stream or sys.stderr
        self._path, self._writable = events_path, True
        self._events = None if events_path is None else open(events_path, "ab+", buffering=0)
        if _ends_mid_line(self._events):
            self._write(b"\n")
        self._wants_tensorboard = tensorboard
        self._tensorboard: TensorBoard | None = None
        self._max_steps = max_steps
        self._bar = _Bar(self._stream, max_steps) if self._stream.isatty() else None
        self._began = self._window_began = time.monotonic()
        self._window: list[StepResult] = []
        self._first_step: int | None = None
        self._speed_reported, self._speed_began, self._speed_tokens = False, 0.0, 0
        self._batches_per_epoch = 0

    def event(self, kind: str, message: str = "", **values: Any) -> None:
        """Record an event, and print its message if it has one."""
        if kind == "start":
            self._start(values)
        self._record({"event": kind, "time": round(time.time(), 3), **values})
        if self._tensorboard is not None:
            self._tensorboard.event(kind, values)
        if kind in ("end", "interrupted") and self._bar is not None:
            self._bar.close()  # so that the last message stays at the bottom
        if message:
            self.say(message)

    def _start(self, values: dict[str, Any]) -> None:
        self._batches_per_epoch = values["batches_per_epoch"]
        self._began = self._window_began = time.monotonic()
        if self._wants_tensorboard and self._path is not None:
            from heed.training.tensorboard import TensorBoard

            self._tensorboard = TensorBoard(self._path.parent, purge_step=values["step"] + 1)

    def _record(self, record: dict[str, Any]) -> None:
        """Append an event to events.jsonl. A full disk does not stop the training: it warns once, until it recovers."""
        if self._events is None:
            return
        failure = self._write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        if failure and self._writable:
            self.say(f"warning: {self._path}: {failure}; events are not recorded until there is space")
        self._writable = not failure

    def _write(self, line: bytes) -> str:
        """Write a whole line or nothing; return what went wrong, or ""."""
        assert self._events is not None
        try:
            end = self._events.seek(0, os.SEEK_END)
            if self._events.write(line) == len(line):
                return ""
            self._events.truncate(end)
            return os.strerror(errno.ENOSPC)
        except OSError as error:
            return error.strerror or str(error)

    def say(self, message: str) -> None:
        """Print a message."""
        message = printable(message)
        with self._surviving_closed_stream():
            if self._bar is not None:
                self._bar.say(message)
            else:
                print(message, file=self._stream, flush=True)

    def warn(self, message: str) -> None:
        """Record and print a warning."""
        self.event("warning", f"warning: {message}", text=message)

    # --- events of a training -----------------------------------------------------------------------------

    def started(
        self, config: Config, path: Path, step: int, parameters: int, vocabulary: int, pairs: int, **numbers: Any
    ) -> None:
        """Report the start or resumption of a run, with its size."""
        batches = numbers["batches_per_epoch"]
        self.event(
            "start",
            f"{config.preset}: {parameters / 1e6:.1f} M parameters, vocabulary {vocabulary:,}; "
            f"{counted(pairs, 'pair')} in {counted(batches, 'batch', 'batches')} an epoch; "
            f"run folder {path}",
            step=step,
            max_steps=config.train.max_steps,
            parameters=parameters,
            vocabulary=vocabulary,
            pairs=pairs,
            **numbers,
        )

    def mixture(self, parts: Sequence[tuple[str, int, float]]) -> None:
        """Report the corpora that are trained on: files, number of pairs, and weight of each."""
        for text, pairs, weight in parts:
            self.say(f"  weight {weight:g}: {counted(pairs, 'pair')} of {text}")

    def no_kernels(self) -> None:
        """Report that the C kernels are off."""
        self.say("C kernels are off (no C compiler found, or HEED_KERNELS=off): training is about a quarter slower")

    def not_trained_on(self, reasons: Sequence[tuple[int, Sequence[Place], str]], several_texts: bool) -> None:
        """Warn of skipped pairs; each reason has a count, the places of the first, and the cause."""
        skipped = []
        for count, places, why in reasons:
            shown = "; ".join(
                ", ".join(map(str, place.lines)) + (f" of {place.text}" if several_texts else "") for place in places
            )
            more = ", ..." if count > sum(len(place.lines) for place in places) else ""
            if count:
                skipped.append(f"{counted(count, 'pair')} {why} ({'line' if count == 1 else 'lines'} {shown}{more})")
        if skipped:
            self.warn(f"not trained on: {'; '.join(skipped)}")

    def not_validated_on(self, count: int, max_length: int) -> None:
        """Warn of validation pairs that are too long."""
        if count:
            self.warn(f"not validated on: {counted(count, 'pair')} longer than {max_length} tokens")

    def overlap(self, shared: int, n_valid: int) -> None:
        """Warn of validation pairs that are also trained on."""
        if shared:
            self.warn(
                f"{shared:,} of {n_valid:,} validation pairs are also in the training text, so validation scores "
                "will be too good. Remove them from one of the two"
            )

    def memory(self, step: int, peak: int, free: int | None) -> None:
        """Report the predicted peak memory."""
        available = "" if free is None else f" ({gigabytes(free)} free)"
        self.event(
            "memory", f"memory: about {gigabytes(peak)} at peak{available}", step=step, predicted=peak, free=free
        )

    def smaller_micro_batches(self, wanted: int, train: TrainConfig, step: int) -> None:
        """Warn that micro-batches had to become smaller to fit into memory."""
        also = "" if step == 0 else "; sums round differently, so this resume is not bit-exact"
        self.warn(
            f"micro-batches of {wanted:,} tokens would not fit into memory: train.micro_batch_tokens is now "
            f"{train.micro_batch_tokens:,}. Each step still sees {train.batch_tokens:,} tokens, "
            f"by gradient accumulation{also}"
        )

    def skipped(self, step: int, n_in_a_row: int, places: Sequence[Place]) -> None:
        """Warn of a skipped step, with the lines of its batch."""
        self.event(
            "skipped",
            f"warning: skipped step {step:,}, whose loss or gradient is not finite "
            f"({n_in_a_row} in a row); its batch has {lines_of(places)}",
            step=step,
            lines=[line for place in places for line in place.lines],
            **({"texts": [asdict(place) for place in places]} if len(places) > 1 else {}),
        )

    def validated(self, found: Validation, step: int, name: str, seconds: float) -> None:
        """Report the scores and samples of a validation."""
        samples = "".join(
            f"\n    source       {one.source}"
            f"\n    translation  {textwrap.shorten(one.translation, 200, placeholder=' ...')}"
            f"\n    reference    {one.reference}"
            for one in found.samples
        )
        scores = ", ".join(f"{CRITERIA[key].label} {CRITERIA[key].shown(value)}" for key, value in found.scores.items())
        self.event(
            "validation",
            f"validation at {name}: {scores}{samples}",
            step=step,
            of=name,
            **{key: value if math.isfinite(value) else None for key, value in found.scores.items()},
            samples=[asdict(one) for one in found.samples],
            seconds=round(seconds, 2),
        )

    def interrupted(self, step: int, path: Path, processes: int) -> None:
        """Report a stop on request, and how to resume."""
        command = "heed" if processes == 1 else "torchrun (same options) -m heed"
        self.event(
            "interrupted",
            f"stopped and saved at step {step:,}\nto resume: {command} train --resume {path}",
            step=step,
        )

    def stopped_early(self, step: int, patience: int, by: Criterion) -> None:
        """Report an early stop."""
        self.event(
            "early_stop",
            f"stopping early: {counted(patience, 'validation')} without a better {by.label} (train.patience)",
            step=step,
        )

    def ended(
        self, step: int, reason: str, best: dict[str, Any], by: Criterion, path: Path, vocabulary: int, memory: int
    ) -> None:
        """Report the end of a training, and how to translate with the model."""
        scores = f" (validation {by.label} {by.shown(best[by.key])})" if by.key in best else ""
        what, verb = ("trees", "parse") if by.key == "f1" else ("translations", "translate")
        advice = f"heed {verb} --model {path} < input.txt > output.txt"
        if best.get("perplexity", 0) > vocabulary:
            advice = "see docs/learning.md: this model is worse than guessing"
        self.event(
            "end",
            f"done after {counted(step, 'step')}; "
            f"{what} will use {best.get('checkpoint', 'the last step')}{scores}\n"
            f"next: {advice}",
            step=step,
            reason=reason,
            best=best,
            peak_memory=memory,
        )

    # --- steps --------------------------------------------------------------------------------------------

    def step(self, step: int, result: StepResult, log_every: int) -> None:
        """Report a step: move the bar; every `log_every` steps, record an event and, without a bar, print a line."""
        now = time.monotonic()
        if self._first_step is None:
            self._first_step = step - 1
        if result.applied:
            self._window.append(result)
        n_tokens = sum(one.n_tokens for one in self._window)
        speed = n_tokens / max(now - self._window_began, 1e-9)
        left = (now - self._began) / (step - self._first_step) * (self._max_steps - step)
        self._report_speed(step, result.n_tokens, now)
        if self._bar is not None:
            with self._surviving_closed_stream():
                self._bar.step(step, result, speed, left)
        if step % log_every == 0 or step == self._max_steps:
            loss = sum(one.loss * one.n_tokens for one in self._window) / max(n_tokens, 1)
            self.event(
                "step",
                step=step,
                loss=round(loss, 4),
                perplexity=_rounded(result.perplexity, 3),
                learning_rate=result.learning_rate,
                gradient_norm=_rounded(result.gradient_norm, 4),
                tokens_per_second=round(speed),
            )
            if self._bar is None:
                self.say(
                    f"step {step:,}/{self._max_steps:,}  loss {loss:.3f}  perplexity {perplexity(result.perplexity)}  "
                    f"lr {result.learning_rate:.2e}  {speed:,.0f} tokens/s  {duration(left)} left"
                )
            self._window, self._window_began = [], now

    def _report_speed(self, step: int, n_tokens: int, now: float) -> None:
        """Report once how long an epoch and the rest will take. The first step does not count: it warms up."""
        first = self._first_step or 0
        if step == first + 1:
            self._speed_began, self._speed_tokens = now, -n_tokens
        self._speed_tokens += n_tokens
        steps, seconds = step - first - 1, now - self._speed_began
        if (
            self._speed_reported
            or not steps
            or step == self._max_steps
            or (steps < _SPEED_STEPS and seconds < _SPEED_SECONDS)
        ):
            return
        self._speed_reported = True
        speed = self._speed_tokens / seconds
        epoch, rest = (n * seconds / steps for n in (self._batches_per_epoch, self._max_steps - step))
        self.event(
            "speed",
            f"{speed:,.0f} target tokens/s; an epoch takes {duration(epoch)}, the "
            f"{counted(self._max_steps - step, 'remaining step')} {duration(rest)} (without validation)",
            step=step,
            tokens_per_second=round(speed),
            seconds_per_epoch=round(epoch, 1),
            seconds_left=round(rest, 1),
        )

    @contextmanager
    def _surviving_closed_stream(self) -> Iterator[None]:
        """Keep training when the output is closed (`| head`, a closed terminal): discard what follows."""
        try:
            yield
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self._stream.fileno())
            os.close(null)

    def validating(self) -> None:
        """Show on the bar that validation is running."""
        if self._bar is not None:
            with self._surviving_closed_stream():
                self._bar.show("validating ...")

    def pause(self, seconds: float) -> None:
        """Exclude the seconds spent on validation from the training speed."""
        self._window_began += seconds
        self._speed_began += seconds
        if self._bar is not None:
            with self._surviving_closed_stream():
                self._bar.show()

    def close(self) -> None:
        """Close the bar and the files."""
        if self._tensorboard is not None:
            self._tensorboard.close()
        if self._bar is not None:
            self._bar.close()
        if self._events is not None:
            self._events.close()


class _Bar:
    """Show a live progress bar at the bottom of the terminal."""

    def __init__(self, stream: TextIO, max_steps: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._console = Console(file=stream)
        self._progress = Progress(
            TextColumn("{task.completed:,}/{task.total:,}"),
            BarColumn(bar_width=8),
            TextColumn("{task.fields[numbers]}"),
            console=self._console,
        )
        self._task = self._progress.add_task("train", total=max_steps, numbers="")
        self._running = False
        self._numbers = ""

    def say(self, message: str) -> None:
        (self._progress.console if self._running else self._console).print(message, markup=False, highlight=False)

    def step(self, step: int, result: StepResult, speed: float, left: float) -> None:
        # Fixed widths, so that the line fits 80 columns whatever the numbers.
        self._numbers = (
            f"loss {result.loss:5.2f} ppl {perplexity(result.perplexity):>8} {speed:>6,.0f} tok/s {duration(left)} left"
        )
        self.show("", step)

    def show(self, instead: str = "", step: int | None = None) -> None:
        """Show the numbers of the last step next to the bar, or `instead`; and move the bar to `step`."""
        if not self._running:
            self._progress.start()
            self._running = True
        # Refresh at once for `instead`: what it describes may be over before the next refresh.
        self._progress.update(self._task, completed=step, numbers=instead or self._numbers, refresh=bool(instead))

    def close(self) -> None:
        if self._running:
            self._progress.stop()
            self._running = False


def lines_of(places: Sequence[Place]) -> str:
    """Name the first ten lines of each text."""
    return "; ".join(
        f"lines {', '.join(map(str, place.lines[:10]))}{' ...' if len(place.lines) > 10 else ''} of {place.text}"
        for place in places
    )


def _rounded(value: float, digits: int) -> float | None:
    """Round a number; return None if it is not finite, which JSON cannot express."""
    return round(value, digits) if math.isfinite(value) else None


def _ends_mid_line(file: BinaryIO | None) -> bool:
    """Return whether the last line is incomplete, as after a kill: the next event must start a new line."""
    if file is None or file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def duration(seconds: float) -> str:
    """Write a duration for people: 45 s, 3:20 min, 2:05 h."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d} min"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"
