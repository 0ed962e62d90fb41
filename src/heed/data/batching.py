"""Section 5.1: sentences of similar length together, up to a number of tokens.

Which sentences make up batch i of epoch e is a pure function of (seed, epoch, index): no state to save, no
order to replay. What one update sees never depends on how many processes or micro-batches share the work.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def cut_by_budget(sorted_lengths: NDArray[np.int64], budget: int) -> Indices:
    """Bounds of the fewest runs with `count x longest <= budget`, for lengths in rising order.

    Run i is `bounds[i] : bounds[i + 1]`. A single sequence over the budget has a run of its own.
    """
    bounds = [0]
    while bounds[-1] < len(sorted_lengths):
        begin = bounds[-1]
        window = sorted_lengths[begin : begin + max(1, budget // max(1, int(sorted_lengths[begin])))]
        padded = window * np.arange(1, len(window) + 1)
        bounds.append(begin + max(1, int(np.searchsorted(padded, budget, side="right"))))
    return np.array(bounds, dtype=np.int64)


class BatchPlan:
    """All the batches of every epoch of one corpus."""

    def __init__(
        self,
        source_lengths: NDArray[np.int64],
        target_lengths: NDArray[np.int64],
        batch_tokens: int,
        seed: int,
    ) -> None:
        self.seed = seed
        self._source, self._target = source_lengths, target_lengths
        self._longer = np.maximum(source_lengths, target_lengths)
        # Shuffling changes which pairs stand at a length, never how many: the cuts are those of every epoch.
        self._bounds = cut_by_budget(np.sort(self._longer), batch_tokens)
        self._epoch = -1
        self._order: Indices = np.empty(0, dtype=np.int64)
        self._batches: Indices = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._bounds) - 1

    def batch(self, epoch: int, index: int) -> Indices:
        """The pairs of one batch, shortest first."""
        if epoch != self._epoch:
            self._order, self._batches = self._shuffle(epoch)
            self._epoch = epoch
        i = self._batches[index]
        return self._order[self._bounds[i] : self._bounds[i + 1]]

    def micro_batches(self, batch: Indices, tokens: int) -> Iterator[Indices]:
        """The same pairs in portions of at most so many tokens."""
        bounds = cut_by_budget(self._longer[batch], tokens)
        for begin, end in zip(bounds, bounds[1:], strict=False):
            yield batch[begin:end]

    def _shuffle(self, epoch: int) -> tuple[Indices, Indices]:
        random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
        shuffled = random.permutation(len(self._longer))
        # The longer side rules a batch's size; similar other sides spare padding; the shuffle breaks ties.
        shorter = np.minimum(self._source, self._target)[shuffled]
        order = shuffled[np.lexsort((shorter, self._longer[shuffled]))]
        return order, random.permutation(len(self))
