"""Alignments: Moses format, and the error rate calculated by hand."""

import pytest

from heed.errors import DataError
from heed.evaluate.alignment import Reference, alignment_score, read_reference, written


def test_links_are_written_by_source_word() -> None:
    assert written([(2, 0), (0, 1), (10, 3), (2, 5)]) == "0-1 2-0 2-5 10-3"
    assert written([]) == ""


def test_a_reference_has_sure_and_possible_links() -> None:
    assert read_reference(" 0-0 3?12  1-2", "x") == Reference(
        frozenset({(0, 0), (1, 2)}), frozenset({(0, 0), (1, 2), (3, 12)})
    )
    assert read_reference("", "x") == Reference(frozenset(), frozenset())


@pytest.mark.parametrize("word", ["0", "0-", "a-b", "0:1", "0-1-2", "-1-2", "0--1"])
def test_what_is_no_link_is_named(word: str) -> None:
    with pytest.raises(DataError, match=r"gold, line 7: .* is no link; write 0-0"):
        read_reference(f"0-0 {word}", "gold, line 7")


def test_the_error_rate_by_hand() -> None:
    """Och and Ney: over all pairs, 1 - (|A and S| + |A and P|) / (|A| + |S|)."""
    references = [read_reference("0-0 1-1 2?1", ""), read_reference("0-1", "")]
    found = [frozenset({(0, 0), (2, 1), (2, 2)}), frozenset({(0, 1)})]
    # |A| = 4, |S| = 3, in S: 0-0 and 0-1; in P: those and 2-1.
    score = alignment_score(found, references)
    assert score.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert score.precision == pytest.approx(3 / 4)
    assert score.recall == pytest.approx(2 / 3)
    assert score.n_pairs == 2


def test_all_sure_links_and_nothing_impossible_is_no_error() -> None:
    reference = read_reference("0-0 1-1 2?1", "")
    assert alignment_score([reference.sure], [reference]).error_rate == 0
    assert alignment_score([reference.possible], [reference]).error_rate == 0
    assert alignment_score([frozenset()], [reference]).error_rate == 1
