"""Which translations and words are good, judged by a reference."""

import re
from collections import Counter
from collections.abc import Sequence

from heed.evaluate.chrf import ChrF
from heed.text.spelling import has_unspaced_script

_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


def good_sentences(translations: Sequence[str], references: Sequence[str], least_chrf: float) -> list[bool]:
    """Return for each translation whether its chrF2 against its reference is at least `least_chrf`."""
    counter = ChrF().counter()
    return [
        counter.sentence_score(translation, [reference]).score >= least_chrf
        for translation, reference in zip(translations, references, strict=True)
    ]


def good_words(words: Sequence[str], reference: str) -> list[bool]:
    """Return for each word of a translation whether the reference has it, ignoring case and punctuation around it.

    A word that the reference has once is good once. In scripts without spaces, a word may be anywhere in the reference.
    """
    in_reference, used = Counter(map(_plain, reference.split())), Counter[str]()
    found = []
    for word in map(_plain, words):
        n = reference.casefold().count(word) if has_unspaced_script(word) else in_reference[word]
        found.append(used[word] < n)
        used[word] += 1
    return found


def _plain(word: str) -> str:
    """Return a word in lower case without punctuation around it; punctuation alone stays as it is."""
    inner = _AROUND.sub("", word)
    return (inner or word).casefold()
