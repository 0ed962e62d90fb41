"""What a training says: one JSON line per event in the run folder, and a bar or plain lines for people."""

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
from heed.errors import printable
from heed.evaluate import CRITERIA, Criterion
from heed.training.step import StepResult
from heed.training.validate import Validation
from heed.wording import counted, gigabytes, perplexity

if TYPE_CHECKING:
    from heed.training.tensorboard import TensorBoard

_FIRST_STEPS, _FIRST_SECONDS = 20, 5.0  # enough of either to tell the speed


class Silence(io.StringIO):
    """A stream that keeps nothing of what is written to it."""

    def write(self, text: str, /) -> int:
        return len(text)


class Log:
    """Everything that happens goes through here. Nothing is printed to standard output."""

    def __init__(
        self, events_path: Path | None, max_steps: int, stream: TextIO | None = None, tensorboard: bool = False
    ) -> None:
        self._stream = stream or sys.stderr
        self._path, self._writable = events_path, True
        self._events = None if events_path is None else open(events_path, "ab+", buffering=0)
        if _ends_within_a_line(self._events):
            self._write(b"\n")
        self._wants_tensorboard = tensorboard
        self._tensorboard: TensorBoard | None = None
        self._max_steps = max_steps
        self._bar = _Bar(self._stream, max_steps) if self._stream.isatty() else None
        self._began = self._window_began = time.monotonic()
        self._window: list[StepResult] = []
        self._first_step: int | None = None
        self._speed_told, self._speed_began, self._speed_tokens = False, 0.0, 0
        self._batches_per_epoch = 0

    def event(self, kind: str, message: str = "", **values: Any) -> None:
        """Record an event; `message` is what people read of it."""
        if kind == "start":
            self._start(values)
        self._record({"event": kind, "time": round(time.time(), 3), **values})
        if self._tensorboard is not None:
            self._tensorboard.event(kind, values)
        if kind in ("end", "interrupted") and self._bar is not None:
            self._bar.close()  # what is said last stands last
        if message:
            self.say(message)

    def _start(self, values: dict[str, Any]) -> None:
        self._batches_per_epoch = values["batches_per_epoch"]
        self._began = self._window_began = time.monotonic()
        if self._wants_tensorboard and self._path is not None:
            from heed.training.tensorboard import TensorBoard

            self._tensorboard = TensorBoard(self._path.parent, purge_step=values["step"] + 1)

    def _record(self, record: dict[str, Any]) -> None:
        """One whole line at a time. A full disk must not stop a training: it is said once, until there is room."""
        if self._events is None:
            return
        failure = self._write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        if failure and self._writable:
            self.say(f"warning: {self._path}: {failure}; events are not recorded until there is room")
        self._writable = not failure

    def _write(self, line: bytes) -> str:
        """All of a line or nothing of it; returns what went wrong."""
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
        """A line for people."""
        message = printable(message)
        with self._audience():
            if self._bar is not None:
                self._bar.say(message)
            else:
                print(message, file=self._stream, flush=True)

    def warn(self, message: str) -> None:
        self.event("warning", f"warning: {message}", text=message)

    # --- a training, from beginning to end ----------------------------------------------------------------

    def started(
        self, config: Config, path: Path, step: int, parameters: int, vocabulary: int, pairs: int, **numbers: Any
    ) -> None:
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

    def no_kernels(self) -> None:
        self.say("without the C kernels (no compiler such as gcc, or HEED_KERNELS=off): slower by a quarter or so")

    def not_trained_on(self, reasons: Sequence[tuple[int, Sequence[int], str]]) -> None:
        """Name pairs that are left out: how many, the first of their lines, and why."""
        left_out = [
            f"{counted(count, 'pair')} {why} ({'line' if count == 1 else 'lines'} "
            f"{', '.join(map(str, lines))}{', ...' if count > len(lines) else ''})"
            for count, lines, why in reasons
            if count
        ]
        if left_out:
            self.warn(f"not trained on: {'; '.join(left_out)}")

    def not_validated_on(self, count: int, max_length: int) -> None:
        if count:
            self.warn(f"not validated on: {counted(count, 'pair')} longer than {max_length} pieces")

    def overlap(self, shared: int, n_valid: int) -> None:
        if shared:
            self.warn(
                f"{shared:,} of {n_valid:,} validation pairs stand in the training text too: "
                "validation scores will be too good. Take them out of one of the two"
            )

    def memory(self, step: int, peak: int, free: int | None) -> None:
        there = "" if free is None else f" ({gigabytes(free)} free)"
        self.event(
            "memory", f"memory: about {gigabytes(peak)} at the most{there}", step=step, predicted=peak, free=free
        )

    def smaller_portions(self, wanted: int, train: TrainConfig, step: int) -> None:
        also = "" if step == 0 else "; sums are rounded differently, so this resume is not bit-exact"
        self.warn(
            f"{wanted:,} tokens at a time would not fit into memory: train.micro_batch_tokens is now "
            f"{train.micro_batch_tokens:,}. An update sees the same {train.batch_tokens:,} tokens, "
            f"by gradient accumulation{also}"
        )

    def skipped(self, step: int, n_in_a_row: int, lines: list[int], texts: str) -> None:
        self.event(
            "skipped",
            f"warning: loss or gradient of step {step:,} are not finite, so it was left out "
            f"({n_in_a_row} in a row); its batch is made of {lines_of(lines, texts)}",
            step=step,
            lines=lines,
        )

    def validated(self, found: Validation, step: int, name: str, seconds: float) -> None:
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
        command = "heed" if processes == 1 else "torchrun (as before) -m heed"
        self.event(
            "interrupted",
            f"stopped and saved at step {step:,}\ngo on with: {command} train --resume {path}",
            step=step,
        )

    def stopped_early(self, step: int, patience: int, by: Criterion) -> None:
        self.event(
            "early_stop",
            f"stopping early: {counted(patience, 'validation')} without a better {by.label} (train.patience)",
            step=step,
        )

    def ended(
        self, step: int, reason: str, best: dict[str, Any], by: Criterion, path: Path, vocabulary: int, memory: int
    ) -> None:
        scores = f" (validation {by.label} {by.shown(best[by.key])})" if by.key in best else ""
        further = f"heed translate --model {path} < input.txt > output.txt"
        if best.get("perplexity", 0) > vocabulary:
            further = "see docs/learning.md: this model is worse than guessing"
        self.event(
            "end",
            f"done after {counted(step, 'step')}; "
            f"translations will use {best.get('checkpoint', 'the last step')}{scores}\n"
            f"next: {further}",
            step=step,
            reason=reason,
            best=best,
            peak_memory=memory,
        )

    # --- updates ------------------------------------------------------------------------------------------

    def step(self, step: int, result: StepResult, log_every: int) -> None:
        """After each update: moves the bar; every `log_every` steps an event and, without a bar, a line."""
        now = time.monotonic()
        if self._first_step is None:
            self._first_step = step - 1
        if result.applied:
            self._window.append(result)
        n_tokens = sum(one.n_tokens for one in self._window)
        speed = n_tokens / max(now - self._window_began, 1e-9)
        left = (now - self._began) / (step - self._first_step) * (self._max_steps - step)
        self._tell_speed(step, result.n_tokens, now)
        if self._bar is not None:
            with self._audience():
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

    def _tell_speed(self, step: int, n_tokens: int, now: float) -> None:
        """What the first steps say of the rest. The very first is not counted: it is slower than any other."""
        first = self._first_step or 0
        if step == first + 1:
            self._speed_began, self._speed_tokens = now, -n_tokens
        self._speed_tokens += n_tokens
        steps, seconds = step - first - 1, now - self._speed_began
        if (
            self._speed_told
            or not steps
            or step == self._max_steps
            or (steps < _FIRST_STEPS and seconds < _FIRST_SECONDS)
        ):
            return
        self._speed_told = True
        speed = self._speed_tokens / seconds
        epoch, rest = (n * seconds / steps for n in (self._batches_per_epoch, self._max_steps - step))
        self.event(
            "speed",
            f"{speed:,.0f} target tokens/s; an epoch takes {duration(epoch)}, the "
            f"{counted(self._max_steps - step, 'remaining step')} {duration(rest)} (validation apart)",
            step=step,
            tokens_per_second=round(speed),
            seconds_per_epoch=round(epoch, 1),
            seconds_left=round(rest, 1),
        )

    @contextmanager
    def _audience(self) -> Iterator[None]:
        """Whoever read along may go away (`| head`, a closed terminal); the training goes on."""
        try:
            yield
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def validating(self) -> None:
        """Say on the bar why it stands still."""
        if self._bar is not None:
            with self._audience():
                self._bar.show("validating ...")

    def pause(self, seconds: float) -> None:
        """Time that was not training (validation) and must not count as slow training."""
        self._window_began += seconds
        self._speed_began += seconds
        if self._bar is not None:
            with self._audience():
                self._bar.show()

    def close(self) -> None:
        if self._tensorboard is not None:
            self._tensorboard.close()
        if self._bar is not None:
            self._bar.close()
        if self._events is not None:
            self._events.close()


