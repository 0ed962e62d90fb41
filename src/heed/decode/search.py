"""The interface of search: the task, the step function it calls, and the hypotheses it returns.

Search works on NumPy arrays and knows no model. A model is a step function that takes the newest token of each
hypothesis and returns scores of the next one. Only the scores know how they are stored.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from heed.decode.penalty import length_penalty
from heed.errors import DecodeError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Allowed = Sequence[Sequence[Ints | None]]  # for each hypothesis, the tokens that may come next; None: all

# Compact the batch once at most this share of its sentences is active; before that, copying costs more than it saves.
_MAX_ACTIVE_SHARE = 0.85


class State(Protocol):
    """The state of a step function: B sentences with W hypotheses each."""

    def select(self, sentences_B: Ints, parents_BW: Ints) -> Self:
        """Return the state of these sentences, where hypothesis w continues the old hypothesis `parents_BW[b, w]`.

        At least one sentence is selected. A parent may be selected several times, or not at all. The old state may
        not be used afterwards: its memory may have been reused.
        """
        ...


S = TypeVar("S", bound=State)


class Scores(Protocol):
    """The scores of the next token of each hypothesis."""

    def best(
        self, n: int, live_BW: Floats, never: tuple[int, ...], allowed: Allowed | None
    ) -> tuple[Floats, Ints, Ints]:
        """Return the n best continuations of each sentence, best first: totals_BN, parents_BN, tokens_BN.

        A total is the log-probability of the hypothesis, in `live_BW`, plus that of the token. Tokens in `never`, or
        not allowed, count in the softmax but are not offered: their totals are -inf.
        """
        ...

    def logprobs(self) -> Floats:
        """Return the log-probability of every token: logprobs_BWV."""
        ...


class Step(Protocol[S]):
    """A step function: it reads one token of each hypothesis and scores the next one."""

    def __call__(self, ids_BW: Ints, state: S) -> tuple[Scores, S]:
        """Return the scores of what follows the newest token of each hypothesis, and the state after that token."""
        ...


class Constraint(Protocol):
    """A limit on which tokens may follow. It has a state for each hypothesis, such as the number of open brackets."""

    def start(self, sentence: int) -> Any:
        """Return the state before the first token of a sentence, given by its index in the task."""
        ...

    def allowed(self, state: Any) -> Ints | None:
        """Return the tokens that may come next, which may include the end token; None: all."""
        ...

    def advance(self, state: Any, token: int) -> Any:
        """Return the state after one more token."""
        ...


@runtime_checkable
class Requirement(Constraint, Protocol):
    """A constraint that a sequence meets bit by bit, such as words that it must contain.

    Beam search then divides its beam by how much is missing. Otherwise a hypothesis that has just taken an improbable
    token of the requirement would lose against those that put it off.
    """

    def wanted(self, state: Any) -> Ints:
        """Return the tokens that bring a hypothesis closer to the requirement."""
        ...

    def n_needed(self, state: Any) -> int:
        """Return the fewest tokens that meet the requirement; 0: it is met."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that search has found, without its end token."""

    ids: list[int]
    log_probability: float  # of the sequence and, if finished, its end token
    score: float  # log_probability divided by the length penalty; hypotheses are ranked by it
    finished: bool  # False: the length limit came before the end token
    log_probabilities: list[float]  # of each token and, if finished, the end token


@dataclass(frozen=True)
class Candidate:
    """A continuation that a step considered.

    Search knows only ids. `translation.TracedCandidate` is the same with the text of the token.
    """

    parent: int  # index among the kept candidates of the previous step
    token: int
    log_probability: float  # of the whole sequence up to this token
    score: float  # divided by the length penalty, if the sequence ended here
    fate: str  # "kept", "finished", or why it was dropped


