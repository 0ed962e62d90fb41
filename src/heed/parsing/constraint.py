"""Let search write well-formed trees over exactly the words of a sentence, and nothing else.

A constraint for `heed.decode.search`: it knows how many words each sentence has and how many tokens its output may
have. It lets through every tree over these words, with labels of the vocabulary, in which at most `max_unary` brackets
in a row have a single child, and which fits into the limit. What has been allowed can always be finished. A step costs
the same however long the sentence is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.parsing.linearise import Linearisation

Ints = NDArray[np.integer[Any]]

MAX_UNARY = 4  # brackets in a row with a single child; treebanks have up to 3 or 4


class TreeTokens:
    """The ids of words, labels and closing brackets, and the sets of them that may come next."""

    def __init__(
        self, how: Linearisation, labels: Sequence[str], tags: Sequence[str], ids: Mapping[str, int], end: int
    ) -> None:
        """`ids` has the id of each token in `how.vocabulary(labels, tags)`, `end` is that of the end token."""
        words = [ids[token] for token in how.vocabulary([], tags)]
        opens = [ids[how.open(label)] for label in labels]
        closes = [ids[how.close(label)] for label in labels]
        if not (words and labels):
            raise ValueError("a tree needs labels and, if they are part of the output, tags")
        self.in_order, self.end = how.in_order, end
        self.words, self.closes = frozenset(words), frozenset(closes)
        self.label_of = dict(zip(opens, range(len(labels)), strict=True))
        last: dict[int | None, list[int]] = {None: [], -1: [end]}
        last.update({label: [close] for label, close in enumerate(closes)})
        self._sets = {
            (word, label, key): np.array(sorted([*words * word, *opens * label, *ending]), dtype=np.int64)
            for word in (False, True)
            for label in (False, True)
            for key, ending in last.items()
        }

    def choice(self, word: bool, label: bool, close: int | None) -> Ints:
        """Return the ids of all words, of all labels, and of the bracket that closes a label; -1 is the end."""
        return self._sets[word, label, close]


def tree_constraint(
    tokens: TreeTokens, lengths: Sequence[int], limits: Sequence[int], max_unary: int = MAX_UNARY
) -> "TopDownTrees | InOrderTrees":
    """Return the constraint for sentences of these lengths and with these token limits, end token included.

    Raises:
        ValueError: a sentence has no words, or no tree over it fits into its limit.
    """
    for length, limit in zip(lengths, limits, strict=True):
        if length < 1 or limit < shortest(length):
            raise ValueError(f"a tree over {length} words has at least {shortest(length)} tokens; the limit is {limit}")
    kind = InOrderTrees if tokens.in_order else TopDownTrees
    return kind(tokens, lengths, limits, max_unary)


def shortest(n_words: int) -> int:
    """Return the fewest tokens of a tree over n words, including the end token: a single word needs no bracket."""
    return n_words + 3 if n_words > 1 else 2


# --- labels before their first child ----------------------------------------------------------------------


class _Open(NamedTuple):
    """An open bracket. A run is brackets in a row that have one child, or none yet."""

    label: int
    around: "_Open | None"
    depth: int  # how many brackets are open, this one included
    run: int  # how many brackets of a run end with this one; 0: it has several children
    owed: int  # how many words must still go to the runs before that, to break them up


class _Place(NamedTuple):
    """Where a hypothesis is in its tree."""

    words: int  # still to come
    tokens: int  # still to come at most, the end token included
    top: _Open | None  # the innermost open bracket
    chain: int  # brackets in a row with a single child that end with the node just completed; -1: none in this bracket


class TopDownTrees:
    """A constraint: each sequence is a tree over its sentence, labels before their first child.

    A bracket that opens may turn out to have a single child only, so a run of open brackets that is longer than
    `max_unary` needs more words: every (max_unary + 1)-th of its brackets must get a second child.
    """

    def __init__(self, tokens: TreeTokens, lengths: Sequence[int], limits: Sequence[int], max_unary: int) -> None:
        self._tokens, self._lengths, self._limits, self._max_unary = tokens, lengths, limits, max_unary

    def start(self, sentence: int) -> _Place:
        return _Place(self._lengths[sentence], self._limits[sentence], None, -1)

    def allowed(self, state: _Place) -> Ints:
        words, tokens, top, chain = state
        if top is None:
            if words == 0:
                return self._tokens.choice(False, False, -1)
            may_open = tokens >= words + 3 and 1 // (self._max_unary + 1) < words
            return self._tokens.choice(words == 1, may_open, None)
        spare = tokens - (words + top.depth + 1)  # beyond all words, all closing brackets and the end
        run, owed = self._with_child(top, chain)
        word = owed + run // (self._max_unary + 1) < words
        label = spare >= 2 and owed + (run + 1) // (self._max_unary + 1) < words
        may_close = chain >= 0 and (top.depth > 1 or words == 0) and (top.run == 0 or chain < self._max_unary)
        return self._tokens.choice(word, label, top.label if may_close else None)

    def advance(self, state: _Place, token: int) -> _Place:
        words, tokens, top, chain = state
        if token == self._tokens.end:  # search may keep what has finished for a while
            return state
        if top is not None and token in self._tokens.closes:
            return _Place(words, tokens - 1, top.around, chain + 1 if top.run else 0)
        run = owed = depth = 0
        if top is not None:
            depth = top.depth
            run, owed = self._with_child(top, chain)
            if run != top.run:
                top = _Open(top.label, top.around, depth, run, owed)
        if token in self._tokens.words:
            return _Place(words - 1, tokens - 1, top, 0)
        return _Place(words, tokens - 1, _Open(self._tokens.label_of[token], top, depth + 1, run + 1, owed), -1)

    def _with_child(self, top: _Open, chain: int) -> tuple[int, int]:
        """Return the bracket's `run` and `owed` once it has one more child."""
        if chain < 0 or top.run == 0:
            return top.run, top.owed
        return 0, top.owed + (top.run - 1) // (self._max_unary + 1)


