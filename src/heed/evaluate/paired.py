"""Test whether one system is better than another or only lucky with the test set, by paired bootstrap resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heed.evaluate.resampling import RESAMPLES, SEED, require_resamples, sacrebleu_seed
from heed.evaluate.scoring import Metric, require_parallel

LEVEL = 0.05  # of significance


@dataclass(frozen=True)
class Comparison:
    """The scores of two systems on the same lines, by one metric."""

    name: str
    value: float
    baseline: float
    p_value: float
    signature: str
    lower_is_better: bool = False

    @property
    def difference(self) -> float:
        """Return the system's score minus the baseline's; `lower_is_better` tells whether a higher score is worse."""
        return self.value - self.baseline

    @property
    def significant(self) -> bool:
        return self.p_value < LEVEL

    @property
    def meaning(self) -> str:
        """Return the result as a sentence."""
        if self.difference == 0:
            return "the two systems score the same"
        if not self.significant:
            return f"this test set cannot tell the two systems apart (p is not below {LEVEL})"
        return f"significantly {self.direction} than the baseline (p is below {LEVEL})"

    @property
    def direction(self) -> str:
        return "better" if (self.difference > 0) != self.lower_is_better else "worse"

    def __str__(self) -> str:
        return (
            f"{self.name} = {self.value:.2f} against {self.baseline:.2f}: {self.difference:+.2f}, "
            f"p = {self.p_value:.4f}; {self.meaning} {self.name}|{self.signature}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, unrounded."""
        return {
            "name": self.name,
            "score": self.value,
            "baseline": self.baseline,
            "difference": self.difference,
            "p_value": self.p_value,
            "significant": self.significant,
            "level": LEVEL,
            "meaning": self.meaning,
            "signature": self.signature,
            "lower_is_better": self.lower_is_better,
        }


def compare(
    metric: Metric,
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    *references: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Test the difference between two systems with sacreBLEU's paired bootstrap.

    Both systems are scored on the same resamples of the test set. p is the share of resamples whose difference, minus
    the mean difference, exceeds the observed one: how often chance alone would do it. The test is one-sided, as in
    Moses, so its p is about half that of a two-sided test.

    Raises:
        DataError: there are no hypotheses, or their number differs from the references or the baseline.
        ConfigError: there are too few resamples.
    """
    require_parallel(hypotheses, references)
    require_parallel(baseline, references)
    require_resamples(resamples)
    from sacrebleu.significance import PairedTest

    systems = [("baseline", metric.prepare(baseline)), ("system", metric.prepare(hypotheses))]
    prepared_references = [metric.prepare(reference) for reference in references]
    counters = {metric.name: metric.counter()}
    with sacrebleu_seed(seed):
        test = PairedTest(systems, counters, prepared_references, test_type="bs", n_samples=resamples)
        signatures, columns = test()
    [(counted, signature)] = signatures.items()
    of_baseline, of_system = (result for result in columns[counted] if not isinstance(result, str))
    assert of_system.p_value is not None
    return Comparison(
        name=metric.name,
        value=float(of_system.score),
        baseline=float(of_baseline.score),
        # sacreBLEU counts only resamples *above* the observed difference, so it would call a system significantly
        # different from itself (p = 1/1001).
        p_value=1.0 if of_system.score == of_baseline.score else float(of_system.p_value),
        signature=metric.sign(signature),
        lower_is_better=metric.lower_is_better,
    )
