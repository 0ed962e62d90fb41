"""Things measured in turns: what disturbs the machine then disturbs all of them, and ratios keep their meaning."""

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
    sides: Mapping[str, Callable[[], object]], rounds: int, tell: Callable[[int], None] = lambda done: None
) -> dict[str, list[float]]:
    """Seconds of each side in each round, after a round to warm up. `tell` is told how many of all are done."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    done = 0
    for number in range(rounds + 1):
        for name, side in sides.items():
            taken, _ = timed(side)
            if number:
                seconds[name].append(taken)
            done += 1
            tell(done)
    return seconds


def timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def rates(amount: float, seconds: Sequence[float]) -> dict[str, float]:
    """Of so much done in each round: how much a second, in the best and in the middle round."""
    return {"best": amount / min(seconds), "median": amount / statistics.median(seconds)}


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


def machine() -> dict[str, object]:
    """Where this was measured, and how busy it was besides."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = {"load": round(os.getloadavg()[0], 2)} if hasattr(os, "getloadavg") else {}
    compiled = {"kernels": library() is not None}
    return {"processor": processor.name(), "cores": cores, "python": platform.python_version(), **compiled, **busy}
