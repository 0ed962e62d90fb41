"""Compute exact match, the share of lines that equal their reference, for outputs too short for BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from heed.evaluate.canonical import canonical, sign_canonical

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Signature

    from heed.evaluate.rate_counter import RateCounter


@dataclass(frozen=True)
class ExactMatch:
    """The share of lines, in percent, that equal one of their references."""

    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "exact"

    def prepare(self, lines: Sequence[str]) -> list[str]:
        return [canonical(line) for line in lines]

    def counter(self) -> RateCounter:
        from heed.evaluate.rate_counter import RateCounter

        return RateCounter(self.name, lambda hypothesis, references: (int(hypothesis in references), 1))

    def sign(self, counted: Signature) -> str:
        return sign_canonical(counted, "line")
