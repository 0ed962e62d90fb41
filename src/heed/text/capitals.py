"""Sentences in capitals: in small letters for the model, which has seen few of them, and back in capitals for people.

What must be copied, such as an address, stays as it is, both ways.
"""

import re

from heed.text.copying import copied_spans

_MIN_LETTERS = 5  # of a single word: a shorter one may be an acronym
_LONE_I = re.compile(r"\bi\b")  # English I, or a number


def in_capitals(text: str) -> bool:
    """Return whether a text is written in capitals, apart from what must be copied."""
    if not any(map(str.isupper, text)):
        return False
    kept = "".join(one for one, is_copied in _parts(text) if not is_copied)
    letters = [one for one in kept if one.isalpha()]
    n_words = sum(any(map(str.isalpha, word)) for word in kept.split())
    if not all(one.isupper() or one == "ß" for one in letters) or (len(letters) < _MIN_LETTERS and n_words < 2):
        return False
    # In small letters, %S and WWW.EXAMPLE.ORG would be what must be copied.
    return [span.text for span in copied_spans(calmed(text))] == [span.text for span in copied_spans(text)]


def calmed(text: str) -> str:
    """Return a text in capitals as an ordinary sentence: in small letters, but for its first and a lone I."""
    found, has_begun = [], False
    for one, is_copied in _parts(text):
        if not is_copied:
            one = _LONE_I.sub("I", one.lower())
            at = next((i for i, letter in enumerate(one) if letter.isalpha()), None)
            if at is not None and not has_begun:
                one = one[:at] + one[at].upper() + one[at + 1 :]
        has_begun = has_begun or any(map(str.isalnum, one))
        found.append(one)
    return "".join(found)


def raised(text: str) -> str:
    """Return a text in capitals."""
    return "".join(one if is_copied else one.upper() for one, is_copied in _parts(text))


def _parts(text: str) -> list[tuple[str, bool]]:
    """Return a text in parts, and whether each must be copied."""
    found, at = [], 0
    for span in copied_spans(text):
        found += [(text[at : span.begin], False), (span.text, True)]
        at = span.end
    return [*found, (text[at:], False)]
