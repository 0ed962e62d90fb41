"""Native models as a step function of search."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heed.decode.search import Allowed, Floats, Ints, offered
from heed.kernels.candidates import best_by_kernel
from heed.kernels.matrix import Floats as Float32s
from heed.native.model import NativeModel
from heed.native.state import SearchState


@dataclass(frozen=True)
class NativeStates:
    """The search states of the models of an ensemble."""

    states: Sequence[SearchState]

    def select(self, sentences_B: Ints, parents_BW: Ints) -> "NativeStates":
        return NativeStates([state.select(sentences_B, parents_BW) for state in self.states])


@dataclass(frozen=True)
class ArrayScores:
    """Scores as logits_BWV. Log-probabilities are logits, too: they are already normalised."""

    logits_BWV: Float32s

    def best(
        self, n: int, live_BW: Floats, never: tuple[int, ...], allowed: Allowed | None
    ) -> tuple[Floats, Ints, Ints]:
        n_sentences, width, n_tokens = self.logits_BWV.shape
        n = min(n, width * n_tokens)
        if allowed is None:
            found = best_by_kernel(live_BW.astype(np.float32, copy=False), self.logits_BWV, n, never)
            assert found is not None  # there are kernels, or there would be no native model
            return found
        totals_BWV = offered(self.logprobs(), never, allowed) + live_BW[:, :, None].astype(np.float32)
        totals_BX = np.where(np.isnan(totals_BWV), -np.inf, totals_BWV).reshape(n_sentences, -1)
        best_BN = np.argpartition(-totals_BX, n - 1, axis=1)[:, :n]
        order_BN = np.argsort(-np.take_along_axis(totals_BX, best_BN, 1), axis=1, kind="stable")
        best_BN = np.take_along_axis(best_BN, order_BN, 1)
        return np.take_along_axis(totals_BX, best_BN, 1), best_BN // n_tokens, best_BN % n_tokens

    def logprobs(self) -> Float32s:
        return log_softmax(self.logits_BWV)


class NativeStep:
    """One model, or an ensemble whose probabilities are averaged, as a step function of search."""

    def __init__(self, models: Sequence[NativeModel], n_threads: int = 1) -> None:
        """Make a step function whose calls up to `n_threads` threads share."""
        self._models, self._n_threads = models, n_threads

    def start(self, sources: Sequence[Sequence[int]]) -> NativeStates:
        """Return the state before the first token of these source sentences, which have their end tokens."""
        return NativeStates([model.start(sources, n_threads=self._n_threads) for model in self._models])

    def __call__(self, ids_BW: Ints, state: NativeStates) -> tuple[ArrayScores, NativeStates]:
        stepped = [
            model.step(ids_BW, one, n_threads=self._n_threads)
            for model, one in zip(self._models, state.states, strict=True)
        ]
        logits = [logits_BWV for logits_BWV, _ in stepped]
        if len(logits) > 1:
            logits = [averaged(list(map(log_softmax, logits)))]
        return ArrayScores(logits[0]), NativeStates([one for _, one in stepped])


def log_softmax(logits_BWV: Float32s) -> Float32s:
    """Return the log-probability of every token."""
    with np.errstate(invalid="ignore"):  # weights that are not finite
        shifted_BWV = logits_BWV - logits_BWV.max(-1, keepdims=True)
        found: Float32s = shifted_BWV - np.log(np.exp(shifted_BWV).sum(-1, keepdims=True))
    return found


def averaged(logprobs: Sequence[Float32s]) -> Float32s:
    """Return the logarithm of the average of several models' probabilities."""
    all_NBWV = np.stack(logprobs)
    highest_BWV = all_NBWV.max(0)
    with np.errstate(invalid="ignore"):
        sum_BWV = np.exp(all_NBWV - np.where(np.isfinite(highest_BWV), highest_BWV, 0.0)).sum(0)
        found: Float32s = highest_BWV + np.log(sum_BWV) - np.float32(math.log(len(logprobs)))
    return found
