"""A constraint by which each translation contains given phrases, as whole words.

Phrases come in chains: those of a chain in their order, the chains among each other in any. Some tokens may be barred:
they are allowed only as parts of phrases. With the constraint, beam search divides its beam by how many tokens of the
phrases are still missing (`banks.py`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from heed.decode.search import Ints
from heed.text.normalize import SPACE_MARK

Phrase = tuple[int, ...]
Chains = tuple[tuple[Phrase, ...], ...]  # none of them empty

_CLOSING_MARKS = frozenset(".,;:!?)]\"'”’“‘»«›‹…")


@dataclass(frozen=True)
class Boundaries:
    """Which tokens may follow a phrase, so that it stands in the text as whole words."""

    begins_word: frozenset[int]
    is_closing: frozenset[int]  # marks such as a full stop, which may come between a phrase and the next word

    @classmethod
    def of(cls, pieces: Sequence[str]) -> "Boundaries":
        """Return the boundaries of a vocabulary, given by the text of each token."""
        return cls(
            frozenset(token for token, piece in enumerate(pieces) if piece.startswith(SPACE_MARK)),
            frozenset(token for token, piece in enumerate(pieces) if piece and _CLOSING_MARKS.issuperset(piece)),
        )


class _Place(NamedTuple):
    """How far a hypothesis has come."""

    missing: Chains  # a phrase for each time that it has still to appear
    tail: Phrase  # the newest tokens, as far as they may become a phrase: "taken back" if they do not
    left: int  # how many tokens may still come, the end token included
    barred: frozenset[int]


class RequiredPhrases:
    """A constraint by which each sequence contains all phrases of its sentence, none overlapping another.

    At any time the first phrase of each chain may come next. A phrase counts once a word or the end follows it,
    possibly after closing marks. Near the length limit, only tokens are allowed that leave room for what is
    missing: the phrases appear whatever the scores are.
    """

    def __init__(
        self,
        chains: Sequence[Iterable[Iterable[Sequence[int]]]],
        limits: Sequence[int],
        end: int,
        n_tokens: int,
        boundaries: Boundaries | None = None,
        barred: Sequence[Iterable[int]] | None = None,
    ) -> None:
        """`chains`, `limits` and `barred` tokens are those of each sentence.

        Without `boundaries`, anything may follow a phrase.
        """
        self._chains = [tuple(tuple(map(tuple, chain)) for chain in several if chain) for several in chains]
        if any(not phrase for several in self._chains for chain in several for phrase in chain):
            raise ValueError("a phrase needs at least one token")
        self._barred = [frozenset(tokens) for tokens in barred or [()] * len(self._chains)]
        self._limits, self._end = limits, end
        self._all = np.arange(n_tokens)
        self._all_but_end = np.delete(np.arange(n_tokens), end)
        self._begins_word = None if boundaries is None else boundaries.begins_word
        self._is_closing = frozenset() if boundaries is None else boundaries.is_closing
        self._words = self._all_but_end if boundaries is None else np.array(sorted(boundaries.begins_word))
        self._closings = np.array(sorted(self._is_closing), dtype=np.int64)

    def start(self, sentence: int) -> _Place:
        return _Place(self._chains[sentence], (), self._limits[sentence], self._barred[sentence])

    def allowed(self, state: _Place) -> Ints | None:
        tokens = self._allowed(state)
        return self._without_barred(state, self._all if tokens is None else tokens) if state.barred else tokens

    def _without_barred(self, state: _Place, tokens: Ints) -> Ints:
        wanted = self.wanted(state)
        kept = np.setdiff1d(tokens, np.setdiff1d(sorted(state.barred), wanted))
        if not state.barred.isdisjoint(state.tail):  # a phrase that is begun must be continued, or barred tokens remain
            after_word, _ = self._after(state.missing, (*state.tail, self._end))
            follows = [token for token in wanted.tolist() if self.advance(state, token).tail[:-1] == state.tail]
            if _n_tokens(after_word) < _n_tokens(state.missing):  # the tail is a whole phrase
                follows += [*self._words.tolist(), *self._closings.tolist(), self._end]
            kept = np.intersect1d(kept, follows)
        return kept if len(kept) else tokens

    def _allowed(self, state: _Place) -> Ints | None:
        if not state.missing:
            return None
        after_word, _ = self._after(state.missing, (*state.tail, self._end))
        is_complete = not after_word
        if state.left >= _n_tokens(state.missing) + 2:  # even if the next token loses the tail, all fits before the end
            return None if is_complete else self._all_but_end
        tokens = {token for chain in state.missing for phrase in chain for token in phrase}
        allowed = [np.array([token for token in tokens if self._leaves_room(state, token)], dtype=np.int64)]
        if _n_tokens(after_word) < _n_tokens(state.missing):  # the tail is a whole phrase
            if state.left >= _n_tokens(after_word) + 2:
                allowed.append(self._words)
            if state.left >= self.n_needed(state) + 2:
                allowed.append(self._closings)
        if is_complete:
            allowed.append(np.array([self._end]))
        # If the limit is too low from the start, the sequence has as many of the phrases as fit.
        return np.unique(np.concatenate(allowed)) if any(map(len, allowed)) else self.wanted(state)

    def advance(self, state: _Place, token: int) -> _Place:
        if not state.missing:
            return state
        missing, tail = self._after(state.missing, (*state.tail, token))
        return _Place(missing, tail, state.left - 1, state.barred)

    def wanted(self, state: _Place) -> Ints:
        """Return the tokens that continue the phrase at the tail, or, if there is none, begin one."""
        missing, tail = state.missing, state.tail
        found = {phrase[len(tail)] for phrase, *_ in missing if _is_longer(phrase, tail)}
        if tail:  # if the tail is a whole phrase, the next one may begin
            others, _ = self._after(missing, (*tail, self._end))
            if _n_tokens(others) < _n_tokens(missing):
                found |= {phrase[0] for phrase, *_ in others}
        return np.array(sorted(found), dtype=np.int64)

    def n_needed(self, state: _Place) -> int:
        """Return the fewest tokens that complete all phrases."""
        needed, tail = _n_tokens(state.missing), state.tail
        if not tail:
            return needed
        return needed - max(len(tail[: len(phrase)]) for phrase, *_ in state.missing if _agree(phrase, tail))

    def _after(self, missing: Chains, tail: Phrase) -> tuple[Chains, Phrase]:
        """Return what is missing, and the part of the tail that may still become a phrase."""
        while tail:
            if any(phrase[: len(tail)] == tail for phrase, *_ in missing):
                return missing, tail
            for chain in sorted(missing, key=lambda chain: -len(chain[0])):  # the longest phrase first
                phrase = chain[0]
                if tail[: len(phrase)] != phrase:
                    continue
                follows = len(phrase)
                while follows < len(tail) and tail[follows] in self._is_closing:
                    follows += 1
                if follows == len(tail):  # nothing but closing marks so far
                    return missing, tail
                if self._may_follow(tail[follows]):
                    at = missing.index(chain)
                    rest = (chain[1:],) if len(chain) > 1 else ()
                    missing, tail = (*missing[:at], *rest, *missing[at + 1 :]), tail[follows:]
                    break
            else:
                firsts = {phrase[0] for phrase, *_ in missing}
                tail = tail[next((i for i in range(1, len(tail)) if tail[i] in firsts), len(tail)) :]
        return missing, tail

    def _leaves_room(self, state: _Place, token: int) -> bool:
        after = self.advance(state, token)
        return self.n_needed(after) < after.left

    def _may_follow(self, token: int) -> bool:
        return self._begins_word is None or token == self._end or token in self._begins_word


def _n_tokens(chains: Chains) -> int:
    return sum(len(phrase) for chain in chains for phrase in chain)


def _is_longer(phrase: Phrase, tail: Phrase) -> bool:
    return len(phrase) > len(tail) and phrase[: len(tail)] == tail


def _agree(phrase: Phrase, tail: Phrase) -> bool:
    """Return whether one begins with the other."""
    n = min(len(phrase), len(tail))
    return phrase[:n] == tail[:n]
