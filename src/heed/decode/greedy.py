"""Greedy search: take the most probable token at each step."""

import numpy as np

from heed.decode.search import Constrained, Floats, Hypothesis, S, Step, Task, difference, may_compact


def greedy_search(step: Step[S], state: S, task: Task) -> list[list[Hypothesis]]:
    """Return the greedy hypothesis of each sentence."""
    n_sentences = len(task.limits)
    results: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    ids: list[list[int]] = [[] for _ in range(n_sentences)]
    logprobs: list[list[float]] = [[] for _ in range(n_sentences)]  # of each token
    sentences = list(range(n_sentences))  # of the rows of the batch
    newest_BW = np.full((n_sentences, 1), task.start)
    total_BW: Floats = np.zeros((n_sentences, 1), dtype=np.float32)
    constrained = Constrained(task.constraint, n_sentences)
    active = [True] * n_sentences
    while any(active):
        task.check_time()
        scores, state = step(newest_BW, state)
        before_BW = total_BW
        total_BW, parents_BW, newest_BW = scores.best(1, total_BW, task.never, constrained.allowed())
        del scores  # frees their memory for those of the next step

        latest = difference(total_BW, before_BW)[:, 0].tolist()
        for row, (sentence, token) in enumerate(zip(sentences, newest_BW[:, 0].tolist(), strict=True)):
            if not active[row]:
                continue
            logprobs[sentence].append(latest[row])
            finished = token == task.end
            if not finished:
                ids[sentence].append(token)
            if finished or len(ids[sentence]) >= task.limits[sentence]:
                found = task.hypothesis(ids[sentence], total_BW[row, 0], logprobs[sentence], finished)
                results[sentence].append(found)
                active[row] = False
        rows_B = np.arange(len(active))
        if any(active) and may_compact(active):
            rows_B = rows_B[active]
            parents_BW = np.zeros((len(rows_B), 1), dtype=np.int64)
            state = state.select(rows_B, parents_BW)
            sentences = [sentences[row] for row in rows_B.tolist()]
            newest_BW, total_BW = newest_BW[rows_B], total_BW[rows_B]
            active = [True] * len(rows_B)
        if any(active):
            constrained.advance(rows_B, parents_BW, newest_BW, total_BW)
    return results
