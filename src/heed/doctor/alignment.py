"""Find where two files are shifted against each other: from some line on, line n + k translates line n.

Lengths, digits and question marks of a sentence and its translation agree more often than those of unrelated lines.
Dynamic programming finds the most likely path through all shifts k; each change of k has a cost.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heed.doctor.measure import Floats

MAX_SHIFT = 20
"""The largest shift searched, in lines; shifts near the difference of the files' lengths are searched as well."""
_LINES_PER_BLOCK = 16
_LINES_PER_WINDOW = 512
_MIN_CORRELATION = 0.3  # below this, lengths tell nothing about single lines
_CHANCE_CORRELATION = 0.2  # unrelated lines reach at most this, at the best of many shifts
_MIN_LENGTH_DEVIATION = 0.2  # standard deviation of log lengths; lines of equal length have no correlation
_SHIFT_COST_NATS = 8.0  # added to what chance would give among all places and shifts
_FREE_TRANSLATION_SHARE = 0.1  # of the pairs may have any lengths: a free translation does not prove a shift


@dataclass(frozen=True)
class Traits:
    """Traits of each line of one side."""

    characters: NDArray[np.uint16]
    digits: NDArray[np.int32]
    questions: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.characters)

    def cut(self, n: int) -> "Traits":
        return Traits(self.characters[:n], self.digits[:n], self.questions[:n])


@dataclass(frozen=True)
class Stretch:
    """Source lines `begin` to `end` (from 0, end excluded), whose translations are `shift` lines further on."""

    begin: int
    end: int
    shift: int


@dataclass(frozen=True)
class Alignment:
    correlation: float
    """Correlation of the lengths of lines and their translations, at the best shifts."""
    stretches: tuple[Stretch, ...] | None
    """The whole source, in stretches of equal shift; None if the correlation is too weak to find them."""
    unrelated: bool
    """Whether many lines of varied length show no correlation."""


def align(source: Traits, target: Traits) -> Alignment:
    """Find the shift of every source line."""
    difference = len(target) - len(source)
    shifts = sorted({*range(-MAX_SHIFT, MAX_SHIFT + 1), *range(difference - MAX_SHIFT, difference + MAX_SHIFT + 1)})
    lengths = _log_lengths(source), _log_lengths(target)
    correlation = _correlation(*lengths, shifts)
    if correlation < _MIN_CORRELATION:
        uncorrelated = min(len(source), len(target)) >= _LINES_PER_WINDOW and correlation < _CHANCE_CORRELATION
        return Alignment(
            correlation, None, uncorrelated and min(side.std() for side in lengths) > _MIN_LENGTH_DEVIATION
        )
    evidence = _Evidence.from_traits(source, target, shifts, correlation)
    return Alignment(correlation, tuple(_stretches(evidence, shifts)), False)


def _stretches(evidence: "_Evidence", shifts: list[int]) -> Iterator[Stretch]:
    n_lines = len(evidence.source)
    edges = np.arange(0, n_lines, _LINES_PER_BLOCK)
    blocks_BK = np.stack([np.add.reduceat(evidence.at(shift), edges) for shift in shifts], axis=1)
    cost = _SHIFT_COST_NATS + np.log(len(edges) * len(shifts))
    path = _best_path(blocks_BK, cost, shifts.index(0))
    begin = 0
    for block in [*(np.flatnonzero(np.diff(path)) + 1).tolist(), len(edges)]:
        shift, end = shifts[path[block - 1]], n_lines
        if block < len(edges):
            end = _line_of_change(evidence, shift, shifts[path[block]], begin, block * _LINES_PER_BLOCK)
        if end > begin:
            yield Stretch(begin, end, shift)
        begin = end


