"""Sentences in capitals: in small letters for the model, which has seen few of them, and back in capitals for people.

What must be copied, such as an address, stays as it is, both ways.
"""

from heed.text.copying import copied_spans

_MIN_LETTERS = 5  # of a single word: a shorter one may be an acronym


def in_capitals(text: str) -> bool:
    """Return whether a text is written in capitals, apart from what must be copied."""
    kept = "".join(one for one, is_copied in _parts(text) if not is_copied)
    n_letters = sum(map(str.isalpha, kept))
    return kept.isupper() and (n_letters >= _MIN_LETTERS or len(kept.split()) > 1)


def calmed(text: str) -> str:
    """Return a text in capitals as an ordinary sentence: in small letters, but for its first."""
    found, has_begun = [], False
    for one, is_copied in _parts(text):
        if not is_copied:
            one = one.lower()
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
