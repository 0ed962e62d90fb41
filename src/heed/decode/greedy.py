"""The most probable symbol, one after the other."""

import torch

from heed.decode.step import Hypothesis, S, Step, Task, may_leave


def greedy_search(step: Step[S], state: S, task: Task) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence."""
    n_sentences, device = len(task.limits), task.device
    results: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
    sentences_B = torch.arange(n_sentences, device=device)
    ids_BWt = torch.empty(n_sentences, 1, 0, dtype=torch.long, device=device)
    newest_BW = torch.full((n_sentences, 1), task.start, device=device)
    total_BW = torch.zeros(n_sentences, 1, device=device)
    going = [True] * n_sentences
    while any(going):
        logits_BWV, state = step(newest_BW, state)
        total_BW, _, newest_BW = task.best(1, total_BW, logits_BWV, ids_BWt, sentences_B)

        newest, totals = newest_BW[:, 0].tolist(), total_BW[:, 0].tolist()
        for row, sentence in enumerate(sentences_B.tolist()):
            if not going[row]:
                continue
            if newest[row] == task.end:
                results[sentence].append(task.hypothesis(ids_BWt[row, 0].tolist(), totals[row], True))
            elif ids_BWt.size(2) + 1 >= task.limits[sentence]:
                ids = [*ids_BWt[row, 0].tolist(), newest[row]]
                results[sentence].append(task.hypothesis(ids, totals[row], False))
            going[row] = not results[sentence]
        ids_BWt = torch.cat((ids_BWt, newest_BW.unsqueeze(-1)), 2)
        if any(going) and may_leave(going):
            rows_B = torch.tensor(going, device=device).nonzero().squeeze(1)
            state = state.select(rows_B, torch.zeros(len(rows_B), 1, dtype=torch.long, device=device))
            sentences_B, ids_BWt = sentences_B[rows_B], ids_BWt[rows_B]
            newest_BW, total_BW = newest_BW[rows_B], total_BW[rows_B]
            going = [True] * len(rows_B)
    return results
