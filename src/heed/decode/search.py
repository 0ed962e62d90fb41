"""What every kind of search has in common: what it is asked, what it needs of a model, and what it finds.

Search works on NumPy arrays and knows no model: a model, of whatever make, is a step function from the newest token of
each hypothesis to scores of the next. Only the scores know how they are stored.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from heed.decode.penalty import length_penalty
from heed.errors import DecodeError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Allowed = Sequence[Sequence[Ints | None]]  # of each hypothesis: the tokens that may come next; None: all

# Compact the batch once at most this share of its sentences is active; before that, copying costs more than it saves.
_ACTIVE_SHARE = 0.85


class State(Protocol):
    """What a model remembers of B sentences with W hypotheses each."""

    def select(self, sentences_B: Ints, parents_BW: Ints) -> Self:
        """Return the state of these sentences, hypothesis w continuing the old hypothesis `parents_BW[b, w]`.

        Finished sentences leave by not being named, but at least one stays; hypotheses multiply by being named twice.
        """
        ...


S = TypeVar("S", bound=State)


class Scores(Protocol):
    """What a model says of the next token of each hypothesis."""

    def best(
        self, n: int, live_BW: Floats, never: tuple[int, ...], allowed: Allowed | None
    ) -> tuple[Floats, Ints, Ints]:
        """Return the n best continuations of each sentence, best first: totals_BN, parents_BN, tokens_BN.

        A total is what the hypothesis has in `live_BW` plus the token's log-probability. Tokens in `never`, or not
        allowed, keep their probability but are not offered: their totals are -inf.
        """
        ...

    def logprobs(self) -> Floats:
        """Return the log-probability of every token: logprobs_BWV."""
        ...


class Step(Protocol[S]):
    """One more token."""

    def __call__(self, ids_BW: Ints, state: S) -> tuple[Scores, S]:
        """Return the scores of what follows the newest token of each hypothesis, and the state after it."""
        ...


class Constraint(Protocol):
    """What a sequence may be, with a state of its own for each hypothesis, such as how many brackets are open."""

    def start(self, sentence: int) -> Any:
        """Return the state before the first token of a sentence, named by its place in the task."""
        ...

    def allowed(self, state: Any) -> Ints | None:
        """Return the tokens that may come next, the end token among them where it may; None: any may."""
        ...

    def advance(self, state: Any, token: int) -> Any:
        """Return the state after one more token."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """One finished sequence, without its end token."""

    ids: list[int]
    log_probability: float  # of the sequence and, if finished, its end token
    score: float  # log_probability divided by the length penalty: what hypotheses are ranked by
    finished: bool  # False: the length limit came before the end token
    log_probabilities: list[float]  # of each token and, if finished, the end token


@dataclass(frozen=True)
class Candidate:
    """A continuation that a step considered."""

    parent: int  # which of the step before's kept candidates it continues
    token: int
    log_probability: float  # of the whole sequence up to this token
    score: float  # divided by the length penalty, if the sequence ended here
    fate: str  # "kept", "finished", or why it was dropped


@dataclass
class Trace:
    """What a beam search of one sentence considered: for each step, its candidates, best first."""

    steps: list[list[Candidate]] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """What every kind of search is asked: sequences for B sentences, from `start` to `end`."""

    limits: Sequence[int]  # most tokens of each sentence's sequences, the end token included
    start: int
    end: int
    alpha: float = 0.0
    constraint: Constraint | None = None
    never: tuple[int, ...] = ()  # tokens that are not offered, whatever their probability
    traces: list[Trace] | None = None  # one for each sentence, to be filled
    deadline: float = float("inf")  # of time.monotonic()
    is_cancelled: Callable[[], bool] = lambda: False

    def hypothesis(self, ids: list[int], total: float, log_probabilities: Floats, finished: bool) -> Hypothesis:
        """Score a sequence by the length penalty, the end token of a finished one counted."""
        score = float(total) / length_penalty(len(ids) + finished, self.alpha)
        return Hypothesis(ids, float(total), score, finished, log_probabilities.tolist())

    def check_time(self) -> None:
        """
        Raises:
            DecodeError: the deadline has passed, or the search was cancelled.
        """
        if self.is_cancelled():
            raise DecodeError("the search was cancelled")
        if time.monotonic() > self.deadline:
            raise DecodeError("the search did not finish within its time")


_DEAD, _NONE = object(), np.array([], dtype=np.int64)  # a hypothesis of probability zero, and what may follow it


class Constrained:
    """The constraint's state of every hypothesis; it does nothing where there is no constraint."""

    def __init__(self, constraint: Constraint | None, n_sentences: int, width: int = 1) -> None:
        self._constraint = constraint
        self._states: list[list[Any]] = []
        if constraint is not None:
            self._states = [[constraint.start(sentence)] * width for sentence in range(n_sentences)]

    def allowed(self) -> Allowed | None:
        """Return what may come next; None: anything, in all hypotheses."""
        constraint = self._constraint
        if constraint is None:
            return None
        allowed = [[_NONE if one is _DEAD else constraint.allowed(one) for one in several] for several in self._states]
        return allowed if any(one is not None for several in allowed for one in several) else None

    def advance(self, rows_B: Ints, parents_BW: Ints, tokens_BW: Ints, live_BW: Floats) -> None:
        """Follow the search: hypothesis w of sentence b continues parent `parents_BW[b, w]` with `tokens_BW[b, w]`."""
        if self._constraint is None:
            return
        self._states = [
            [
                self._constraint.advance(self._states[row][parent], token) if total > -np.inf else _DEAD
                for parent, token, total in zip(parents, tokens, totals, strict=True)
            ]
            for row, parents, tokens, totals in zip(
                *(array.tolist() for array in (rows_B, parents_BW, tokens_BW, live_BW)), strict=True
            )
        ]


def may_compact(active: Sequence[bool]) -> bool:
    """Return whether enough sentences of a batch have finished to make it smaller."""
    return sum(active) <= _ACTIVE_SHARE * len(active)


def difference(total: Floats, before: Floats) -> Floats:
    """Return what the newest token added to a sum of log-probabilities; 0 where the sum is -inf."""
    return np.subtract(total, before, out=np.zeros_like(total), where=np.isfinite(total))
