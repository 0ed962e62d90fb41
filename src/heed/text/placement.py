"""Put a term where it belongs: in place of the words that attend to the source term."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heed.text.normalize import SPACE_MARK

# The least attention that a word must pay to the source term. Steps that write its translation usually pay most of
# theirs to it, other steps little; if none does, it is safer to search.
MIN_ATTENTION = 0.3

_MARKS_AROUND = re.compile(r"""([„“”"'‚‘’»«‹›(\[¿¡]*)(?=.*\w).*?([.,;:!?)\]"'”’“‘»«›‹…]*)""")

_PICTURE = re.compile("[\\u2600-\\u27bf\\U0001f000-\\U0001faff]")  # what an emoji may replace


def replaced(
    text: str,
    pieces: Sequence[str],
    attention_TS: NDArray[np.floating],
    terms: Sequence[tuple[str, Sequence[int], int]],
) -> str | None:
    """Return a translation in which terms replace the words that were written from their source terms.

    Row t of the attention weights is the step that wrote piece t. A term comes with the columns of its source term and
    the number of words to replace, at most. Marks around the words stay. None: it is not clear which words to replace.
    """
    words = text.split(" ")
    starts = [t for t, piece in enumerate(pieces) if piece.startswith(SPACE_MARK)]
    if len(starts) != len(words) or starts[0] != 0:
        return None
    ends = [*starts[1:], len(pieces)]
    new: dict[int, str] = {}
    for term, columns, n_words in terms:
        paid_T = attention_TS[:, columns].sum(1)
        paid = [float(paid_T[begin:end].max()) for begin, end in zip(starts, ends, strict=True)]
        first = last = int(np.argmax(paid))
        threshold = max(MIN_ATTENTION, paid[first] / 2)
        if paid[first] < threshold:
            return None
        padded = [-1.0, *paid, -1.0]  # so that both ends have a neighbour
        while last - first + 1 < n_words and max(padded[first], padded[last + 2]) >= threshold:
            if padded[first] > padded[last + 2]:
                first -= 1
            else:
                last += 1
        if any(word in new for word in range(first, last + 1)):
            return None
        span = " ".join(words[first : last + 1])
        marks = _MARKS_AROUND.fullmatch(span)
        if marks is None and not _PICTURE.search(span):
            return None
        new |= dict.fromkeys(range(first, last + 1), "")
        new[first] = term if marks is None else f"{marks[1]}{term}{marks[2]}"
    return " ".join(filter(None, (new.get(i, word) for i, word in enumerate(words))))
