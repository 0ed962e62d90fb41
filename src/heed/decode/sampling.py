"""Symbols drawn at random from the model's distribution."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heed.decode.step import Hypothesis, S, Step, Task

# Beyond these, float32 knows only one probability or all alike.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.001, 1000.0


@dataclass(frozen=True)
class Sampling:
    """How to draw: sharper or flatter, from the k most probable only, from the most probable share p only.

    Raises:
        ValueError: a value out of range. The message begins with the field's name.
    """

    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not MIN_TEMPERATURE <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(
                f"temperature must be from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:,.0f}, not {self.temperature}"
            )
        if self.top_k < 0:
            raise ValueError(f"top_k must be at least 1, or 0 for all, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, not {self.seed}")


def sample(
    step: Step[S], state: S, task: Task, sampling: Sampling, n_samples: int = 1, numbers: Sequence[int] | None = None
) -> list[list[Hypothesis]]:
    """`n_samples` independent draws for each sentence, best-scoring first.

    Sentence b draws from a stream of its own, named by `numbers[b]`: its samples do not depend on its
    batch-mates. Log-probabilities are the model's, whatever the temperature.
    """
    n_sentences, device = len(task.limits), task.device
    numbers = range(n_sentences) if numbers is None else numbers
    streams = [np.random.Generator(np.random.PCG64([sampling.seed, number])) for number in numbers]
    results: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    sentences_B = torch.arange(n_sentences, device=device)
    ids_BWt = torch.empty(n_sentences, n_samples, 0, dtype=torch.long, device=device)
    newest_BW = torch.full((n_sentences, n_samples), task.start, device=device)
    total_BW = torch.zeros(n_sentences, n_samples, device=device)
    going_BW = torch.ones(n_sentences, n_samples, dtype=torch.bool, device=device)
    parents_BW = torch.arange(n_samples, device=device).expand(n_sentences, -1)
    state = state.select(sentences_B, torch.zeros_like(parents_BW))
    while going_BW.any():
        logits_BWV, state = step(newest_BW, state)
        logprobs_BWV = task.all(logits_BWV, ids_BWt, sentences_B)
        uniform_BW = np.stack([streams[sentence].random(n_samples) for sentence in sentences_B.tolist()])
        newest_BW = _draw(logprobs_BWV, torch.from_numpy(uniform_BW).to(logprobs_BWV), sampling)
        drawn_BW = logprobs_BWV.gather(-1, newest_BW.unsqueeze(-1)).squeeze(-1)
        total_BW = torch.where(going_BW, total_BW + drawn_BW, total_BW)
        ids_BWt = torch.cat((ids_BWt, newest_BW.unsqueeze(-1)), 2)

        ended_BW = newest_BW.eq(task.end)
        limit_B = torch.tensor([task.limits[sentence] for sentence in sentences_B.tolist()], device=device)
        stops_BW = going_BW & (ended_BW | limit_B.le(ids_BWt.size(2)).unsqueeze(1))
        for row, column in stops_BW.nonzero().tolist():
            ids, ended = ids_BWt[row, column].tolist(), bool(ended_BW[row, column])
            drawn = task.hypothesis(ids[:-1] if ended else ids, float(total_BW[row, column]), ended)
            results[int(sentences_B[row])].append(drawn)
        going_BW = going_BW & ~stops_BW
        rows_B = going_BW.any(1).nonzero().squeeze(1)
        if 0 < len(rows_B) < len(sentences_B):
            sentences_B, ids_BWt, parents_BW = sentences_B[rows_B], ids_BWt[rows_B], parents_BW[rows_B]
            newest_BW, total_BW, going_BW = newest_BW[rows_B], total_BW[rows_B], going_BW[rows_B]
            state = state.select(rows_B, parents_BW)
    return [sorted(several, key=lambda one: -one.score) for several in results]


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
    # Rounding may point past the last possible symbol. Where no probability is a number, any symbol will do.
    last_BW1 = (sorted_BWV.gt(0).sum(-1, keepdim=True) - 1).clamp_min(0)
    return symbols_BWV.gather(-1, place_BW1.minimum(last_BW1)).squeeze(-1)
