"""Symbols drawn at random from the model's distribution."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heed.decode.greedy import constrained
from heed.decode.penalty import length_penalty
from heed.decode.step import Constraint, Hypothesis, S, Step


@dataclass(frozen=True)
class Sampling:
    """How to draw: sharper or flatter, from the k most probable only, from the most probable share p only."""

    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.temperature <= 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise ValueError(f"{self}: needs temperature > 0, top_k >= 0, 0 < top_p <= 1")


def sample(
    step: Step[S],
    state: S,
    limits: Sequence[int],
    *,
    start: int,
    end: int,
    sampling: Sampling,
    n_samples: int = 1,
    alpha: float = 0.0,
    numbers: Sequence[int] | None = None,
    constraint: Constraint | None = None,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """`n_samples` independent draws for each sentence, best-scoring first.

    Sentence b draws from a stream of its own, named by `numbers[b]`: its samples do not depend on its
    batch-mates. Log-probabilities are the model's, whatever the temperature.
    """
    numbers = range(len(limits)) if numbers is None else numbers
    streams = [np.random.Generator(np.random.PCG64([sampling.seed, number])) for number in numbers]
    results: list[list[Hypothesis]] = [[] for _ in limits]
    sentences_B = torch.arange(len(limits), device=device)
    ids_BWt = torch.empty(len(limits), n_samples, 0, dtype=torch.long, device=device)
    newest_BW = torch.full((len(limits), n_samples), start, device=device)
    total_BW = torch.zeros(len(limits), n_samples, device=device)
    going_BW = torch.ones(len(limits), n_samples, dtype=torch.bool, device=device)
    parents_BW = torch.arange(n_samples, device=device).expand(len(limits), -1)
    state = state.select(sentences_B, torch.zeros_like(parents_BW))
    while len(sentences_B):
        logprobs_BWV, state = step(newest_BW, state)
        logprobs_BWV = constrained(logprobs_BWV, constraint, ids_BWt, sentences_B)
        uniform_BW = np.stack([streams[sentence].random(n_samples) for sentence in sentences_B.tolist()])
        newest_BW = _draw(logprobs_BWV, torch.from_numpy(uniform_BW).to(logprobs_BWV), sampling)
        drawn_BW = logprobs_BWV.gather(-1, newest_BW.unsqueeze(-1)).squeeze(-1)
        total_BW = torch.where(going_BW, total_BW + drawn_BW, total_BW)
        ids_BWt = torch.cat((ids_BWt, newest_BW.unsqueeze(-1)), 2)
        t = ids_BWt.size(2)

        ended_BW = newest_BW.eq(end)
        limit_B = torch.tensor([limits[sentence] for sentence in sentences_B.tolist()], device=device)
        stops_BW = going_BW & (ended_BW | limit_B.le(t).unsqueeze(1))
        for row, column in stops_BW.nonzero().tolist():
            ids = ids_BWt[row, column].tolist()
            log_probability = float(total_BW[row, column])
            score = log_probability / length_penalty(t, alpha)
            has_ended = bool(ended_BW[row, column])
            results[int(sentences_B[row])].append(
                Hypothesis(ids[:-1] if has_ended else ids, log_probability, score, has_ended)
            )
        going_BW = going_BW & ~stops_BW
        rows_B = going_BW.any(1).nonzero().squeeze(1)
        if len(rows_B) < len(sentences_B):
            sentences_B, ids_BWt, parents_BW = sentences_B[rows_B], ids_BWt[rows_B], parents_BW[rows_B]
            newest_BW, total_BW, going_BW = newest_BW[rows_B], total_BW[rows_B], going_BW[rows_B]
            state = state.select(rows_B, parents_BW)
    return [sorted(drawn, key=lambda one: -one.score) for drawn in results]


def _draw(logprobs_BWV: Tensor, uniform_BW: Tensor, sampling: Sampling) -> Tensor:
    """One symbol per hypothesis: the place where the cumulative probability passes a uniform number."""
    sorted_BWV, symbols_BWV = (logprobs_BWV / sampling.temperature).softmax(-1).sort(-1, descending=True)
    if sampling.top_k:
        sorted_BWV[..., sampling.top_k :] = 0.0
    # A symbol stays while those before it have not filled the share: the first always stays.
    before_BWV = sorted_BWV.cumsum(-1) - sorted_BWV
    sorted_BWV = sorted_BWV.masked_fill(before_BWV >= sampling.top_p, 0.0)
    cumulative_BWV = sorted_BWV.cumsum(-1)
    target_BW1 = (uniform_BW * cumulative_BWV[..., -1]).unsqueeze(-1)
    place_BW1 = torch.searchsorted(cumulative_BWV, target_BW1, right=True)
    # Rounding may point past the last possible symbol.
    last_BW1 = sorted_BWV.gt(0).sum(-1, keepdim=True) - 1
    return symbols_BWV.gather(-1, place_BW1.minimum(last_BW1)).squeeze(-1)
