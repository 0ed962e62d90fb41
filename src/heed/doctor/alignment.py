"""Where two files run out of step: from some line on, line n translates line n + k.

Lengths, digits and question marks of a sentence and its translation agree more often than those of strangers.
The most likely path through all shifts k is found by dynamic programming, a change of k having its price.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heed.doctor.measure import Floats

REACH = 20
"""The largest shift looked for, besides those near the difference of the files' lengths."""
_BLOCK = 16
_WINDOW = 512
_WEAK = 0.3  # a correlation of lengths below this tells nothing about single lines
_CHANCE = 0.2  # and one below this is what strangers have, at the best of many shifts
_VARIED = 0.2  # standard deviation of log lengths; lines of one length have no correlation
_PRICE = 8.0  # nats, besides what chance among so many places and shifts would give
_ODD = 0.1  # of the pairs may have any lengths: a free translation is no proof of a shift


@dataclass(frozen=True)
class Traits:
    """One side, line by line."""

    characters: NDArray[np.uint16]
    digits: NDArray[np.int32]
    asks: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.characters)

    def cut(self, n: int) -> "Traits":
        return Traits(self.characters[:n], self.digits[:n], self.asks[:n])


@dataclass(frozen=True)
class Stretch:
    """Source lines `begin` to `end` (from 0, end excluded) stand `shift` lines before their translations."""

    begin: int
    end: int
    shift: int


@dataclass(frozen=True)
class Alignment:
    correlation: float
    """Of the lengths of lines and their translations, wherever these stand."""
    stretches: tuple[Stretch, ...] | None
    """The whole source, in stretches of equal shift; None if lengths do not tell what belongs together."""
    unrelated: bool
    """Lengths vary, there are many, and yet they have nothing to do with each other."""


def align(source: Traits, target: Traits) -> Alignment:
    apart = len(target) - len(source)
    shifts = sorted({*range(-REACH, REACH + 1), *range(apart - REACH, apart + REACH + 1)})
    lengths = _log_lengths(source), _log_lengths(target)
    correlation = _correlation(*lengths, shifts)
    if correlation < _WEAK:
        unlike = min(len(source), len(target)) >= _WINDOW and correlation < _CHANCE
        return Alignment(correlation, None, unlike and min(side.std() for side in lengths) > _VARIED)
    evidence = _Evidence.gathered(source, target, shifts, correlation)
    return Alignment(correlation, tuple(_stretches(evidence, shifts)), False)


def _stretches(evidence: "_Evidence", shifts: list[int]) -> Iterator[Stretch]:
    n_lines = len(evidence.source)
    edges = np.arange(0, n_lines, _BLOCK)
    blocks_BK = np.stack([np.add.reduceat(evidence.at(shift), edges) for shift in shifts], axis=1)
    price = _PRICE + np.log(len(edges) * len(shifts))
    path = _best_path(blocks_BK, price, shifts.index(0))
    begin = 0
    for block in [*(np.flatnonzero(np.diff(path)) + 1).tolist(), len(edges)]:
        shift, end = shifts[path[block - 1]], n_lines
        if block < len(edges):
            end = _turn(evidence, shift, shifts[path[block]], begin, block * _BLOCK)
        if end > begin:
            yield Stretch(begin, end, shift)
        begin = end


@dataclass(frozen=True)
class _Evidence:
    """How much likelier a source line and the target line `shift` further on are to belong together than not."""

    source: Traits
    target: Traits
    lengths: tuple[Floats, Floats]
    correlation: float
    digits: tuple[float, float]
    asks: tuple[float, float]

    @classmethod
    def gathered(cls, source: Traits, target: Traits, shifts: list[int], correlation: float) -> "_Evidence":
        lengths = _standard(_log_lengths(source)), _standard(_log_lengths(target))
        worth = [_worth(getattr(source, name), getattr(target, name), shifts) for name in ("digits", "asks")]
        return cls(source, target, lengths, min(correlation, 0.95), worth[0], worth[1])

    def at(self, shift: int) -> Floats:
        """In nats, for every source line."""
        x, y = _side_by_side(*self.lengths, shift)
        r = self.correlation
        ratio = np.exp((2 * r * x * y - r * r * (x * x + y * y)) / (2 * (1 - r * r))) / np.sqrt(1 - r * r)
        nats = np.log(_ODD + (1 - _ODD) * ratio)
        for name, (agree, differ) in (("digits", self.digits), ("asks", self.asks)):
            a, b = _side_by_side(getattr(self.source, name), getattr(self.target, name), shift)
            nats += np.where(a == b, agree, differ) * ((a != 0) | (b != 0))
        found = np.zeros(len(self.source))  # where there is no line to be a translation, nothing is known
        found[max(0, -shift) :][: len(nats)] = nats
        return found


def _side_by_side(source: NDArray[np.generic], target: NDArray[np.generic], shift: int) -> tuple[Floats, Floats]:
    a, b = source[max(0, -shift) :], target[max(0, shift) :]
    shared = min(len(a), len(b))
    return a[:shared], b[:shared]  # type: ignore[return-value]


def _log_lengths(side: Traits) -> Floats:
    return np.log1p(side.characters.astype(np.float64))


def _standard(logs: Floats) -> Floats:
    standard: Floats = np.clip((logs - logs.mean()) / (logs.std() + 1e-9), -3, 3)
    return standard


def _correlation(source: Floats, target: Floats, shifts: list[int]) -> float:
    """That of lengths in the middle one of many windows, each at its best shift."""
    best: Floats | None = None
    for shift in shifts:
        x, y = _side_by_side(source, target, shift)
        if len(x) < 30:
            continue
        edges = np.arange(0, len(x) - min(_WINDOW, len(x)) + 1, _WINDOW)
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


def _worth(source: NDArray[np.generic], target: NDArray[np.generic], shifts: list[int]) -> tuple[float, float]:
    """Nats for agreeing and for differing, where either side has the trait."""
    rates = []
    for shift in shifts:
        a, b = _side_by_side(source, target, shift)
        either = (a != 0) | (b != 0)
        rates.append((float(np.sum(either & (a == b))) + 1) / (float(either.sum()) + 20))
    together, chance = max(rates), float(np.median(rates))
    return float(np.log(together / chance)), float(np.log((1 - together) / (1 - chance)))


def _best_path(blocks_BK: Floats, price: float, start: int) -> NDArray[np.int64]:
    n_blocks, n_shifts = blocks_BK.shape
    came_BK = np.zeros((n_blocks, n_shifts), dtype=np.int16)
    stay = np.arange(n_shifts)
    value = np.full(n_shifts, -price)
    value[start] = 0.0
    for block in range(n_blocks):
        best = int(value.argmax())
        change = value < value[best] - price
        came_BK[block] = np.where(change, best, stay)
        value = np.where(change, value[best] - price, value) + blocks_BK[block]
    path = np.zeros(n_blocks, dtype=np.int64)
    state = int(value.argmax())
    for block in range(n_blocks - 1, -1, -1):
        path[block] = state
        state = int(came_BK[block, state])
    return path


def _turn(evidence: _Evidence, before: int, after: int, begin: int, near: int) -> int:
    """The line at which to change from one shift to the other, near the border of two blocks."""
    first = max(begin, near - 2 * _BLOCK)
    gain = (evidence.at(after) - evidence.at(before))[first : near + 2 * _BLOCK]
    # All gains from the line on, up to the end of the window: largest where the change belongs.
    return first + int(np.argmax(np.concatenate([np.cumsum(gain[::-1])[::-1], [0.0]])))
