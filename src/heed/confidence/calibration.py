"""Turn the log-probabilities of translations into the chance that they are good, as fitted on held-out text."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from heed.confidence.features import SENTENCE, WORD, sentence_features, word_features
from heed.confidence.logistic import Logistic
from heed.confidence.measures import Bin, calibration_error
from heed.translation import Translation, Word

FORMAT = 1


@dataclass(frozen=True)
class Trial:
    """How one kind of confidence did on held-out text that it was not fitted on."""

    n: int  # sentences, or words
    good: float  # the share of them that is good
    auc: float
    bins: list[Bin]

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return calibration_error(self.bins)


@dataclass(frozen=True)
class Calibration:
    """Two regressions, for translations and for words, and how they did on held-out text."""

    least_chrf: float  # a translation is good if its chrF2 against a reference is at least this
    sentence: Logistic
    word: Logistic
    n_fitted: int  # sentences
    sentence_trial: Trial
    word_trial: Trial

    @property
    def meaning(self) -> str:
        """What the numbers mean, in one sentence."""
        return (
            f"confidence: the chance that a translation has a chrF2 of at least {self.least_chrf:g} against a reference"
            " translation; of a word, that the reference has it"
        )

    def annotated(self, translations: Sequence[Translation]) -> list[Translation]:
        """Return translations, each in one part, with their confidence and that of their words."""
        return [self._annotated(one) for one in translations]

    def _annotated(self, translation: Translation) -> Translation:
        (confidence,) = self.sentence(np.array([sentence_features(translation)])).tolist()
        words = word_features(translation)
        confidences = self.word(np.array([features for _, features in words])).tolist() if words else []
        return replace(
            translation,
            confidence=confidence,
            words=tuple(Word(text, one) for (text, _), one in zip(words, confidences, strict=True)),
            alternatives=tuple(self.annotated(translation.alternatives)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "format": FORMAT,
            "good": {"metric": "chrF2", "at_least": self.least_chrf},
            "n_fitted": self.n_fitted,
            "sentence": _to_dict(self.sentence, SENTENCE, self.sentence_trial),
            "word": _to_dict(self.word, WORD, self.word_trial),
        }

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> "Calibration":
        """Return what `to_dict` returned.

        Raises:
            ValueError: it is not that; the message says what is wrong.
        """
        if given.get("format") != FORMAT:
            raise ValueError(f"it has format {given.get('format')!r}, but this heed reads format {FORMAT}")
        try:
            sentence, sentence_trial = _from_dict(given["sentence"], SENTENCE)
            word, word_trial = _from_dict(given["word"], WORD)
            least_chrf, n_fitted = _number(given["good"]["at_least"]), int(_number(given["n_fitted"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it lacks or misplaces a value: {error}") from None
        return cls(least_chrf, sentence, word, n_fitted, sentence_trial, word_trial)


def _to_dict(logistic: Logistic, features: Sequence[str], trial: Trial) -> dict[str, Any]:
    return {
        "bias": logistic.bias,
        "weights": dict(zip(features, logistic.weights, strict=True)),
        "test": {**asdict(trial), "calibration_error": trial.error},
    }


def _from_dict(given: dict[str, Any], features: Sequence[str]) -> tuple[Logistic, Trial]:
    weights, test = given["weights"], given["test"]
    if list(weights) != list(features):
        raise ValueError(f"it has other features than this version of heed: {', '.join(map(str, weights))}")
    bins = [Bin(int(_number(one["n"])), _number(one["said"]), _number(one["found"])) for one in test["bins"]]
    logistic = Logistic(_number(given["bias"]), tuple(map(_number, weights.values())))
    trial = Trial(int(_number(test["n"])), _number(test["good"]), _number(test["auc"]), bins)
    if trial.n < 1 or sum(one.n for one in bins) != trial.n:
        raise ValueError("the numbers in its bins do not add up")
    return logistic, trial


def _number(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not math.isfinite(given):
        raise ValueError(f"{given!r} is not a finite number")
    return float(given)
