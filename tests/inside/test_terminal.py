"""Draw attention with characters."""

import numpy as np
import pytest

from heed.inside.terminal import grid
from heed.inside.words import by_words


def cells(weights: list[float]) -> list[str]:
    """Return the row that `grid` draws of these weights, by cell: words of four letters are six columns apart."""
    words = [f"wo{i:02d}" for i in range(len(weights))]
    header, row = grid(np.array([weights], dtype=np.float32), ["she"], words).split("\n")
    assert header == "     " + "".join(f" {word} " for word in words)
    assert row.startswith("she  ")
    return [row[5:].ljust(6 * len(words))[6 * i : 6 * i + 6].strip() for i in range(len(words))]


@pytest.mark.parametrize(
    "weight, shade",
    [
        (0.0, ""),
        (0.049, ""),
        (0.051, "····"),
        (0.199, "····"),
        (0.201, "░░░░"),
        (0.399, "░░░░"),
        (0.401, "▒▒▒▒"),
        (0.599, "▒▒▒▒"),
        (0.601, "▓▓▓▓"),
        (0.799, "▓▓▓▓"),
        (0.801, "████"),
        (1.0, "████"),
    ],
)
def test_there_are_five_visible_shades(weight: float, shade: str) -> None:
    assert cells([weight]) == [shade]


def test_six_equal_weights_are_all_visible() -> None:
    assert cells([1 / 6] * 6) == ["····"] * 6


def test_pieces_become_words_whose_weights_are_summed_by_column_and_averaged_by_row() -> None:
    members = [[0, 1], [2], [3]]
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.4, 0.2, 0.1]], dtype=np.float32)
    found = by_words(weights, [[0, 1]], members)
    assert found == pytest.approx(np.array([[0.5, 0.25, 0.25]]))
