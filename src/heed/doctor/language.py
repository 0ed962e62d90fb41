"""Tell which of the corpus's two languages a line is in, by the 4-byte sequences that each side has more often.

No language is known beforehand: the profile is learnt from the corpus itself, most of which is right.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heed.doctor.measure import CODES, Floats, Lines, Mask

_REFINEMENTS = 2
_COUNT_SMOOTHING = 5.0
_DISTINCT_NATS_PER_BYTE = 0.8  # both sides together; English and German have more than 5, copied text has 0
_SWAPPED_NATS = 20.0  # evidence that a line is on the wrong side
_CLEAR_NATS = 5.0  # evidence that a line is on the right side
# A line at least this long, with less than this share of its side's usual evidence, is in a third language.
_LOW_SHARE, _LONG_BYTES = 0.1, 40


def learn(sample: Sequence[tuple[Lines, Lines]]) -> "Profile":
    """Learn what tells the sides apart, then refine it without the lines that look foreign to their side."""
    profile = _learn(sample, [(np.ones(len(a), dtype=bool), np.ones(len(b), dtype=bool)) for a, b in sample])
    for _ in range(_REFINEMENTS if profile.distinct else 0):
        profile = _learn(sample, [(~profile.foreign(a, 0), ~profile.foreign(b, 1)) for a, b in sample])
    return profile


def _learn(sample: Sequence[tuple[Lines, Lines]], chosen: Sequence[tuple[Mask, Mask]]) -> "Profile":
    counts = np.zeros((2, CODES))
    for pair, which in zip(sample, chosen, strict=True):
        for side in (0, 1):
            codes = pair[side].ngram_codes[pair[side].bytes_of(which[side])]
            counts[side] += np.bincount(codes, minlength=CODES)
    smooth = counts + _COUNT_SMOOTHING
    logs = np.log(smooth / smooth.sum(axis=1, keepdims=True))
    weights = logs[0] - logs[1]
    usual = counts @ weights / np.maximum(counts.sum(axis=1), 1)
    return Profile(weights.astype(np.float32), (float(usual[0]), float(-usual[1])), int(counts.sum(axis=1).min()))


@dataclass(frozen=True)
class Profile:
    weights: NDArray[np.float32]
    usual: tuple[float, float]
    """Mean evidence of a byte for its own side, in nats: source, target."""
    n_bytes: int
    """Size of the smaller side of the text it was learnt from."""

    @property
    def distinct(self) -> bool:
        """Return whether the two sides are different languages (in a spelling-correction corpus they are not)."""
        return sum(self.usual) > _DISTINCT_NATS_PER_BYTE and min(self.usual) > 0

    def own(self, lines: Lines, side: int) -> Floats:
        """Return for each line the evidence, in nats, that it is in the language of its side (0 source, 1 target)."""
        scores = lines.sums(self.weights[lines.ngram_codes])
        return -scores if side else scores

    def doubtful(self, lines: Lines, side: int) -> Mask:
        """Return the lines with little evidence, which deserve a second look without the words both sides share."""
        return self.own(lines, side) < 0.25 * self.usual[side] * lines.sizes

    def in_order(self, source: Lines, target: Lines) -> Mask:
        """Return the pairs whose two sides together are evidence for the right order of languages."""
        return self.own(source, 0) + self.own(target, 1) > _CLEAR_NATS

    def swapped(self, source: Lines, target: Lines) -> Mask:
        """Return the pairs whose two sides, each and together, are evidence for the opposite order of languages."""
        own = self.own(source, 0), self.own(target, 1)
        return (own[0] < -_CLEAR_NATS) & (own[1] < -_CLEAR_NATS) & (own[0] + own[1] < -_SWAPPED_NATS)

    def foreign(self, lines: Lines, side: int) -> Mask:
        """Return the lines that are in the other side's language or in a third one."""
        own = self.own(lines, side)
        return (own < -_SWAPPED_NATS) | (
            (lines.sizes >= _LONG_BYTES) & (own < _LOW_SHARE * self.usual[side] * lines.sizes)
        )


_WORD = re.compile(rb"[\w\x80-\xff]+")
_LOWERCASE_WORD = re.compile(rb"(?<![\w\x80-\xff])[a-z\x80-\xff]{2,}(?![A-Z0-9_])")


def lowercase_words(line: bytes) -> int:
    """Count words that begin with a lowercase or non-ASCII letter: text has them, names and file numbers do not."""
    return len(_LOWERCASE_WORD.findall(line))


def without_shared_words(source: bytes, target: bytes) -> tuple[bytes, bytes, float]:
    """Remove the words that both lines have, such as names, which do not tell the language.

    Returns both lines without them, and the share of words removed.
    """
    sides = [[word.lower() for word in _WORD.findall(line)] for line in (source, target)]
    shared = set(sides[0]) & set(sides[1])
    left = [[word for word in words if word not in shared] for words in sides]
    longest = max(*map(len, sides), 1)
    return b" ".join(left[0]), b" ".join(left[1]), 1 - max(map(len, left)) / longest
