"""Define the validation criteria: the one that `train.metric` names chooses the best checkpoint of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from heed import wording
from heed.evaluate.bleu import Bleu
from heed.evaluate.chrf import ChrF
from heed.evaluate.error_rate import ErrorRate
from heed.evaluate.exact import ExactMatch
from heed.evaluate.scoring import Metric

_BLEU_WORDS = 4  # BLEU counts n-grams of up to four words, which a shorter line lacks


@dataclass(frozen=True)
class Criterion:
    """A number that ranks checkpoints."""

    key: str  # its name in the config, in events.jsonl and in best.json
    label: str  # its name in messages
    unit: str
    metric: Metric | None = None  # of strings; None: perplexity, which needs the model, or F1, which needs trees

    @property
    def lower_is_better(self) -> bool:
        return self.is_perplexity if self.metric is None else self.metric.lower_is_better

    @property
    def is_perplexity(self) -> bool:
        return self.key == "perplexity"

    def best(self, values: Sequence[float]) -> float | None:
        """Return the best of the values, or None without values."""
        return (min if self.lower_is_better else max)(values, default=None)

    def shown(self, value: float) -> str:
        """Return the value as text for messages."""
        return wording.perplexity(value) if self.is_perplexity else f"{value:.2f}"


PERPLEXITY = Criterion("perplexity", "perplexity", "per token, not smoothed")
BLEU = Criterion("bleu", "BLEU", "sacreBLEU, 0 to 100", Bleu())
CHRF = Criterion("chrf", "chrF2", "character n-grams, 0 to 100", ChrF())
F1 = Criterion("f1", "F1", "labelled brackets, every sentence counted, 0 to 100")
CRITERIA = {
    one.key: one
    for one in (
        PERPLEXITY,
        BLEU,
        CHRF,
        F1,
        Criterion("exact", "exact", "% of lines that equal the reference", ExactMatch()),
        Criterion("cer", "CER", "edits in % of reference characters", ErrorRate("char")),
        Criterion("wer", "WER", "edits in % of reference words", ErrorRate("word")),
    )
}


def criterion(key: str, references: Sequence[str]) -> Criterion:
    """Return the criterion of that key. "auto" is BLEU, or chrF if the references have too few words for BLEU."""
    if key == "auto":
        return CHRF if references and mean_words(references) < _BLEU_WORDS else BLEU
    return CRITERIA[key]


def mean_words(lines: Sequence[str]) -> float:
    return sum(len(line.split()) for line in lines) / len(lines)
