"""The most probable symbol, one after the other."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from heed.decode.penalty import length_penalty
from heed.decode.step import Constraint, Hypothesis, S, Step


def greedy_search(
    step: Step[S],
    state: S,
    limits: Sequence[int],
    *,
    start: int,
    end: int,
    alpha: float = 0.0,
    constraint: Constraint | None = None,
    device: torch.device | None = None,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, of at most `limits[b]` symbols with the end symbol."""
    results: list[list[Hypothesis]] = [[] for _ in limits]
    sentences_B = torch.arange(len(limits), device=device)
    ids_BWt = torch.empty(len(limits), 1, 0, dtype=torch.long, device=device)
    newest_BW = torch.full((len(limits), 1), start, device=device)
    total_BW = torch.zeros(len(limits), 1, device=device)
    while len(sentences_B):
        logprobs_BWV, state = step(newest_BW, state)
        logprobs_BWV = constrained(logprobs_BWV, constraint, ids_BWt, sentences_B)
        best_BW, newest_BW = logprobs_BWV.max(-1)
        total_BW = total_BW + best_BW
        ids_BWt = torch.cat((ids_BWt, newest_BW.unsqueeze(-1)), 2)
        t = ids_BWt.size(2)

        ended = newest_BW[:, 0].eq(end).tolist()
        going = []
        for row, sentence in enumerate(sentences_B.tolist()):
            if ended[row] or t >= limits[sentence]:
                ids = ids_BWt[row, 0].tolist()
                log_probability = float(total_BW[row, 0])
                score = log_probability / length_penalty(t, alpha)
                results[sentence].append(
                    Hypothesis(ids[:-1] if ended[row] else ids, log_probability, score, ended[row])
                )
            else:
                going.append(row)
        if len(going) < len(sentences_B):
            rows_B = torch.tensor(going, dtype=torch.long, device=device)
            state = state.select(rows_B, torch.zeros(len(going), 1, dtype=torch.long, device=device))
            sentences_B, ids_BWt = sentences_B[rows_B], ids_BWt[rows_B]
            newest_BW, total_BW = newest_BW[rows_B], total_BW[rows_B]
    return results


def constrained(logprobs_BWV: Tensor, constraint: Constraint | None, ids_BWt: Tensor, sentences_B: Tensor) -> Tensor:
    """Symbols that may not come next get probability zero; the others keep theirs."""
    allowed_BWV = None if constraint is None else constraint(ids_BWt, sentences_B)
    return logprobs_BWV if allowed_BWV is None else logprobs_BWV.masked_fill(~allowed_BWV, -math.inf)
