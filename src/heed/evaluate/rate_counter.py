"""Define a sacreBLEU metric for rates, so that sacreBLEU can resample and compare them like BLEU."""

from collections.abc import Callable, Sequence
from typing import Any

from sacrebleu.metrics.base import Metric, Score

# Returns (part, whole) of one line, given the hypothesis and its references.
CountLine = Callable[[str, Sequence[str]], tuple[int, int]]


class RateCounter(Metric):
    """Scores `100 * part / whole`, both summed over the lines."""

    def __init__(self, name: str, count_line: CountLine) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._name, self._count_line = name, count_line

    def _preprocess_segment(self, sent: str) -> str:
        return sent

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
        return list(self._count_line(hypothesis, ref_kwargs["references"]))

    def _aggregate_and_compute(self, stats: list[list[int]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Sequence[float]) -> Score:
        part, whole = (float(total) for total in stats)
        if whole == 0:  # every reference is blank, so any output is wrong
            return Score(self._name, 100.0 if part else 0.0)
        return Score(self._name, 100 * part / whole)
