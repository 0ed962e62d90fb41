"""IBM model 1 (Brown et al. 1993): which source token goes with which target token, learnt from pairs of sentences."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 5


class Model1:
    """Translation probabilities t(target | source) of tokens, given as ids. It has no empty source word."""

    def __init__(self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """Learn by expectation maximisation."""
        self._size = 1 + max((one for pair in pairs for side in pair for one in side), default=0)
        keys, groups, at = [], [], 0
        for source, target in pairs:
            s, t = np.array(source, dtype=np.int64), np.array(target, dtype=np.int64)
            keys.append((s[None, :] * self._size + t[:, None]).ravel())
            groups.append(at + np.repeat(np.arange(len(t)), len(s)))
            at += len(t)
        all_keys = np.concatenate(keys) if keys else np.zeros(0, np.int64)
        group = np.concatenate(groups) if groups else np.zeros(0, np.int64)
        self._keys, entry = np.unique(all_keys, return_inverse=True)
        source_of = self._keys // self._size
        probability = np.ones(len(self._keys))
        for _ in range(_ROUNDS):
            weight = probability[entry]
            weight /= np.bincount(group, weight)[group]
            expected = np.bincount(entry, weight, minlength=len(self._keys))
            probability = expected / np.bincount(source_of, expected)[source_of]
        self._probability = probability

    def best(self, source: Sequence[int], target: Sequence[int]) -> NDArray[np.int64]:
        """Return the source position that most likely made each target token. The pair is one of those learnt from."""
        s, t = np.array(source, dtype=np.int64), np.array(target, dtype=np.int64)
        keys = s[None, :] * self._size + t[:, None]
        best: NDArray[np.int64] = self._probability[np.searchsorted(self._keys, keys)].argmax(1)
        return best


def agreed(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[tuple[int, int]]]:
    """Return the links (source, target) of each pair that model 1 finds in both directions."""
    forward, backward = Model1(pairs), Model1([(target, source) for source, target in pairs])
    found = []
    for source, target in pairs:
        source_of, target_of = forward.best(source, target), backward.best(target, source)
        found.append([(int(s), t) for t, s in enumerate(source_of) if target_of[s] == t])
    return found
