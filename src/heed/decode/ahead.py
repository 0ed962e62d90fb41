"""Less sequential generation: guess several symbols ahead, and let one pass of the model say how many are right.

The paper names it as future work. The result is that of greedy search, guess or no guess: a guess is only taken where
the model, having seen everything before it, would have written the same symbol. What is won is passes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from heed.decode.candidates import best_continuations
from heed.decode.step import Hypothesis, Task
from heed.model.incremental import IncrementalDecoder, to_add

_CONTEXT = 3  # symbols a guess looks back


class Draft(Protocol):
    """Somebody who guesses."""

    def guess(self, ids: Sequence[int], n: int) -> list[int]:
        """Up to n symbols to come after these."""
        ...


class PhraseMemory:
    """Guesses what most often came next in sequences seen before."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        counts: dict[tuple[int, ...], Counter[int]] = {}
        for ids in sequences:
            for end, symbol in enumerate(ids):
                for begin in range(max(0, end - _CONTEXT), end + 1):
                    counts.setdefault(tuple(ids[begin:end]), Counter())[symbol] += 1
        self._next = {context: following.most_common(1)[0][0] for context, following in counts.items()}

    def guess(self, ids: Sequence[int], n: int) -> list[int]:
        known = list(ids[-_CONTEXT:])
        guessed: list[int] = []
        while len(guessed) < n and self._next:
            context = tuple(known[-_CONTEXT:])
            while context not in self._next:  # the empty one is known
                context = context[1:]
            guessed.append(self._next[context])
            known.append(guessed[-1])
        return guessed


@torch.inference_mode()
def search_ahead(decoder: IncrementalDecoder, src_1S: Tensor, task: Task, draft: Draft, n_ahead: int) -> Hypothesis:
    """What greedy search finds for one sentence, in fewer passes."""
    if len(task.limits) != 1 or task.constraint is not None:
        raise ValueError("one sentence at a time, without constraints")
    past, limit = decoder.start(src_1S), task.limits[0]
    ids: list[int] = []
    total, newest = 0.0, task.start
    while True:
        guesses = draft.guess(ids, min(n_ahead, limit - len(ids) - 1))
        nodes_1N = torch.tensor([[newest, *guesses]], device=src_1S.device)
        n_nodes, n_seen = nodes_1N.size(1), past.n_slots
        position_1N = torch.arange(n_seen, n_seen + n_nodes, device=src_1S.device).unsqueeze(0)
        before_NM = torch.ones(n_nodes, n_seen + n_nodes, dtype=torch.bool, device=src_1S.device).tril(n_seen)
        sees_1NM = to_add(before_NM, past.sources[0].k_BSX).unsqueeze(0) if n_nodes > 1 else None
        logits_N1V = decoder.extend(past, nodes_1N, position_1N, sees_1NM).transpose(0, 1)
        logprobs_N1, _, symbols_N1 = best_continuations(logits_N1V.new_zeros(n_nodes, 1), logits_N1V, 1, task.never)
        for k, (logprob, symbol) in enumerate(zip(logprobs_N1[:, 0].tolist(), symbols_N1[:, 0].tolist(), strict=True)):
            total += logprob
            if symbol == task.end:
                return task.hypothesis(ids, total, True)
            ids.append(symbol)
            if len(ids) >= limit:
                return task.hypothesis(ids, total, False)
            if k < len(guesses) and symbol != guesses[k]:
                break
        # What was made of wrong guesses is written over.
        past.n_slots, newest = len(ids), ids[-1]
