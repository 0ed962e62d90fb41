"""Sampling: draw tokens at random from the model's distribution."""

import math
from collections.abc import Sequence

import numpy as np

from heed.decode.search import Constrained, Floats, Hypothesis, Ints, S, Step, Task, offered
from heed.options import Sampling


def sample(
    step: Step[S], state: S, task: Task, sampling: Sampling, n_samples: int = 1, numbers: Sequence[int] | None = None
) -> list[list[Hypothesis]]:
    """Return `n_samples` independent draws for each sentence, best-scoring first.

    Sentence b has its own random stream, identified by `numbers[b]`: its samples do not depend on the rest of the
    batch. Log-probabilities are the model's, whatever the temperature.
    """
    n_sentences = len(task.limits)
    numbers = range(n_sentences) if numbers is None else numbers
    streams = [np.random.Generator(np.random.PCG64([sampling.seed, number])) for number in numbers]
    results: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    sentences_B = np.arange(n_sentences)
    ids_BWt = np.empty((n_sentences, n_samples, 0), dtype=np.int64)
    logprobs_BWt = np.empty((n_sentences, n_samples, 0))
    newest_BW = np.full((n_sentences, n_samples), task.start)
    active_BW = np.ones((n_sentences, n_samples), dtype=bool)
    parents_BW = np.tile(np.arange(n_samples), (n_sentences, 1))
    state = state.select(sentences_B, np.zeros_like(parents_BW))
    constrained = Constrained(task.constraint, n_sentences, n_samples)
    while active_BW.any():
        task.check_time()
        scores, state = step(newest_BW, state)
        logprobs_BWV = offered(scores.logprobs(), task.never, constrained.allowed())
        uniform_BW = np.stack([streams[sentence].random(n_samples) for sentence in sentences_B.tolist()])
        newest_BW = _draw(logprobs_BWV, uniform_BW, sampling)
        drawn_BW1 = np.take_along_axis(logprobs_BWV, newest_BW[:, :, None], 2)
        logprobs_BWt = np.concatenate((logprobs_BWt, drawn_BW1), 2)
        ids_BWt = np.concatenate((ids_BWt, newest_BW[:, :, None]), 2)

        ended_BW = newest_BW == task.end
        limit_B = np.array([task.limits[sentence] for sentence in sentences_B.tolist()])
        stops_BW = active_BW & (ended_BW | (limit_B <= ids_BWt.shape[2])[:, None])
        for row, column in np.argwhere(stops_BW).tolist():
            ids, ended = ids_BWt[row, column].tolist(), bool(ended_BW[row, column])
            logprobs = logprobs_BWt[row, column]
            drawn = task.hypothesis(ids[:-1] if ended else ids, logprobs.sum(), logprobs.tolist(), ended)
            results[sentences_B[row]].append(drawn)
        active_BW &= ~stops_BW
        rows_B = np.arange(len(active_BW))
        if active_BW.any() and not active_BW.any(1).all():
            rows_B = np.flatnonzero(active_BW.any(1))
            sentences_B, ids_BWt, logprobs_BWt = sentences_B[rows_B], ids_BWt[rows_B], logprobs_BWt[rows_B]
            newest_BW, active_BW, parents_BW = newest_BW[rows_B], active_BW[rows_B], parents_BW[rows_B]
            state = state.select(rows_B, parents_BW)
        constrained.advance(rows_B, parents_BW, newest_BW, np.where(active_BW, 0.0, -math.inf))
    return [sorted(hypotheses, key=lambda one: -one.score) for hypotheses in results]


def _draw(logprobs_BWV: Floats, uniform_BW: Floats, sampling: Sampling) -> Ints:
    """Return one token per hypothesis: the one at which the cumulative probability passes a uniform number."""
    scaled_BWV = logprobs_BWV.astype(np.float64) / sampling.temperature
    tokens_BWV = np.argsort(-scaled_BWV, axis=-1, kind="stable")
    sorted_BWV = np.take_along_axis(scaled_BWV, tokens_BWV, -1)
    with np.errstate(invalid="ignore"):  # a hypothesis that is done may have no allowed token
        sorted_BWV = np.exp(sorted_BWV - sorted_BWV[..., :1])
    sorted_BWV /= sorted_BWV.sum(-1, keepdims=True)
    if sampling.top_k:
        sorted_BWV[..., sampling.top_k :] = 0.0
    # A token stays if those before it sum to less than top_p, so the first always stays.
    before_BWV = sorted_BWV.cumsum(-1) - sorted_BWV
    sorted_BWV[before_BWV >= sampling.top_p] = 0.0
    cumulative_BWV = sorted_BWV.cumsum(-1)
    target_BW1 = uniform_BW[..., None] * cumulative_BWV[..., -1:]
    index_BW1 = (cumulative_BWV <= target_BW1).sum(-1, keepdims=True)
    # Rounding may point past the last possible token. If all probabilities are NaN, any token will do.
    last_BW1 = np.maximum((sorted_BWV > 0).sum(-1, keepdims=True) - 1, 0)
    return np.take_along_axis(tokens_BWV, np.minimum(index_BW1, last_BW1), -1)[..., 0]
