"""Which of the corpus's own two languages a line is in, by the four-byte sequences each side has more often.

Nothing is known of any language beforehand: the corpus itself, most of which is right, is the measure.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heed.doctor.measure import CODES, Floats, Lines, Mask

_AGAIN = 2
_SMOOTH = 5.0
_DISTINCT = 0.8  # nats a byte, both sides together; English and German have more than 5, copied text has 0
_SURE = 20.0  # nats for the wrong side
_CLEAR = 5.0  # nats for the right sides
_LOW, _LONG = 0.1, 40  # a line of this many bytes with less than this part of what its side usually has is in neither


def learn(sample: Sequence[tuple[Lines, Lines]]) -> "Profile":
    """What tells the sides apart, learnt again and again without the lines that seem foreign to their side."""
    profile = _learn(sample, [(np.ones(len(a), dtype=bool), np.ones(len(b), dtype=bool)) for a, b in sample])
    for _ in range(_AGAIN if profile.distinct else 0):
        profile = _learn(sample, [(~profile.foreign(a, 0), ~profile.foreign(b, 1)) for a, b in sample])
    return profile


def _learn(sample: Sequence[tuple[Lines, Lines]], chosen: Sequence[tuple[Mask, Mask]]) -> "Profile":
    counts = np.zeros((2, CODES))
    for pair, which in zip(sample, chosen, strict=True):
        for side in (0, 1):
            codes = pair[side].ngram_codes[pair[side].bytes_of(which[side])]
            counts[side] += np.bincount(codes, minlength=CODES)
    smooth = counts + _SMOOTH
    logs = np.log(smooth / smooth.sum(axis=1, keepdims=True))
    weights = logs[0] - logs[1]
    usual = counts @ weights / np.maximum(counts.sum(axis=1), 1)
    return Profile(weights.astype(np.float32), (float(usual[0]), float(-usual[1])), int(counts.sum(axis=1).min()))


@dataclass(frozen=True)
class Profile:
    weights: NDArray[np.float32]
    usual: tuple[float, float]
    """What a byte says for its own side, on average: source, target."""
    n_bytes: int
    """How much text of the smaller side it was learnt from."""

    @property
    def distinct(self) -> bool:
        """Whether the two sides can be told apart at all (a spelling corrector's cannot)."""
        return sum(self.usual) > _DISTINCT and min(self.usual) > 0

    def own(self, lines: Lines, side: int) -> Floats:
        """For each line the evidence, in nats, that it is on its own side: 0 for source, 1 for target."""
        scores = lines.sums(self.weights[lines.ngram_codes])
        return -scores if side else scores

    def doubtful(self, lines: Lines, side: int) -> Mask:
        """Lines worth a second look, without what both sides share."""
        return self.own(lines, side) < 0.25 * self.usual[side] * lines.sizes

    def told_apart(self, source: Lines, target: Lines) -> Mask:
        """Pairs whose two sides, together, speak for two languages in the right order."""
        return self.own(source, 0) + self.own(target, 1) > _CLEAR

    def swapped(self, source: Lines, target: Lines) -> Mask:
        """Pairs whose two sides, each and together, speak for the other order."""
        own = self.own(source, 0), self.own(target, 1)
        return (own[0] < -_CLEAR) & (own[1] < -_CLEAR) & (own[0] + own[1] < -_SURE)

    def foreign(self, lines: Lines, side: int) -> Mask:
        """Lines in the other side's language, or in a third one."""
        own = self.own(lines, side)
        return (own < -_SURE) | ((lines.sizes >= _LONG) & (own < _LOW * self.usual[side] * lines.sizes))


_WORD = re.compile(rb"[\w\x80-\xff]+")
_SMALL_WORD = re.compile(rb"(?<![\w\x80-\xff])[a-z\x80-\xff]{2,}(?![A-Z0-9_])")


def small_words(line: bytes) -> int:
    """Words that begin with a small letter (or one beyond ASCII): text has them, names and file numbers do not."""
    return len(_SMALL_WORD.findall(line))


def without_shared_words(source: bytes, target: bytes) -> tuple[bytes, bytes, float]:
    """Both lines without the words both have (names tell no language), and the shared part of the longer one."""
    sides = [[word.lower() for word in _WORD.findall(line)] for line in (source, target)]
    shared = set(sides[0]) & set(sides[1])
    left = [[word for word in words if word not in shared] for words in sides]
    most = max(*map(len, sides), 1)
    return b" ".join(left[0]), b" ".join(left[1]), 1 - max(map(len, left)) / most