class _Bar:
    """A live line at the bottom of the terminal."""

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
        # All of it fits 80 columns, whatever the numbers.
        self._numbers = (
            f"loss {result.loss:5.2f} ppl {perplexity(result.perplexity):>8} {speed:>6,.0f} tok/s {duration(left)} left"
        )
        self.show("", step)

    def show(self, instead: str = "", step: int | None = None) -> None:
        """Write the numbers of the last step beside the bar, or something instead; and move the bar to a step."""
        if not self._running:
            self._progress.start()
            self._running = True
        # What is said instead is seen at once: what it tells of may be over before the next refresh.
        self._progress.update(self._task, completed=step, numbers=instead or self._numbers, refresh=bool(instead))

    def close(self) -> None:
        if self._running:
            self._progress.stop()
            self._running = False


def lines_of(lines: list[int], texts: str) -> str:
    """Name lines of texts, the first few of them."""
    return f"lines {', '.join(map(str, lines[:10]))}{' ...' if len(lines) > 10 else ''} of {texts}"


def _rounded(value: float, digits: int) -> float | None:
    """JSON knows no infinity."""
    return round(value, digits) if math.isfinite(value) else None


def _ends_within_a_line(file: BinaryIO | None) -> bool:
    """Killed in the middle of a line: the next event must not be glued to it."""
    if file is None or file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 3:20 min, 2:05 h."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d} min"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"
