"""Measure how fast this machine trains, to say what a table will cost before it starts.

Other programs may share the cores. How long a thread was ready and had no core is known on Linux, so the result is the
speed with cores of its own, and how much slower it is just now.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from heed.config import Config
from heed.data.batch import batch_of_ids
from heed.model.build import model_class
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import all_workers
from heed.vocabulary import Vocabulary

_LENGTH = 25  # tokens of a sentence
_MOST_TOKENS = 1_024  # of the update that is timed
_SECONDS = 2.0  # of timing


@dataclass(frozen=True)
class Speed:
    """How fast updates are."""

    seconds_per_operation: float  # with cores of its own
    slowdown: float = 1.0  # at the moment, by other programs


@dataclass(frozen=True)
class Timed:
    """An update that was timed."""

    seconds: float
    waited: float  # of them, for a core


def measured_speed(config: Config, vocabulary: Vocabulary) -> Speed:
    """Time updates of a new model of this config on random sentences.

    The first update, which also allocates memory, is not timed.
    """
    n = max(1, min(_MOST_TOKENS, config.train.micro_batch_tokens, config.train.batch_tokens) // _LENGTH)
    draw = np.random.default_rng(1).integers(10, vocabulary.size, (2, n, _LENGTH - 1)).tolist()
    batch = batch_of_ids(draw[0], draw[1], vocabulary)
    lengths = np.full(n, _LENGTH, dtype=np.int64)
    with all_workers() as workers:
        learner = Learner(config, vocabulary, workers)
        learner.model.train()
        train_step(learner, [batch], batch.n_tokens, 1)
        timed: list[Timed] = []
        while sum(one.seconds for one in timed) < _SECONDS:
            began, before = time.perf_counter(), waits()  # in this order: no wait counts that is not timed
            train_step(learner, [batch], batch.n_tokens, 2 + len(timed))
            waited = longest_wait(before, waits())
            timed.append(Timed(time.perf_counter() - began, waited))
    return speed_of(
        timed, float(model_class(config.model).update_operations(config.model, vocabulary, lengths, lengths))
    )


def speed_of(timed: list[Timed], operations: float) -> Speed:
    """Return the speed of the fastest update of so many operations, and the slowdown of all."""
    seconds, waited = sum(one.seconds for one in timed), sum(one.waited for one in timed)
    fastest = min(timed, key=lambda one: one.seconds)
    return Speed((fastest.seconds - fastest.waited) / operations, seconds / (seconds - waited))


def waits() -> dict[str, float]:
    """Return how long each thread of this process has been ready without a core so far, in seconds.

    Only Linux tells; elsewhere there are none.
    """
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[path.parent.name] = int(path.read_text().split()[1]) / 1e9
        except (OSError, IndexError):  # the thread has ended, or the kernel does not count
            continue
    return found


def longest_wait(before: dict[str, float], after: dict[str, float]) -> float:
    """Return the longest time that one thread waited between two calls of `waits`; threads wait at the same time."""
    return max((waited - before.get(thread, 0.0) for thread, waited in after.items()), default=0.0)
