"""Compute chrF: the F-score of character n-grams (Popović 2015), which suits German compounds better than BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Signature
    from sacrebleu.metrics.chrf import CHRF


@dataclass(frozen=True)
class ChrF:
    """chrF2 as sacreBLEU computes it; chrF2++ with `word_order=2`."""

    word_order: int = 0
    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "chrF2" + "+" * self.word_order

    def prepare(self, lines: Sequence[str]) -> Sequence[str]:
        return lines

    def counter(self) -> CHRF:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=self.word_order)

    def sign(self, counted: Signature) -> str:
        return str(counted)
