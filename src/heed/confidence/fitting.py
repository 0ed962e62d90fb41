"""Fit a calibration on held-out text: one half of it to fit, the other to test.

Lines with the same source sentence go to the same half, or the test would be on sentences that were fitted.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.confidence.calibration import Calibration, Trial
from heed.confidence.features import sentence_features, word_features
from heed.confidence.logistic import Logistic, fit
from heed.confidence.measures import auc, reliability
from heed.confidence.references import good_sentences, good_words
from heed.errors import DataError
from heed.translation import Translation
from heed.wording import counted

MIN_SENTENCES = 200
MIN_OF_EACH = 20  # good and bad ones in each half: ten for each weight would be better, but this many is a beginning

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


def calibrate(
    sources: Sequence[str], translations: Sequence[Translation], references: Sequence[str], least_chrf: float
) -> Calibration:
    """Fit on one half of the lines, and test on the other. Lines with a blank side, and those in parts, are left out.

    Raises:
        DataError: too few lines, or too few good or bad ones; the message says how many are needed.
    """
    usable = [
        i
        for i, (source, one) in enumerate(zip(sources, translations, strict=True))
        if source.strip() and references[i].strip() and one.log_probabilities and not one.cuts
    ]
    if len(usable) < MIN_SENTENCES:
        raise DataError(
            f"{counted(len(usable), 'sentence')} with a reference, but at least {MIN_SENTENCES} are needed to fit a "
            "confidence, and 2,000 are better; give more held-out text"
        )
    to_test = np.array([is_test_half(sources[i]) for i in usable])
    good = np.array(good_sentences([translations[i].text for i in usable], [references[i] for i in usable], least_chrf))
    features = np.array([sentence_features(translations[i]) for i in usable])
    advice = f"good is a chrF2 of at least {least_chrf:g}; choose another limit with --good, or give more text"
    sentence, sentence_trial = _fit(features, good, to_test, "translation", advice)

    words = [word_features(translations[i]) for i in usable]
    word_good = np.array(
        [
            one
            for i, found in zip(usable, words, strict=True)
            for one in good_words([w for w, _ in found], references[i])
        ]
    )
    word_features_NF = np.array([features for found in words for _, features in found])
    word_to_test = np.repeat(to_test, [len(found) for found in words])
    advice = "a word is good if the reference has it; give more text"
    word, word_trial = _fit(word_features_NF, word_good, word_to_test, "word", advice)
    return Calibration(least_chrf, sentence, word, int((~to_test).sum()), sentence_trial, word_trial)


def is_test_half(source: str) -> bool:
    """Return whether a source sentence is in the half for testing, ignoring case, spaces and punctuation."""
    letters = "".join(one for one in source.casefold() if one.isalnum())
    return hashlib.sha256((letters or source).encode(errors="surrogatepass")).digest()[0] % 2 == 1


def _fit(features_NF: Floats, good_N: Mask, to_test_N: Mask, what: str, advice: str) -> tuple[Logistic, Trial]:
    for half, chosen in (("fit", ~to_test_N), ("test", to_test_N)):
        n_good = int(good_N[chosen].sum())
        n_bad = int(chosen.sum()) - n_good
        for kind, n in (("good", n_good), ("bad", n_bad)):
            if n < MIN_OF_EACH:
                raise DataError(
                    f"only {counted(n, f'{kind} {what}')} in the half to {half} on, but at least {MIN_OF_EACH} are "
                    f"needed; {advice}"
                )
    fitted = fit(features_NF[~to_test_N], good_N[~to_test_N])
    confidence_N, tested_N = fitted(features_NF[to_test_N]), good_N[to_test_N]
    trial = Trial(
        len(tested_N), float(tested_N.mean()), auc(confidence_N, tested_N), reliability(confidence_N, tested_N)
    )
    return fitted, trial
