"""What search needs to know of a model: one step, and a state that can be re-arranged."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor

from heed.decode.candidates import best_continuations
from heed.decode.penalty import length_penalty

_LEAVE = 0.85  # of a batch's sentences still going: to compute for a few done ones costs less than to move the rest


class State(Protocol):
    """What a model remembers of B sentences with W hypotheses each."""

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> Self:
        """The state of these sentences, hypothesis w continuing the old hypothesis `parents_BW[b, w]`.

        Finished sentences leave by not being named, but at least one stays; hypotheses multiply by being named twice.
        """
        ...


S = TypeVar("S", bound=State)


class Step(Protocol[S]):
    """One more symbol."""

    def __call__(self, ids_BW: Tensor, state: S) -> tuple[Tensor, S]:
        """The newest symbol of each hypothesis to logits_BWV of the next, and the new state.

        Log-probabilities are logits, too: those that need no normalising. The logits are the caller's to change.
        """
        ...


# Which symbols may come next: (ids_BWt so far, sentences_B by their numbers) -> allowed_BWV, or None for all.
Constraint = Callable[[Tensor, Tensor], Tensor | None]


@dataclass(frozen=True)
class Hypothesis:
    """One finished sequence, without its end symbol."""

    ids: list[int]
    log_probability: float  # of the sequence and, if finished, its end symbol
    score: float  # log_probability divided by the length penalty: what hypotheses are ranked by
    finished: bool  # False: the length limit came before the end symbol


@dataclass(frozen=True)
class Task:
    """What every kind of search is asked: sequences for B sentences, from `start` to `end`."""

    limits: Sequence[int]  # most symbols of each sentence's sequences, the end symbol included
    start: int
    end: int
    alpha: float = 0.0
    constraint: Constraint | None = None
    never: tuple[int, ...] = ()  # symbols that are not offered, whatever their probability
    device: torch.device | None = None

    def best(
        self, n: int, live_BW: Tensor, logits_BWV: Tensor, ids_BWt: Tensor, sentences_B: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The n best continuations of each sentence: totals_BN, parents_BN, symbols_BN.

        Symbols that may not come next get probability zero; the others keep theirs.
        """
        allowed_BWV = None if self.constraint is None else self.constraint(ids_BWt, sentences_B)
        return best_continuations(live_BW, logits_BWV, n, self.never, allowed_BWV)

    def all(self, logits_BWV: Tensor, ids_BWt: Tensor, sentences_B: Tensor) -> Tensor:
        """The log-probabilities of all symbols to come next: logprobs_BWV."""
        logprobs_BWV = logits_BWV.log_softmax(-1)
        logprobs_BWV[..., list(self.never)] = -math.inf
        allowed_BWV = None if self.constraint is None else self.constraint(ids_BWt, sentences_B)
        return logprobs_BWV if allowed_BWV is None else logprobs_BWV.masked_fill(~allowed_BWV, -math.inf)

    def hypothesis(self, ids: list[int], log_probability: float, finished: bool) -> Hypothesis:
        """Scored by the length penalty, the end symbol of a finished one counted."""
        length = len(ids) + finished
        return Hypothesis(ids, log_probability, log_probability / length_penalty(length, self.alpha), finished)


def may_leave(going: Sequence[bool]) -> bool:
    """Have enough sentences of a batch finished to make it smaller? What is kept of the others must be moved for it."""
    return sum(going) <= _LEAVE * len(going)


@dataclass(frozen=True)
class EnsembleState:
    states: Sequence[State]

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "EnsembleState":
        return EnsembleState([state.select(sentences_B, parents_BW) for state in self.states])


def ensemble(steps: Sequence[Step[Any]]) -> Step[EnsembleState]:
    """A step whose probabilities are the mean of several steps' probabilities."""

    def step(ids_BW: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        results = [one(ids_BW, its_state) for one, its_state in zip(steps, state.states, strict=True)]
        if len(results) == 1:
            return results[0][0], EnsembleState([results[0][1]])
        all_NBWV = torch.stack([logits_BWV.log_softmax(-1) for logits_BWV, _ in results])
        mean_BWV = all_NBWV.logsumexp(0) - math.log(len(steps))
        return mean_BWV, EnsembleState([its_state for _, its_state in results])

    return step


def forced_prefix(prefixes: Sequence[Sequence[int]], vocab_size: int) -> Constraint:
    """Each sentence's translation begins with its prefix, which may be empty."""
    longest = max(map(len, prefixes), default=0)

    def constraint(ids_BWt: Tensor, sentences_B: Tensor) -> Tensor | None:
        t = ids_BWt.size(2)
        if t >= longest:
            return None
        allowed_BWV = torch.ones(*ids_BWt.shape[:2], vocab_size, dtype=torch.bool, device=ids_BWt.device)
        for row, sentence in enumerate(sentences_B.tolist()):
            if t < len(prefixes[sentence]):
                allowed_BWV[row] = False
                allowed_BWV[row, :, prefixes[sentence][t]] = True
        return allowed_BWV

    return constraint
