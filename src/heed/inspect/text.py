"""Draw attention with characters, for the terminal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SHADES = "·░▒▓█"  # one for each fifth of the weight
_BLANK_BELOW = 0.05  # share of a row's weight


def words_of(pieces: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """Join pieces to words; return the words, and the indices of the pieces of each."""
    words: list[str] = []
    members: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if not words or piece.startswith("▁") or piece == "</s>":
            words.append("(end)" if piece == "</s>" else "")
            members.append([])
        if piece != "</s>":
            words[-1] += piece.removeprefix("▁")
        members[-1].append(i)
    return words, members


def by_words(weights_LM: NDArray[np.float32], rows: list[list[int]], columns: list[list[int]]) -> NDArray[np.float32]:
    """Return attention between words: the mean over the pieces of a row's word, the sum over those of a column's."""
    summed = np.stack([weights_LM[:, members].sum(1) for members in columns], axis=1)
    return np.stack([summed[members].mean(0) for members in rows])


def grid(weights_LM: NDArray[np.float32], row_words: Sequence[str], column_words: Sequence[str]) -> str:
    """Draw attention from each row's word to each column's word, darker for more weight.

    There are five shades, one for each fifth of the row's weight; less than 5 % is blank.
    """
    left = max(map(len, row_words)) + 2
    widths = [max(len(word), 4) + 2 for word in column_words]
    lines = [" " * left + "".join(word.center(width) for word, width in zip(column_words, widths, strict=True))]
    for word, row in zip(row_words, weights_LM, strict=True):
        cells = []
        for weight, width in zip(row, widths, strict=True):
            shade = _SHADES[min(int(weight * len(_SHADES)), len(_SHADES) - 1)] if weight >= _BLANK_BELOW else " "
            cells.append((shade * 4).center(width))
        lines.append(word.rjust(left - 2) + "  " + "".join(cells).rstrip())
    return "\n".join(lines)
