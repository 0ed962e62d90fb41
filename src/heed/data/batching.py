"""Batch sentences of similar length together, up to a number of tokens (section 5.1).

The pairs of batch i of epoch e are a pure function of (seed, epoch, index): there is no state to save and no order to
replay. The batch of an update never depends on how many processes or micro-batches share the work.

A mixture of corpora with weights is one list of pairs, part by part. An epoch has each pair of a part as often as the
whole number in the part's weight says; for the fraction that is left, it has that share of the part's pairs. The pairs
take turns: epochs move through the part, in an order drawn once, so that all pairs come equally often.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
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
    """Plans the batches of every epoch of a corpus, or of a mixture of corpora.

    Lengths include the end token; pairs with a side of more than `max_length` tokens besides it are left out.
    `mixture` has the number of pairs and the weight of each part; by default, all pairs are one part of weight 1.
    """

    def __init__(
        self,
        source_lengths: Lengths,
        target_lengths: Lengths,
        batch_tokens: int,
        seed: int,
        max_length: int,
        mixture: Sequence[tuple[int, float]] = (),
    ) -> None:
        self.seed = seed
        self._keys = _Keys(max_length + 1)
        # Keep only two bytes per pair in memory: a corpus may have 36 million pairs.
        self._key = self._keys.of(source_lengths, target_lengths)
        self.n_long = int(np.count_nonzero(self._key == self._keys.long))
        self._batch_tokens = batch_tokens
        self._parts = _parts(mixture or [(len(self._key), 1.0)])
        assert self._parts[-1].end == len(self._key)
        self._ends = [0]  # the batches before each epoch, as far as known
        self._epoch = -1
        self._order: Indices = np.empty(0, dtype=np.int32)
        self._bounds = self._batches = self._order

    def __len__(self) -> int:
        """Return the number of batches in the first epoch; others may differ a little if a weight has a fraction."""
        return len(self._bounds_of(0)) - 1

    def locate(self, step: int) -> tuple[int, int]:
        """Return the epoch of a step and the index of its batch; the first step is 0."""
        if not any(part.share for part in self._parts):
            return divmod(step, len(self))
        while self._ends[-1] <= step:
            self._ends.append(self._ends[-1] + len(self._bounds_of(len(self._ends) - 1)) - 1)
        epoch = bisect_right(self._ends, step) - 1
        return epoch, step - self._ends[epoch]

    def batch(self, epoch: int, index: int) -> Indices:
        """Return the pairs of one batch, shortest first."""
        if epoch != self._epoch:
            self._order = np.empty(0, dtype=np.int32)  # free the memory before the next one is allocated
            self._bounds = self._bounds_of(epoch)
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
        copies = [np.arange(part.begin, part.end, dtype=self._kind) for part in self._parts for _ in range(part.copies)]
        shuffled: Indices = np.concatenate([*copies, *self._shares(epoch)])
        del copies
        random.shuffle(shuffled)
        # A stable sort of two-byte keys takes linear time, and keeps the shuffled order of equal keys.
        order = np.argsort(self._key[shuffled], kind="stable")[: self._bounds[-1]]
        return shuffled[order], random.permutation(len(self._bounds) - 1)

    def _bounds_of(self, epoch: int) -> NDArray[np.int64]:
        """Return the bounds of an epoch's batches among its pairs in order of length."""
        # Shuffling changes which pairs have a length, never how many, so epochs without shares have the same bounds.
        if not any(part.share for part in self._parts):
            return self._bounds_without_shares
        counts = self._counts_of_copies + sum(map(self._counts, self._shares(epoch)))
        return self._cut(counts)

    @cached_property
    def _bounds_without_shares(self) -> NDArray[np.int64]:
        return self._cut(self._counts_of_copies)

    @cached_property
    def _counts_of_copies(self) -> NDArray[np.int64]:
        parts = [part for part in self._parts if part.copies]
        zeros = np.zeros(self._keys.long, dtype=np.int64)
        return sum((part.copies * self._counts(slice(part.begin, part.end)) for part in parts), zeros)

    def _counts(self, pairs: Indices | slice) -> NDArray[np.int64]:
        """Return how many of these pairs have each key, without those that are too long."""
        keys = self._key[pairs]
        counts = np.zeros(self._keys.long + 1, dtype=np.int64)
        for begin in range(0, len(keys), _PAIRS_PER_BLOCK):
            counts += np.bincount(keys[begin : begin + _PAIRS_PER_BLOCK], minlength=len(counts))
        return counts[:-1]

    def _cut(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return cut_by_budget(np.repeat(self._keys.longer, counts), self._batch_tokens)

    def _shares(self, epoch: int) -> list[Indices]:
        """Return the pairs of each part that an epoch has besides whole copies of the part."""
        found = []
        for part, order in zip(self._parts, self._orders, strict=True):
            begin, end = (int(part.share * len(order) * turn) for turn in (epoch, epoch + 1))
            found.append(order[np.arange(begin, end) % max(1, len(order))])
        return found

    @cached_property
    def _orders(self) -> list[Indices]:
        """For each part whose weight has a fraction: its pairs, without those that are too long, in random order."""
        orders = []
        for number, part in enumerate(self._parts):
            fits = self._key[part.begin : part.end] != self._keys.long
            order = (np.flatnonzero(fits if part.share else []) + part.begin).astype(self._kind)
            np.random.Generator(np.random.PCG64([self.seed, number, 1])).shuffle(order)
            orders.append(order)
        return orders

    @property
    def _kind(self) -> type[np.signedinteger[Any]]:
        return np.int32 if len(self._key) < 1 << 31 else np.int64


@dataclass(frozen=True)
class _Part:
    """The pairs `begin : end`, of which an epoch has some whole copies, and a share of one more."""

    begin: int
    end: int
    copies: int
    share: Fraction


def _parts(mixture: Sequence[tuple[int, float]]) -> list[_Part]:
    parts, end = list[_Part](), 0
    for n_pairs, weight in mixture:
        begin, end = end, end + n_pairs
        copies = int(weight)
        parts.append(_Part(begin, end, copies, Fraction(str(weight)) - copies))
    return parts


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
