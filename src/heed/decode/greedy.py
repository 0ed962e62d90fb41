"""Greedy search: take the most probable token at each step."""

import numpy as np

from heed.decode.search import Constrained, Floats, Hypothesis, S, Step, Task, difference, may_compact


def greedy_search(step: Step[S], state: S, task: Task) -> list[list[Hypothesis]]:
    """Return the greedy hypothesis of each sentence."""
    n_sentences = len(task.limits)
    results: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    sentences_B = np.arange(n_sentences)
    ids_Bt = np.empty((n_sentences, 0), dtype=np.int64)
    logprobs_Bt = np.empty((n_sentences, 0))
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
        logprobs_Bt = np.concatenate((logprobs_Bt, difference(total_BW, before_BW)), 1)
        ids_Bt = np.concatenate((ids_Bt, newest_BW), 1)

        for row, sentence in enumerate(sentences_B.tolist()):
            if not active[row]:
                continue
            finished = int(newest_BW[row, 0]) == task.end
            if finished or ids_Bt.shape[1] >= task.limits[sentence]:
                ids, total = ids_Bt[row].tolist(), total_BW[row, 0]
                ids = ids[:-1] if finished else ids
                results[sentence].append(task.hypothesis(ids, total, logprobs_Bt[row], finished))
                active[row] = False
        rows_B = np.arange(len(active))
        if any(active) and may_compact(active):
            rows_B = rows_B[active]
            parents_BW = np.zeros((len(rows_B), 1), dtype=np.int64)
            state = state.select(rows_B, parents_BW)
            sentences_B, ids_Bt, logprobs_Bt = sentences_B[rows_B], ids_Bt[rows_B], logprobs_Bt[rows_B]
            newest_BW, total_BW = newest_BW[rows_B], total_BW[rows_B]
            active = [True] * len(rows_B)
        if any(active):
            constrained.advance(rows_B, parents_BW, newest_BW, total_BW)
    return results
