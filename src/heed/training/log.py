"""What a training says: one JSON line per event in the run folder, and a bar or plain lines for people."""

import json
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from heed.training.step import StepResult


class Log:
    """Everything that happens goes through here. Nothing is printed to standard output."""

    def __init__(self, events_path: Path | None, max_steps: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._events = None if events_path is None else open(events_path, "a", encoding="utf-8")
        self._max_steps = max_steps
        self._bar = _Bar(self._stream, max_steps) if self._stream.isatty() else None
        self._began = self._window_began = time.monotonic()
        self._window: list[StepResult] = []
        self._first_step: int | None = None

    def event(self, kind: str, message: str = "", **values: Any) -> None:
        """Record an event; `message` is what people read of it."""
        if self._events is not None:
            record = {"event": kind, "time": round(time.time(), 3), **values}
            self._events.write(json.dumps(record, ensure_ascii=False) + "\n")
            self._events.flush()
        if kind in ("end", "interrupted") and self._bar is not None:
            self._bar.close()  # what is said last stands last
        if message:
            self.say(message)

    def say(self, message: str) -> None:
        """A line for people."""
        if self._bar is not None:
            self._bar.say(message)
        else:
            print(message, file=self._stream, flush=True)

    def warn(self, message: str) -> None:
        self.event("warning", f"warning: {message}", text=message)

    def step(self, step: int, result: StepResult, rate: float, log_every: int) -> None:
        """After each update: moves the bar; every `log_every` steps an event and, without a bar, a line."""
        now = time.monotonic()
        if self._first_step is None:
            self._first_step = step - 1
        self._window.append(result)
        n_tokens = sum(one.n_tokens for one in self._window)
        speed = n_tokens / max(now - self._window_began, 1e-9)
        left = (now - self._began) / (step - self._first_step) * (self._max_steps - step)
        if self._bar is not None:
            self._bar.step(step, result, rate, speed, left)
        if step % log_every == 0 or step == self._max_steps:
            loss = sum(one.loss * one.n_tokens for one in self._window) / n_tokens
            self.event(
                "step",
                step=step,
                loss=round(loss, 4),
                perplexity=round(result.perplexity, 3),
                learning_rate=rate,
                tokens_per_second=round(speed),
            )
            if self._bar is None:
                self.say(
                    f"step {step:,}/{self._max_steps:,}  loss {loss:.3f}  perplexity {result.perplexity:.2f}  "
                    f"lr {rate:.2e}  {speed:,.0f} tokens/s  {duration(left)} left"
                )
            self._window, self._window_began = [], now

    def pause(self, seconds: float) -> None:
        """Time that was not training (validation) and must not count as slow training."""
        self._window_began += seconds

    def close(self) -> None:
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

    def say(self, message: str) -> None:
        (self._progress.console if self._running else self._console).print(message, markup=False, highlight=False)

    def step(self, step: int, result: StepResult, rate: float, speed: float, left: float) -> None:
        if not self._running:
            self._progress.start()
            self._running = True
        # All of it fits 80 columns, whatever the numbers.
        numbers = (
            f"loss {result.loss:.2f} ppl {result.perplexity:.4g} lr {rate:.1e} {speed:,.0f} tok/s {duration(left)} left"
        )
        self._progress.update(self._task, completed=step, numbers=numbers)

    def close(self) -> None:
        if self._running:
            self._progress.stop()
            self._running = False


def duration(seconds: float) -> str:
    """Seconds as people say them: 45 s, 3:20 min, 2:05 h."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d} min"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"
