"""Compute character and word error rates: edits that turn translations into their references, per reference unit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from heed.evaluate.canonical import canonical, sign_canonical

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Signature

    from heed.evaluate.rate_counter import RateCounter


@dataclass(frozen=True)
class ErrorRate:
    """CER or WER in percent: Levenshtein distance over the length of the reference, both summed over all lines.

    Words are separated by spaces; a space is a character like any other. Of several references, the one with the
    fewest edits counts. The rate may exceed 100, because a translation can be longer than its reference.
    """

    unit: Literal["char", "word"] = "char"
    lower_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "CER" if self.unit == "char" else "WER"

    def prepare(self, lines: Sequence[str]) -> list[str]:
        return [canonical(line) for line in lines]

    def counter(self) -> RateCounter:
        from heed.evaluate.rate_counter import RateCounter

        return RateCounter(self.name, self._count_line)

    def sign(self, counted: Signature) -> str:
        return sign_canonical(counted, self.unit)

    def _count_line(self, hypothesis: str, references: Sequence[str]) -> tuple[int, int]:
        """Return edits and reference length; of equally close references, the longer one counts."""
        units = [line if self.unit == "char" else line.split() for line in (hypothesis, *references)]
        counts = [(edit_distance(units[0], reference), len(reference)) for reference in units[1:]]
        return min(counts, key=lambda count: (count[0], -count[1]))


def edit_distance(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Return the Levenshtein distance: the fewest insertions, deletions and substitutions that turn `a` into `b`.

    This is Myers' bit-parallel algorithm (1999, in Hyyrö's form): two integers represent a column of the dynamic
    programming table. Their bits tell where the value rises (`up`) or falls (`down`) by one from a row to the next.
    """
    if a == b or not a or not b:
        return 0 if a == b else max(len(a), len(b))
    positions: dict[Hashable, int] = {}
    for i, symbol in enumerate(a):
        positions[symbol] = positions.get(symbol, 0) | 1 << i
    all_rows, last_row = (1 << len(a)) - 1, 1 << (len(a) - 1)
    up, down, distance = all_rows, 0, len(a)
    for symbol in b:
        equal = positions.get(symbol, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        right_up, right_down = down | ~(diagonal | up), up & diagonal
        distance += bool(right_up & last_row) - bool(right_down & last_row)
        right_up, right_down = right_up << 1 | 1, right_down << 1
        up, down = (right_down | ~(diagonal | right_up)) & all_rows, diagonal & right_up & all_rows
    return distance
