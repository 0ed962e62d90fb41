"""Attention drawn with characters, for the terminal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SHADES = "·░▒▓█"  # one for each fifth of the weight
_BLANK_BELOW = 0.05  # of a row's weight


def words_of(pieces: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """Pieces put together into words: the words, and the numbers of each one's pieces."""
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
    """What a word looks at: the mean over its pieces; how much a word is looked at: the sum over its pieces."""
    summed = np.stack([weights_LM[:, members].sum(1) for members in columns], axis=1)
    return np.stack([summed[members].mean(0) for members in rows])


def grid(weights_LM: NDArray[np.float32], row_words: Sequence[str], column_words: Sequence[str]) -> str:
    """Draw a table: each row a word that looks, each column a word looked at, darker for more weight.

    Five shades, one for each fifth of the row's weight; less than 5 % is left blank.
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
