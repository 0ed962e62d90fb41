"""Compute BLEU with sacreBLEU: from detokenised text, with one fixed tokenisation, comparable across papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from heed.errors import ConfigError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Signature
    from sacrebleu.metrics.bleu import BLEU

# sacreBLEU's tokenisations that need no other package and no download.
TOKENIZATIONS = ("13a", "intl", "zh", "char", "none")


@dataclass(frozen=True)
class Bleu:
    """BLEU as sacreBLEU computes it. Use `zh` or `char` for languages written without spaces."""

    tokenize: str = "13a"
    lowercase: bool = False
    lower_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.tokenize not in TOKENIZATIONS:
            known = ", ".join(TOKENIZATIONS)
            raise ConfigError(f'unknown tokenisation "{self.tokenize}"; choose one of {known}')

    @property
    def name(self) -> str:
        return "BLEU"

    def prepare(self, lines: Sequence[str]) -> Sequence[str]:
        return lines

    def counter(self) -> BLEU:
        from sacrebleu.metrics.bleu import BLEU

        # Without force, sacreBLEU itself prints that text looks tokenised, at every validation on such text.
        return BLEU(tokenize=self.tokenize, lowercase=self.lowercase, force=True)

    def sign(self, counted: Signature) -> str:
        return str(counted)