@dataclass(frozen=True)
class _Evidence:
    """Evidence that a source line and the target line `shift` lines further on belong together."""

    source: Traits
    target: Traits
    lengths: tuple[Floats, Floats]
    correlation: float
    digits: tuple[float, float]
    questions: tuple[float, float]

    @classmethod
    def from_traits(cls, source: Traits, target: Traits, shifts: list[int], correlation: float) -> "_Evidence":
        lengths = _standard(_log_lengths(source)), _standard(_log_lengths(target))
        nats = [_trait_nats(getattr(source, name), getattr(target, name), shifts) for name in ("digits", "questions")]
        return cls(source, target, lengths, min(correlation, 0.95), nats[0], nats[1])

    def at(self, shift: int) -> Floats:
        """Return the evidence for a shift, in nats, for every source line."""
        x, y = _overlap_at(*self.lengths, shift)
        r = self.correlation
        ratio = np.exp((2 * r * x * y - r * r * (x * x + y * y)) / (2 * (1 - r * r))) / np.sqrt(1 - r * r)
        nats = np.log(_FREE_TRANSLATION_SHARE + (1 - _FREE_TRANSLATION_SHARE) * ratio)
        for name, (agree, differ) in (("digits", self.digits), ("questions", self.questions)):
            a, b = _overlap_at(getattr(self.source, name), getattr(self.target, name), shift)
            nats += np.where(a == b, agree, differ) * ((a != 0) | (b != 0))
        found = np.zeros(len(self.source))  # no evidence for source lines without a target line at this shift
        found[max(0, -shift) :][: len(nats)] = nats
        return found


def _overlap_at(source: NDArray[np.generic], target: NDArray[np.generic], shift: int) -> tuple[Floats, Floats]:
    a, b = source[max(0, -shift) :], target[max(0, shift) :]
    shared = min(len(a), len(b))
    return a[:shared], b[:shared]  # type: ignore[return-value]


def _log_lengths(side: Traits) -> Floats:
    return np.log1p(side.characters.astype(np.float64))


def _standard(logs: Floats) -> Floats:
    standard: Floats = np.clip((logs - logs.mean()) / (logs.std() + 1e-9), -3, 3)
    return standard


def _correlation(source: Floats, target: Floats, shifts: list[int]) -> float:
    """Return the median correlation of lengths over windows of lines, each at its best shift."""
    best: Floats | None = None
    for shift in shifts:
        x, y = _overlap_at(source, target, shift)
        if len(x) < 30:
            continue
        edges = np.arange(0, len(x) - min(_LINES_PER_WINDOW, len(x)) + 1, _LINES_PER_WINDOW)
        n = np.diff([*edges, len(x)])
        mean_x, mean_y = np.add.reduceat(x, edges) / n, np.add.reduceat(y, edges) / n
        spread = np.sqrt(
            np.maximum(np.add.reduceat(x * x, edges) / n - mean_x**2, 1e-9)
            * np.maximum(np.add.reduceat(y * y, edges) / n - mean_y**2, 1e-9)
        )
        r = (np.add.reduceat(x * y, edges) / n - mean_x * mean_y) / spread
        shared = min(len(r), len(r) if best is None else len(best))
        best = r[:shared] if best is None else np.maximum(r[:shared], best[:shared])
    return 0.0 if best is None else float(np.median(best))


def _trait_nats(source: NDArray[np.generic], target: NDArray[np.generic], shifts: list[int]) -> tuple[float, float]:
    """Return the evidence, in nats, of agreeing and of differing in a trait, where either side has it."""
    rates = []
    for shift in shifts:
        a, b = _overlap_at(source, target, shift)
        either = (a != 0) | (b != 0)
        rates.append((float(np.sum(either & (a == b))) + 1) / (float(either.sum()) + 20))
    together, chance = max(rates), float(np.median(rates))
    return float(np.log(together / chance)), float(np.log((1 - together) / (1 - chance)))


def _best_path(blocks_BK: Floats, cost: float, start: int) -> NDArray[np.int64]:
    n_blocks, n_shifts = blocks_BK.shape
    previous_BK = np.zeros((n_blocks, n_shifts), dtype=np.int16)
    stay = np.arange(n_shifts)
    value = np.full(n_shifts, -cost)
    value[start] = 0.0
    for block in range(n_blocks):
        best = int(value.argmax())
        change = value < value[best] - cost
        previous_BK[block] = np.where(change, best, stay)
        value = np.where(change, value[best] - cost, value) + blocks_BK[block]
    path = np.zeros(n_blocks, dtype=np.int64)
    state = int(value.argmax())
    for block in range(n_blocks - 1, -1, -1):
        path[block] = state
        state = int(previous_BK[block, state])
    return path


def _line_of_change(evidence: _Evidence, before: int, after: int, begin: int, near: int) -> int:
    """Return the line at which to change from one shift to the other, near the border of two blocks."""
    first = max(begin, near - 2 * _LINES_PER_BLOCK)
    gain = (evidence.at(after) - evidence.at(before))[first : near + 2 * _LINES_PER_BLOCK]
    # The sum of gains from a line to the end of the window is largest at the right line.
    return first + int(np.argmax(np.concatenate([np.cumsum(gain[::-1])[::-1], [0.0]])))