# --- labels after their first child -----------------------------------------------------------------------


class _Label(NamedTuple):
    """An open bracket, which has its first child already."""

    label: int
    around: "_Label | None"
    depth: int
    chain: int  # of its first child


class _PlaceInOrder(NamedTuple):
    """Where a hypothesis is in its tree."""

    words: int
    tokens: int
    top: _Label | None
    chain: int  # of the node just completed; -1: a label has just taken it, or there is none yet


class InOrderTrees:
    """A constraint: each sequence is a tree over its sentence, labels after their first child."""

    def __init__(self, tokens: TreeTokens, lengths: Sequence[int], limits: Sequence[int], max_unary: int) -> None:
        self._tokens, self._lengths, self._limits, self._max_unary = tokens, lengths, limits, max_unary

    def start(self, sentence: int) -> _PlaceInOrder:
        return _PlaceInOrder(self._lengths[sentence], self._limits[sentence], None, -1)

    def allowed(self, state: _PlaceInOrder) -> Ints:
        words, tokens, top, chain = state
        if top is None and chain < 0:
            return self._tokens.choice(True, False, None)
        spare = tokens - (words + (top.depth if top is not None else 0) + 1)
        # A label over a chain that is as long as it may be needs a second child, which is the next word.
        label = chain >= 0 and spare >= 2 and (words > 0 or chain < self._max_unary)
        if top is None:
            return self._tokens.choice(False, label, -1 if words == 0 else None)
        # A root that closes before the last word becomes the first child of another.
        may_close = (top.depth > 1 or words == 0 or spare >= 2) and (chain >= 0 or top.chain < self._max_unary)
        return self._tokens.choice(words > 0, label, top.label if may_close else None)

    def advance(self, state: _PlaceInOrder, token: int) -> _PlaceInOrder:
        words, tokens, top, chain = state
        if token == self._tokens.end:
            return state
        if token in self._tokens.words:
            return _PlaceInOrder(words - 1, tokens - 1, top, 0)
        if top is not None and token in self._tokens.closes:
            return _PlaceInOrder(words, tokens - 1, top.around, top.chain + 1 if chain < 0 else 0)
        depth = top.depth + 1 if top is not None else 1
        return _PlaceInOrder(words, tokens - 1, _Label(self._tokens.label_of[token], top, depth, chain), -1)
