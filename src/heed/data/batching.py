"""Section 5.1: sentences of similar length together, up to a number of tokens.

Which sentences make up batch i of epoch e is a pure function of (seed, epoch, index): no state to save, no
order to replay. What one update sees never depends on how many processes or micro-batches share the work.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]
Lengths = NDArray[np.integer[Any]]

_AT_ONCE = 1 << 20  # pairs whose lengths are looked at together


def cut_by_budget(sorted_lengths: Lengths, budget: int) -> NDArray[np.int64]:
    """Bounds of the fewest runs with `count x longest <= budget`, for lengths in rising order.

    Run i is `bounds[i] : bounds[i + 1]`. A single sequence over the budget has a run of its own.
    """
    n = len(sorted_lengths)
    # Sequences of one length stand together: group k is `ends[k - 1] : ends[k]`.
    ends = np.flatnonzero(np.append(sorted_lengths[1:] != sorted_lengths[:-1], n > 0)[:n]) + 1
    bounds = [0]
    group_begin = 0
    for length, end in zip(sorted_lengths[ends - 1].tolist(), ends.tolist(), strict=True):
        count = budget // max(1, length)
        # The run goes on into this group as far as it may at this length, and to the group's begin in any case.
        while bounds[-1] + count < end:
            cut = max(bounds[-1] + count, group_begin)
            bounds.append(cut if cut > bounds[-1] else cut + 1)
        group_begin = end
    if bounds[-1] < n:
        bounds.append(n)
    return np.array(bounds, dtype=np.int64)


class BatchPlan:
    """All the batches of every epoch of one corpus.

    Lengths count the end token; pairs with a side of more than `max_length` pieces beside it are left out.
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
        # Two bytes a pair, and nothing else of the corpus: whoever trains on 36 million pairs is thankful.
        self._key = self._keys.of(source_lengths, target_lengths)
        self.n_long = int(np.count_nonzero(self._key == self._keys.long))
        # Shuffling changes which pairs stand at a length, never how many: the cuts are those of every epoch.
        in_order = np.sort(self._key, kind="stable")[: len(self._key) - self.n_long]
        self._bounds = cut_by_budget(self._keys.longer[in_order], batch_tokens)
        self._epoch = -1
        self._order: Indices = np.empty(0, dtype=np.int32)
        self._batches: Indices = self._order

    def __len__(self) -> int:
        """Batches in an epoch."""
        return len(self._bounds) - 1

    def batch(self, epoch: int, index: int) -> Indices:
        """The pairs of one batch, shortest first."""
        if epoch != self._epoch:
            self._order = np.empty(0, dtype=np.int32)  # room for the new one
            self._order, self._batches = self._shuffle(epoch)
            self._epoch = epoch
        i = self._batches[index]
        return self._order[self._bounds[i] : self._bounds[i + 1]]

    def micro_batches(self, batch: Indices, tokens: int) -> Iterator[Indices]:
        """The same pairs in portions of at most so many tokens."""
        bounds = cut_by_budget(self._keys.longer[self._key[batch]], tokens)
        for begin, end in zip(bounds, bounds[1:], strict=False):
            yield batch[begin:end]

    def long_pairs(self, k: int) -> list[int]:
        """The first k pairs that are left out."""
        found: list[int] = []
        for begin in range(0, len(self._key) if self.n_long else 0, _AT_ONCE):
            found += (np.flatnonzero(self._key[begin : begin + _AT_ONCE] == self._keys.long) + begin).tolist()
            if len(found) >= k:
                break
        return found[:k]

    def _shuffle(self, epoch: int) -> tuple[Indices, Indices]:
        random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
        n = len(self._key)
        shuffled: Indices = np.arange(n, dtype=np.int32 if n < 1 << 31 else np.int64)
        random.shuffle(shuffled)
        # A stable sort of two-byte keys takes linear time; the shuffle breaks ties.
        order = np.argsort(self._key[shuffled], kind="stable")[: n - self.n_long]
        return shuffled[order], random.permutation(len(self))


class _Keys:
    """Numbers to sort pairs by: the longer side rules a batch's size, similar other sides spare padding.

    A pair with a side over the limit has the last number, `long`. To fit all numbers into two bytes, shorter sides
    count coarsely where limits are high.
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
        self._first = np.cumsum(groups) - groups  # the first number of each longer side
        self.longer = np.repeat(lengths, groups).astype(np.int32)

    def of(self, source_lengths: Lengths, target_lengths: Lengths) -> NDArray[np.unsignedinteger[Any]]:
        keys: NDArray[np.unsignedinteger[Any]] = np.empty(len(source_lengths), dtype=self._kind)
        for begin in range(0, len(keys), _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            longer = np.maximum(source_lengths[part], target_lengths[part])
            shorter = np.minimum(source_lengths[part], target_lengths[part])
            fits = self._first[np.minimum(longer, self._limit)] + (shorter >> self._coarse)
            keys[part] = np.where(longer <= self._limit, fits, self.long)
        return keys
