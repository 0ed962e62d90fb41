"""Measure several things in turns: a disturbance of the machine affects all of them, so ratios stay meaningful."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from heed import processor
from heed.kernels.library import library

T = TypeVar("T")


def in_turns(
    sides: Mapping[str, Callable[[], object]], rounds: int, progress: Callable[[int], None] = lambda done: None
) -> dict[str, list[float]]:
    """Return the seconds of each side in each round, after a warm-up round.

    `progress` is called with the number of turns done, of len(sides) x (rounds + 1).
    """
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    done = 0
    for number in range(rounds + 1):
        for name, side in sides.items():
            taken, _ = timed(side)
            if number:
                seconds[name].append(taken)
            done += 1
            progress(done)
    return seconds


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return how many seconds `work` takes, and its result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def rates(amount: float, seconds: Sequence[float]) -> dict[str, float]:
    """Return the amount per second in the best and in the median round, given the amount of each round."""
    return {"best": amount / min(seconds), "median": amount / statistics.median(seconds)}


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` % of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


def machine() -> dict[str, object]:
    """Return a description of this machine and its load."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = {"load": round(os.getloadavg()[0], 2)} if hasattr(os, "getloadavg") else {}
    compiled = {"kernels": library() is not None}
    return {"processor": processor.name(), "cores": cores, "python": platform.python_version(), **compiled, **load}
