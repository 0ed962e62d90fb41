"""Who guesses what comes next: texts seen before, or another model. A wrong guess costs time and changes nothing."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Protocol

from torch import Tensor

from heed.decode.beginnings import Beginning, Beginnings
from heed.model.incremental import IncrementalDecoder

# Up to n guesses at how these beginnings, all equally long, go on: longer beginnings, each after what it extends.
Guess = Callable[[Sequence[Beginning], int], list[Beginning]]


class Draft(Protocol):
    """Somebody who guesses."""

    def of(self, src_1S: Tensor) -> Guess:
        """For this sentence."""
        ...


_CONTEXT = 3  # symbols a memory looks back
_CHOICES = 4  # symbols it considers


class PhraseMemory:
    """Guesses what most often came next in sequences seen before."""

    def __init__(self, sequences: Iterable[Sequence[int]]) -> None:
        counts: dict[Beginning, Counter[int]] = {}
        for ids in sequences:
            for end, symbol in enumerate(ids):
                for begin in range(max(0, end - _CONTEXT), end + 1):
                    counts.setdefault(tuple(ids[begin:end]), Counter())[symbol] += 1
        # One more than the total: what was seen once is not certain.
        self._next = {
            context: [(symbol, n / (following.total() + 1)) for symbol, n in following.most_common(_CHOICES)]
            for context, following in counts.items()
        }

    def of(self, src_1S: Tensor) -> Guess:
        return self.guess

    def guess(self, beginnings: Sequence[Beginning], n: int) -> list[Beginning]:
        """The likeliest first, be it longer or another choice."""
        guesses: list[Beginning] = []
        waiting: list[tuple[float, Beginning]] = []

        def consider_after(one: Beginning, likelihood: float) -> None:
            for symbol, share in self._following(one):
                heappush(waiting, (-likelihood * share, (*one, symbol)))

        for one in dict.fromkeys(beginnings):
            consider_after(one, 1.0)
        while waiting and len(guesses) < n:
            unlikelihood, one = heappop(waiting)
            guesses.append(one)
            if len(guesses) < n:
                consider_after(one, -unlikelihood)
        return guesses

    def _following(self, one: Beginning) -> list[tuple[int, float]]:
        context = one[1:][-_CONTEXT:]  # without the start symbol
        while context and context not in self._next:
            context = context[1:]
        return self._next.get(context, [])


class ModelDraft:
    """Guesses what another, smaller model of the same vocabulary would write."""

    def __init__(self, decoder: IncrementalDecoder, never: Sequence[int]) -> None:
        """`never`: symbols that search does not go on with, so there is no use in guessing them."""
        self._decoder, self._never = decoder, list(never)

    def of(self, src_1S: Tensor) -> Guess:
        computed = Beginnings(self._decoder, src_1S)

        def guess(beginnings: Sequence[Beginning], n: int) -> list[Beginning]:
            """A chain after a lone beginning; after several, the likeliest next symbols: search needs all of them."""
            guesses: list[Beginning] = []
            ends = list(dict.fromkeys(beginnings))
            n_each_time = 1 if len(ends) == 1 else n
            while len(guesses) < n:
                computed.compute(ends)
                if not guesses:
                    computed.keep_what_follows(ends)
                logprobs_WV = computed.logits(ends).log_softmax(-1)
                logprobs_WV[:, self._never] = -math.inf
                vocab_size = logprobs_WV.size(1)
                best = logprobs_WV.flatten().topk(n_each_time).indices.tolist()
                ends = [(*ends[place // vocab_size], place % vocab_size) for place in best]
                guesses += ends
            return guesses

        return guess
