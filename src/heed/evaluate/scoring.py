"""Score translations against references by a metric, with a signature that records how."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from heed.errors import DataError
from heed.evaluate.resampling import RESAMPLES, SEED, require_resamples, sacrebleu_seed

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as Counter
    from sacrebleu.metrics.base import Signature


class Metric(Protocol):
    """The interface of a metric for `score` and `compare`; sacreBLEU aggregates and resamples all metrics."""

    @property
    def name(self) -> str:
        """Return the name of its scores."""
        ...

    @property
    def lower_is_better(self) -> bool:
        """Return whether it counts errors."""
        ...

    def prepare(self, lines: Sequence[str]) -> Sequence[str]:
        """Return the lines as the counter needs them, both for hypotheses and for references."""
        ...

    def counter(self) -> Counter:
        """Return a new sacreBLEU metric for prepared lines."""
        ...

    def sign(self, counted: Signature) -> str:
        """Return the signature of the score, given sacreBLEU's signature."""
        ...


@dataclass(frozen=True)
class NgramCounts:
    """The counts BLEU is computed from. Index n - 1 of each tuple is for n-grams."""

    correct: tuple[int, ...]
    total: tuple[int, ...]
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int

    @property
    def ratio(self) -> float:
        """Return the length of the hypotheses divided by that of the references."""
        return self.hypothesis_length / self.reference_length if self.reference_length else 0.0

    def __str__(self) -> str:
        precisions = "/".join(f"{precision:.1f}" for precision in self.precisions)
        return (
            f"{precisions} (BP = {self.brevity_penalty:.3f} ratio = {self.ratio:.3f} "
            f"hyp_len = {self.hypothesis_length} ref_len = {self.reference_length})"
        )


@dataclass(frozen=True)
class Score:
    """A score, usually from 0 to 100, with the signature that must be quoted with it.

    `mean` and `half_width` are sacreBLEU's: the mean over bootstrap resamples, and half the distance between their
    2.5 and 97.5 percentiles.
    """

    name: str
    value: float
    signature: str
    mean: float | None = None
    half_width: float | None = None
    ngrams: NgramCounts | None = None
    lower_is_better: bool = False

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % confidence interval, `mean` plus and minus `half_width`; None without resampling."""
        if self.mean is None or self.half_width is None:
            return None
        highest = math.inf if self.lower_is_better else 100.0  # an error rate may exceed 100
        return max(0.0, self.mean - self.half_width), min(highest, self.mean + self.half_width)

    def made_by(self, decoding: str) -> Score:
        """Return the same score, with `decoding_signature` added to its signature."""
        return dataclasses.replace(self, signature=f"{self.signature}|{decoding}")

    def __str__(self) -> str:
        line = f"{self.name} = {self.value:.2f}"
        if self.interval is not None:
            low, high = self.interval
            line += f" [{low:.2f}, {high:.2f}]"
        if self.ngrams is not None:
            line += f" {self.ngrams}"
        return f"{line} {self.name}|{self.signature}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, unrounded and without unknown ones."""
        plain: dict[str, Any] = {
            "name": self.name,
            "score": self.value,
            "signature": self.signature,
            "lower_is_better": self.lower_is_better,
        }
        if self.interval is not None:
            plain["confidence"] = {
                "level": 0.95,
                "low": self.interval[0],
                "high": self.interval[1],
                "mean": self.mean,
                "half_width": self.half_width,
            }
        if self.ngrams is not None:
            plain |= dataclasses.asdict(self.ngrams) | {"ratio": self.ngrams.ratio}
        return plain


def score(
    metric: Metric,
    hypotheses: Sequence[str],
    *references: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """Score translations against one or more references of the same lines.

    With `resamples=0`, no confidence interval is estimated. Resampling needs about 50 bytes of memory for each line
    and resample: 1000 resamples of 3000 lines take 0.2 GB.

    Raises:
        DataError: there are no hypotheses, or their number differs from the references.
        ConfigError: there are too few resamples.
    """
    require_parallel(hypotheses, references)
    if resamples:
        require_resamples(resamples)
    prepared = metric.prepare(hypotheses)
    prepared_references = [metric.prepare(reference) for reference in references]
    counter = metric.counter()
    with sacrebleu_seed(seed):
        counted = counter.corpus_score(prepared, prepared_references, n_bootstrap=resamples)
    return Score(
        name=metric.name,
        value=float(counted.score),
        signature=metric.sign(counter.get_signature()),
        # Private attributes, because sacreBLEU rounds these numbers in everything it prints.
        mean=float(counted._mean) if resamples else None,
        half_width=float(counted._ci) if resamples else None,
        ngrams=_ngram_counts(counted),
        lower_is_better=metric.lower_is_better,
    )


def require_parallel(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Check that hypotheses and references have the same number of lines.

    Raises:
        DataError: the numbers differ, or there is nothing to score.
    """
    if isinstance(hypotheses, str) or any(isinstance(reference, str) for reference in references):
        raise TypeError("hypotheses and each reference must be a sequence of lines, not one string")
    if not references:
        raise DataError("no reference given; a score needs at least one")
    if not hypotheses:
        raise DataError("no hypotheses to score: the input has no lines")
    for reference in references:
        if len(reference) != len(hypotheses):
            raise DataError(
                f"{len(hypotheses)} hypotheses, but {len(reference)} references; "
                "both must have one line per sentence, in the same order"
            )


def _ngram_counts(counted: Any) -> NgramCounts | None:
    if not hasattr(counted, "bp"):  # only BLEU has them
        return None
    return NgramCounts(
        correct=tuple(int(n) for n in counted.counts),
        total=tuple(int(n) for n in counted.totals),
        precisions=tuple(float(p) for p in counted.precisions),
        brevity_penalty=float(counted.bp),
        hypothesis_length=int(counted.sys_len),
        reference_length=int(counted.ref_len),
    )
