"""Section 6.1: beam search with length penalty, stopping early."""

import math

import numpy as np

from heed.decode.banks import best_of_banks
from heed.decode.penalty import length_penalty
from heed.decode.search import (
    Candidate,
    Constrained,
    Floats,
    Hypothesis,
    Ints,
    S,
    Step,
    Task,
    difference,
    may_compact,
)


def beam_search(step: Step[S], state: S, task: Task, beam: int, n_best: int = 1) -> list[list[Hypothesis]]:
    """Return the `n_best` best-scoring hypotheses of each sentence, best first.

    A hypothesis finishes when its end token is among the `beam` best continuations. A sentence is done when `beam`
    hypotheses have finished, when no live one can still win, or at its length limit. Once enough sentences are done,
    they leave the batch. `state` has one hypothesis per sentence.

    With a requirement, the beam is divided by how much of it is missing (`banks.py`), and candidates rank accordingly.
    Some hypotheses then finish only because they meet it early. So `beam` of them are not enough as long as a live
    hypothesis scores better.

    Raises:
        ValueError: `n_best` is not from 1 to `beam`, or alpha is negative.
    """
    if not 1 <= n_best <= beam:
        raise ValueError(f"n_best = {n_best} must be at least 1 and at most beam = {beam}")
    if task.alpha < 0:
        raise ValueError(f"alpha = {task.alpha} must not be negative")
    n_sentences = len(task.limits)
    finished: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    sentences_B = np.arange(n_sentences)
    ids_BWt = np.empty((n_sentences, 1, 0), dtype=np.int64)
    logprobs_BWt = np.empty((n_sentences, 1, 0))  # of each token
    newest_BW = np.full((n_sentences, 1), task.start)
    live_BW: Floats = np.zeros((n_sentences, 1), dtype=np.float32)  # log-probability of each hypothesis
    constrained = Constrained(task.constraint, n_sentences)
    active = [True] * n_sentences

    while any(active):
        task.check_time()
        scores, state = step(newest_BW, state)
        # Twice as many candidates as the beam: even if `beam` of them end, `beam` continue.
        if constrained.has_requirement:
            found = best_of_banks(scores, 2 * beam, live_BW, task.never, constrained)
        else:
            found = scores.best(2 * beam, live_BW, task.never, constrained.allowed())
        del scores  # frees their memory for those of the next step
        totals_BN, parents_BN, tokens_BN = found
        t = ids_BWt.shape[2] + 1
        ends_BN = tokens_BN == task.end
        rank_N = np.arange(ends_BN.shape[1])

        # Candidates that end finish if they are among the best.
        ending_BN = ends_BN & (rank_N < beam) & np.isfinite(totals_BN)
        for row, column in np.argwhere(ending_BN).tolist() if ending_BN.any() else ():
            if active[row]:
                parent, total = parents_BN[row, column], totals_BN[row, column]
                logprobs = np.append(logprobs_BWt[row, parent], total - live_BW[row, parent])
                ended = task.hypothesis(ids_BWt[row, parent].tolist(), total, logprobs.tolist(), finished=True)
                finished[sentences_B[row]].append(ended)

        # The best candidates that do not end continue.
        order_BW = (rank_N + 2 * beam * ends_BN).argsort(-1)[:, :beam]
        if task.traces is not None:
            for row, sentence in enumerate(sentences_B.tolist()):
                if active[row]:
                    trace = _candidates(task, beam, t, totals_BN[row], parents_BN[row], tokens_BN[row], order_BW[row])
                    task.traces[sentence].steps.append(trace)
        before_BW = live_BW
        rows_B1 = np.arange(len(active))[:, None]
        live_BW, parents_BW, newest_BW = (array[rows_B1, order_BW] for array in (totals_BN, parents_BN, tokens_BN))
        live_BW[newest_BW == task.end] = -math.inf  # there are fewer tokens than candidates
        latest_BW = difference(live_BW, before_BW[rows_B1, parents_BW])
        logprobs_BWt = np.concatenate((logprobs_BWt[rows_B1, parents_BW], latest_BW[:, :, None]), 2)
        ids_BWt = np.concatenate((ids_BWt[rows_B1, parents_BW], newest_BW[:, :, None]), 2)

        best_live = live_BW.max(1).tolist()
        for row, sentence in enumerate(sentences_B.tolist()):
            if not active[row]:
                continue
            done, limit = finished[sentence], task.limits[sentence]
            if t >= limit:
                _fill_up(task, done, ids_BWt[row], logprobs_BWt[row], live_BW[row], n_best)
            could_win = _can_win(best_live[row] / length_penalty(limit, task.alpha), done, n_best)
            enough = len(done) >= beam and not (
                constrained.has_requirement and _can_win(best_live[row] / length_penalty(t, task.alpha), done, n_best)
            )
            active[row] = t < limit and could_win and not enough
        rows_B = np.arange(len(active))
        if may_compact(active):
            rows_B = rows_B[active]
            sentences_B, ids_BWt, logprobs_BWt = sentences_B[rows_B], ids_BWt[rows_B], logprobs_BWt[rows_B]
            parents_BW, newest_BW, live_BW = parents_BW[rows_B], newest_BW[rows_B], live_BW[rows_B]
            active = [True] * len(rows_B)
        if active:
            state = state.select(rows_B, parents_BW)
            constrained.advance(rows_B, parents_BW, newest_BW, live_BW)

    return [sorted(done, key=lambda one: -one.score)[:n_best] for done in finished]


def _can_win(best_possible: float, done: list[Hypothesis], n_best: int) -> bool:
    """Return whether a live hypothesis could still be among the n best.

    Its log-probability can only fall and its length penalty only rise. So its best possible score is the one at the
    length limit with every further token certain.
    """
    if best_possible == -math.inf:
        return False
    scores = sorted((one.score for one in done), reverse=True)
    return len(scores) < n_best or best_possible > scores[n_best - 1]


def _fill_up(
    task: Task, done: list[Hypothesis], ids_Wt: Ints, logprobs_Wt: Floats, live_W: Floats, n_best: int
) -> None:
    """Fill up to `n_best` with unfinished hypotheses, at the length limit."""
    for ids, logprobs, total in zip(ids_Wt.tolist(), logprobs_Wt.tolist(), live_W.tolist(), strict=True):
        if len(done) < n_best and total > -math.inf:
            done.append(task.hypothesis(ids, total, logprobs, finished=False))


def _candidates(
    task: Task, beam: int, length: int, totals_N: Floats, parents_N: Ints, tokens_N: Ints, kept_W: Ints
) -> list[Candidate]:
    """Return the candidates of one step for one sentence, for the trace."""
    kept, penalty = set(kept_W.tolist()), length_penalty(length, task.alpha)
    found = []
    for rank, (total, parent, token) in enumerate(
        zip(totals_N.tolist(), parents_N.tolist(), tokens_N.tolist(), strict=True)
    ):
        if total == -math.inf:
            continue
        if token == task.end:
            fate = "finished" if rank < beam else f"ended, but not among the best {beam}"
        else:
            fate = "kept" if rank in kept else f"pruned: not among the best {beam} that continue"
        found.append(Candidate(parent, token, total, total / penalty, fate))
    return found
