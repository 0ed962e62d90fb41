"""Terms replace the words that were written from their source terms."""

import numpy as np
import pytest

from heed.text.placement import replaced

SOURCE = ["▁The", "▁dog", "▁saw", "▁the", "▁moun", "tain", "▁bike", ".", "</s>"]
PIECES = ["▁Der", "▁Hu", "nd", "▁sah", "▁„", "das", "▁Berg", "▁Rad", "“."]
TEXT = "Der Hund sah „das Berg Rad“."
ALIGNED = {0: 0, 1: 1, 2: 1, 3: 2, 4: 3, 5: 3, 6: 4, 7: 6, 8: 7}


def attention(focus: float = 0.8) -> np.ndarray:
    """Each step pays `focus` of its attention to one source piece, and the rest to all of them equally."""
    weights_TS = np.full((len(PIECES) + 1, len(SOURCE)), (1 - focus) / len(SOURCE))
    for t, s in (ALIGNED | {len(PIECES): 8}).items():
        weights_TS[t, s] += focus
    return weights_TS


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([("Köter", [1], 1)], "Der Köter sah „das Berg Rad“."),
        ([("Fahrrad", [6], 1)], "Der Hund sah „das Berg Fahrrad“."),  # the marks stay
        ([("jenes", [3], 1)], "Der Hund sah „jenes Berg Rad“."),
        ([("Mountainbike", [4, 5, 6], 2)], "Der Hund sah „das Mountainbike“."),
        ([("Mountainbike", [4, 5, 6], 1)], "Der Hund sah „das Mountainbike Rad“."),
        ([("böser alter Köter", [1], 1)], "Der böser alter Köter sah „das Berg Rad“."),
        ([("Rad", [6], 1), ("Köter", [1], 1)], "Der Köter sah „das Berg Rad“."),
        ([("Köter", [1], 1), ("Hund", [1], 1)], None),  # both from one word
        ([], TEXT),
    ],
)
def test_the_words_that_attend_to_the_source_term_are_replaced(terms, expected) -> None:
    assert replaced(TEXT, PIECES, attention(), terms) == expected


def test_a_word_that_attends_elsewhere_is_left_alone() -> None:
    assert replaced(TEXT, PIECES, attention(0.1), [("Köter", [1], 1)]) is None
    assert replaced(TEXT, PIECES, attention(), [("Köter", [], 1)]) is None


def test_a_place_without_letters_is_no_word() -> None:
    weights_TS = np.eye(3)
    assert replaced("Ja !", ["▁Ja", "▁!"], weights_TS, [("Nein", [0], 1)]) == "Nein !"
    assert replaced("Ja !", ["▁Ja", "▁!"], weights_TS, [("Nein", [1], 1)]) is None
    assert replaced("(Ja�), ja", ["▁(Ja�),", "▁ja"], weights_TS, [("Nein", [0], 1)]) == "(Nein), ja"


def test_pieces_that_do_not_tell_the_words_are_refused() -> None:
    assert replaced("Ja", ["Ja"], np.eye(2), [("Nein", [0], 1)]) is None
    assert replaced("", [], np.eye(1), [("Nein", [0], 1)]) is None
    assert replaced("a b", ["▁a", "▁", "▁b"], np.eye(4), [("c", [0], 1)]) is None


def test_an_emoji_replaces_another_one() -> None:
    assert replaced("Ja 👍", ["▁Ja", "▁👍"], np.eye(3), [("👋🏽", [1], 1)]) == "Ja 👋🏽"
