"""Draw attention with characters, for the terminal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SHADES = "·░▒▓█"  # one for each fifth of the weight
_BLANK_BELOW = 0.05  # share of a row's weight


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
