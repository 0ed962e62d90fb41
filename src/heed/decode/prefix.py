"""A constraint that forces the beginning of a translation."""

from collections.abc import Sequence

import numpy as np

from heed.decode.search import Ints


class ForcedPrefix:
    """A constraint by which each sentence's translation begins with its prefix, which may be empty."""

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self._prefixes = prefixes

    def start(self, sentence: int) -> Sequence[int]:
        """Return the state, which is the rest of the prefix."""
        return self._prefixes[sentence]

    def allowed(self, state: Sequence[int]) -> Ints | None:
        return np.array(state[:1]) if len(state) else None

    def advance(self, state: Sequence[int], token: int) -> Sequence[int]:
        return state[1:]