@dataclass
class Trace:
    """The candidates of each step of a beam search for one sentence, best first."""

    steps: list[list[Candidate]] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """The task of every kind of search: find sequences for B sentences, from token `start` to token `end`."""

    limits: Sequence[int]  # the maximum length for each sentence, counting the end token
    start: int
    end: int
    alpha: float = 0.0
    constraint: Constraint | None = None
    never: tuple[int, ...] = ()  # tokens that are not offered, whatever their probability
    traces: list[Trace] | None = None  # one per sentence, filled by the search
    deadline: float = float("inf")  # of time.monotonic()
    is_cancelled: Callable[[], bool] = lambda: False

    def hypothesis(self, ids: list[int], total: float, log_probabilities: list[float], finished: bool) -> Hypothesis:
        """Return a hypothesis, scored with the length penalty. If it is finished, the end token counts."""
        score = float(total) / length_penalty(len(ids) + finished, self.alpha)
        return Hypothesis(ids, float(total), score, finished, log_probabilities)

    def check_time(self) -> None:
        """Check that the search may continue.

        Raises:
            DecodeError: the deadline has passed, or the search was cancelled.
        """
        if self.is_cancelled():
            raise DecodeError("the search was cancelled")
        if time.monotonic() > self.deadline:
            raise DecodeError(
                "the search did not finish before its deadline; allow more time, or translate fewer texts at a time"
            )


# The constraint's state of a hypothesis with probability zero, and the tokens that may follow it.
_IMPOSSIBLE, _NO_TOKENS = object(), np.array([], dtype=np.int64)


class Constrained:
    """The states of a constraint for all hypotheses. Without a constraint it does nothing."""

    def __init__(self, constraint: Constraint | None, n_sentences: int, width: int = 1) -> None:
        self._constraint = constraint
        self._states: list[list[Any]] = []
        if constraint is not None:
            self._states = [[constraint.start(sentence)] * width for sentence in range(n_sentences)]
        self._requirement = constraint if isinstance(constraint, Requirement) else None

    @property
    def has_requirement(self) -> bool:
        return self._requirement is not None

    def allowed(self) -> Allowed | None:
        """Return the tokens that may come next; None: all, for every hypothesis."""
        constraint = self._constraint
        if constraint is None:
            return None
        allowed = [
            [_NO_TOKENS if state is _IMPOSSIBLE else constraint.allowed(state) for state in states]
            for states in self._states
        ]
        return allowed if any(tokens is not None for hypotheses in allowed for tokens in hypotheses) else None

    def wanted(self, row: int) -> list[tuple[int, int]]:
        """Return hypothesis and token of each continuation of a sentence that the requirement wants."""
        assert self._requirement is not None
        return [
            (parent, token)
            for parent, state in enumerate(self._states[row])
            if state is not _IMPOSSIBLE
            for token in self._requirement.wanted(state).tolist()
        ]

    def n_needed(self, row: int, parents_C: Ints, tokens_C: Ints) -> list[int]:
        """Return how many tokens the requirement still needs after each of these continuations."""
        requirement, states = self._requirement, self._states[row]
        assert requirement is not None
        return [
            requirement.n_needed(requirement.advance(states[parent], token))
            for parent, token in zip(parents_C.tolist(), tokens_C.tolist(), strict=True)
        ]

    def advance(self, rows_B: Ints, parents_BW: Ints, tokens_BW: Ints, live_BW: Floats) -> None:
        """Advance each state: hypothesis w of sentence b continues parent `parents_BW[b, w]` with `tokens_BW[b, w]`."""
        if self._constraint is None:
            return
        self._states = [
            [
                self._constraint.advance(self._states[row][parent], token) if total > -np.inf else _IMPOSSIBLE
                for parent, token, total in zip(parents, tokens, totals, strict=True)
            ]
            for row, parents, tokens, totals in zip(
                *(array.tolist() for array in (rows_B, parents_BW, tokens_BW, live_BW)), strict=True
            )
        ]


def offered(logprobs_BWV: Floats, never: tuple[int, ...], allowed: Allowed | None) -> Floats:
    """Set the log-probabilities of tokens that may not come next to -inf, in place."""
    logprobs_BWV[..., list(never)] = -math.inf
    for b, hypotheses in enumerate(allowed or ()):
        for w, tokens in enumerate(hypotheses):
            if tokens is not None:
                kept = logprobs_BWV[b, w, tokens]
                logprobs_BWV[b, w] = -math.inf
                logprobs_BWV[b, w, tokens] = kept
    return logprobs_BWV


def may_compact(active: Sequence[bool]) -> bool:
    """Return whether enough sentences have finished to make copying the rest of the batch worthwhile."""
    return sum(active) <= _MAX_ACTIVE_SHARE * len(active)


def difference(total: Floats, before: Floats) -> Floats:
    """Return the log-probability of the newest token, as a difference of totals; 0 where the total is -inf."""
    return np.subtract(total, before, out=np.zeros_like(total), where=np.isfinite(total))
