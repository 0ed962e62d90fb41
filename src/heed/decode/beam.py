"""Section 6.1: beam search with length penalty, stopping early."""

import math

import torch
from torch import Tensor

from heed.decode.penalty import length_penalty
from heed.decode.step import Hypothesis, S, Step, Task, may_leave


def beam_search(step: Step[S], state: S, task: Task, beam: int, n_best: int = 1) -> list[list[Hypothesis]]:
    """The `n_best` best-scoring hypotheses of each sentence, best first.

    A hypothesis finishes when its end symbol is among the `beam` best continuations. A sentence is done when
    `beam` hypotheses have finished, or when no live one can win any more, or at its length limit; when enough are
    done they leave the batch. `state` is that of one hypothesis per sentence.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(f"n_best = {n_best} must be at least 1 and at most beam = {beam}")
    if task.alpha < 0:
        raise ValueError(f"alpha = {task.alpha} must not be negative")
    n_sentences, device = len(task.limits), task.device
    finished: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    sentences_B = torch.arange(n_sentences, device=device)
    ids_BWt = torch.empty(n_sentences, 1, 0, dtype=torch.long, device=device)
    newest_BW = torch.full((n_sentences, 1), task.start, device=device)
    live_BW = torch.zeros(n_sentences, 1, device=device)  # log-probabilities
    rank = torch.arange(2 * beam, device=device)
    going = [True] * n_sentences

    while any(going):
        logits_BWV, state = step(newest_BW, state)
        # Twice as many candidates as beams: even if `beam` of them end, `beam` go on.
        totals_BN, parents_BN, symbols_BN = task.best(2 * beam, live_BW, logits_BWV, ids_BWt, sentences_B)
        t = ids_BWt.size(2) + 1
        ends_BN = symbols_BN.eq(task.end)

        # Candidates that end: finished, if among the best.
        ending_BN = ends_BN & (rank[: ends_BN.size(1)] < beam) & totals_BN.isfinite()
        for row, column in ending_BN.nonzero().tolist():
            if not going[row]:
                continue
            ids = ids_BWt[row, parents_BN[row, column]].tolist()
            ended = task.hypothesis(ids, float(totals_BN[row, column]), True)
            finished[int(sentences_B[row])].append(ended)

        # Candidates that go on: the best that do not end.
        order_BW = (rank[: ends_BN.size(1)] + 2 * beam * ends_BN).argsort(-1)[:, :beam]
        live_BW, parents_BW = totals_BN.gather(1, order_BW), parents_BN.gather(1, order_BW)
        newest_BW = symbols_BN.gather(1, order_BW)
        live_BW = live_BW.masked_fill(newest_BW.eq(task.end), -math.inf)  # fewer symbols than candidates
        ids_BWt = ids_BWt.gather(1, parents_BW.unsqueeze(-1).expand(-1, -1, t - 1))
        ids_BWt = torch.cat((ids_BWt, newest_BW.unsqueeze(-1)), 2)

        best_live = live_BW[:, 0].tolist()
        for row, sentence in enumerate(sentences_B.tolist()):
            if not going[row]:
                continue
            done, limit = finished[sentence], task.limits[sentence]
            if t >= limit:
                _give_up(task, done, ids_BWt[row], live_BW[row], n_best)
            could_win = _can_win(best_live[row] / length_penalty(limit, task.alpha), done, n_best)
            going[row] = t < limit and len(done) < beam and could_win
        rows_B = torch.arange(len(going), device=device)
        if may_leave(going):
            rows_B = rows_B[torch.tensor(going, device=device)]
            sentences_B, ids_BWt, parents_BW = sentences_B[rows_B], ids_BWt[rows_B], parents_BW[rows_B]
            newest_BW, live_BW = newest_BW[rows_B], live_BW[rows_B]
            going = [True] * len(rows_B)
        if going:
            state = state.select(rows_B, parents_BW)

    return [sorted(done, key=lambda one: -one.score)[:n_best] for done in finished]


def _can_win(best_possible: float, done: list[Hypothesis], n_best: int) -> bool:
    """Could a live hypothesis still be among the n best?

    Its log-probability can only fall and its length penalty only rise, so what it would score at the length
    limit, with every further symbol certain, is the most it can reach.
    """
    if best_possible == -math.inf:
        return False
    scores = sorted((one.score for one in done), reverse=True)
    return len(scores) < n_best or best_possible > scores[n_best - 1]


def _give_up(task: Task, done: list[Hypothesis], ids_Wt: Tensor, live_W: Tensor, n_best: int) -> None:
    """At the length limit, unfinished hypotheses fill the places that no finished one took."""
    for ids, log_probability in zip(ids_Wt.tolist(), live_W.tolist(), strict=True):
        if len(done) < n_best and log_probability > -math.inf:
            done.append(task.hypothesis(ids, log_probability, False))
