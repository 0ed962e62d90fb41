"""Batch sentences of similar length together, up to a number of tokens (section 5.1).

The pairs of batch i of epoch e are a pure function of (seed, epoch, index): there is no state to save and no order to
replay. The batch of an update never depends on how many processes or micro-batches share the work.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]
Lengths = NDArray[np.integer[Any]]

_PAIRS_PER_BLOCK = 1 << 20  # processed together, to bound memory


def cut_by_budget(sorted_lengths: Lengths, budget: int) -> NDArray[np.int64]:
    """Cut lengths in ascending order into the fewest runs with `count x longest <= budget`; return their bounds.

    Run i is `bounds[i] : bounds[i + 1]`. A single sequence over the budget is a run of its own.
    """
    n = len(sorted_lengths)
    # Sequences of equal length are adjacent: group k is `ends[k - 1] : ends[k]`.
    ends = np.flatnonzero(np.append(sorted_lengths[1:] != sorted_lengths[:-1], n > 0)[:n]) + 1
    bounds = [0]
    group_begin = 0
    for length, end in zip(sorted_lengths[ends - 1].tolist(), ends.tolist(), strict=True):
        count = budget // max(1, length)
        # The run extends into this group as far as this length permits, and always up to the group's begin.
        while bounds[-1] + count < end:
            cut = max(bounds[-1] + count, group_begin)
            bounds.append(cut if cut > bounds[-1] else cut + 1)
        group_begin = end
    if bounds[-1] < n:
        bounds.append(n)
    return np.array(bounds, dtype=np.int64)


class BatchPlan:
    """Plans the batches of every epoch of one corpus.

    Lengths include the end token; pairs with a side of more than `max_length` tokens besides it are left out.
    """

    def __init__(
        self,
        source_lengths: Lengths,
        target_lengths: Lengths,
        batch_tokens: int,
        seed: int,
        max_length: int,
    ) -> None:
        self.seed = seed
        self._keys = _Keys(max_length + 1)
        # Keep only two bytes per pair in memory: a corpus may have 36 million pairs.
        self._key = self._keys.of(source_lengths, target_lengths)
        self.n_long = int(np.count_nonzero(self._key == self._keys.long))
        # Shuffling changes which pairs have a length, never how many, so all epochs share these bounds.
        in_order = np.sort(self._key, kind="stable")[: len(self._key) - self.n_long]
        self._bounds = cut_by_budget(self._keys.longer[in_order], batch_tokens)
        self._epoch = -1
        self._order: Indices = np.empty(0, dtype=np.int32)
        self._batches: Indices = self._order

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return len(self._bounds) - 1

    def batch(self, epoch: int, index: int) -> Indices:
        """Return the pairs of one batch, shortest first."""
        if epoch != self._epoch:
            self._order = np.empty(0, dtype=np.int32)  # free the memory before the next one is allocated
            self._order, self._batches = self._shuffle(epoch)
            self._epoch = epoch
        i = self._batches[index]
        return self._order[self._bounds[i] : self._bounds[i + 1]]

    def micro_batches(self, batch: Indices, tokens: int) -> Iterator[Indices]:
        """Yield the pairs of a batch in micro-batches of at most `tokens` tokens."""
        bounds = cut_by_budget(self._keys.longer[self._key[batch]], tokens)
        for begin, end in zip(bounds, bounds[1:], strict=False):
            yield batch[begin:end]

    def long_pairs(self, k: int) -> list[int]:
        """Return the first k pairs that are left out."""
        found: list[int] = []
        for begin in range(0, len(self._key) if self.n_long else 0, _PAIRS_PER_BLOCK):
            block = self._key[begin : begin + _PAIRS_PER_BLOCK]
            found += (np.flatnonzero(block == self._keys.long) + begin).tolist()
            if len(found) >= k:
                break
        return found[:k]

    def _shuffle(self, epoch: int) -> tuple[Indices, Indices]:
        random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
        n = len(self._key)
        shuffled: Indices = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        random.shuffle(shuffled)
        # A stable sort of two-byte keys takes linear time, and keeps the shuffled order of equal keys.
        order = np.argsort(self._key[shuffled], kind="stable")[: n - self.n_long]
        return shuffled[order], random.permutation(len(self))


class _Keys:
    """Assigns sort keys to pairs: first by the longer side, which sets a batch's size, then by the shorter side.

    A pair with a side over the limit has the last key, `long`. If the limit is high, shorter sides are rounded so that
    all keys fit into two bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        lengths = np.arange(limit + 1)
        self._coarse = 0
        while (numbers := int((lengths >> self._coarse).sum()) + limit + 1) > 0xFFFF and limit >> self._coarse:
            self._coarse += 1
        groups = (lengths >> self._coarse) + 1
        self.long = numbers
        self._kind: type[np.unsignedinteger[Any]] = np.uint16 if numbers <= 0xFFFF else np.uint32
        self._first = np.cumsum(groups) - groups  # the first key of each longer side
        self.longer = np.repeat(lengths, groups).astype(np.int32)

    def of(self, source_lengths: Lengths, target_lengths: Lengths) -> NDArray[np.unsignedinteger[Any]]:
        keys: NDArray[np.unsignedinteger[Any]] = np.empty(len(source_lengths), dtype=self._kind)
        for begin in range(0, len(keys), _PAIRS_PER_BLOCK):
            block = slice(begin, begin + _PAIRS_PER_BLOCK)
            longer = np.maximum(source_lengths[block], target_lengths[block])
            shorter = np.minimum(source_lengths[block], target_lengths[block])
            fits = self._first[np.minimum(longer, self._limit)] + (shorter >> self._coarse)
            keys[block] = np.where(longer <= self._limit, fits, self.long)
        return keys
