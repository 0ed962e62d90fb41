"""Which target symbols a source symbol is translated by: IBM Model 1 (Brown et al. 1993), learnt by EM.

Each target symbol of a pair is made by one of the pair's source symbols, all equally likely to be the one; the end
symbol, which every source has, stands for "none of the words".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.data.store import PairStore

LINKS = 50_000_000  # source symbol beside target symbol, at most: of more text, evenly spaced pairs are taken
_AT_ONCE = 1_000_000  # of them
_ROUNDS = 5  # of EM


@dataclass(frozen=True)
class Lexicon:
    """probability[i] of target[i], given source[i]; in order of source, then target."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    probability: NDArray[np.float64]
    target_counts: NDArray[np.int64]  # how often each symbol was met on the target side
    n_pairs: int  # it was learnt from

    def best(self, n: int, filler: int) -> NDArray[np.int32]:
        """Of each source symbol the n most probable targets, best first; those that have fewer get the filler."""
        order = np.lexsort((-self.probability, self.source))
        source = self.source[order]
        rank = np.arange(len(source)) - np.searchsorted(source, source)
        table = np.full((len(self.target_counts), n), filler, dtype=np.int32)
        table[source[rank < n], rank[rank < n]] = self.target[order[rank < n]]
        return table


@dataclass(frozen=True)
class _Portion:
    """The links of some pairs, those of one target position side by side."""

    kinds: NDArray[np.int64]  # of link, as source · vocabulary + target
    kind: NDArray[np.int32]  # of each link, as its place in `kinds`
    row_lengths: NDArray[np.int64]  # links of each target position
    targets: NDArray[Any]


def learn_lexicon(
    store: PairStore, longest: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> Lexicon:
    """From the pairs with no side over `longest` symbols; `progress` is told how much is done, of how much."""
    vocabulary = len(store.tokenizer)
    pairs, bounds = _chosen(store, longest)
    n_portions = len(bounds) - 1
    total = (1 + _ROUNDS) * n_portions
    portions = []
    for number in range(n_portions):
        portions.append(_links(store, pairs[bounds[number] : bounds[number + 1]], vocabulary))
        progress(number + 1, total)
    kinds = np.unique(np.concatenate([portion.kinds for portion in portions]))
    places = [np.searchsorted(kinds, portion.kinds) for portion in portions]

    source, target = kinds // vocabulary, kinds % vocabulary
    probability = np.ones(len(kinds))
    for round_number in range(_ROUNDS):
        expected = np.zeros(len(kinds))
        for number, (portion, place) in enumerate(zip(portions, places, strict=True)):
            expected[place] += _expected(portion, probability[place])
            progress((1 + round_number) * n_portions + number + 1, total)
        probability = expected / np.bincount(source, expected)[source]
    counts = sum(np.bincount(portion.targets, minlength=vocabulary) for portion in portions)
    return Lexicon(source, target, probability, np.asarray(counts), len(pairs))


def _chosen(store: PairStore, longest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs to learn from, and where the portions of them begin and end."""
    n_source, n_target = store.source.lengths.astype(np.int64), store.target.lengths.astype(np.int64)
    pairs = np.flatnonzero((n_source <= longest) & (n_target <= longest))
    links = n_source * (n_target - 1)
    share = min(1.0, LINKS / max(1, int(links[pairs].sum())))
    n_pairs = max(1, int(share * len(pairs)))
    pairs = pairs[np.arange(n_pairs) * len(pairs) // n_pairs]
    portion = np.cumsum(links[pairs]) // _AT_ONCE
    return pairs, np.concatenate([[0], np.flatnonzero(np.diff(portion)) + 1, [n_pairs]])


def _links(store: PairStore, pairs: NDArray[np.int64], vocabulary: int) -> _Portion:
    sources, n_source = store.source.gather(pairs)
    targets, n_target = store.target.gather(pairs)
    is_end = np.zeros(len(targets), dtype=bool)
    is_end[np.cumsum(n_target) - 1] = True
    targets, n_target = targets[~is_end], n_target - 1
    row_lengths = np.repeat(n_source, n_target)
    first = np.repeat(np.cumsum(n_source) - n_source, n_target)  # source symbol of each target position's pair
    places = np.repeat(first - (np.cumsum(row_lengths) - row_lengths), row_lengths)
    places += np.arange(len(places))
    links = sources[places].astype(np.int64) * vocabulary + np.repeat(targets, row_lengths)
    kinds, kind = np.unique(links, return_inverse=True)
    return _Portion(kinds, kind.astype(np.int32), row_lengths, targets)


def _expected(portion: _Portion, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often each kind of link is expected to have made its target."""
    likely = probability[portion.kind]
    sums = np.add.reduceat(likely, np.cumsum(portion.row_lengths) - portion.row_lengths)
    likely /= np.repeat(sums, portion.row_lengths)
    return np.asarray(np.bincount(portion.kind, likely, len(portion.kinds)), dtype=np.float64)
