"""Kinds of errors against counts by hand, and against a count that visits every pair of brackets."""

import random
from collections import Counter

import pytest

from heed.parsing.evalb import count_always, totals
from heed.parsing.mistakes import Example, count_mistakes
from heed.parsing.parameters import Parameters
from heed.parsing.trees import Tree, parse_tree
from tests.parsing.conftest import random_tree
from tests.parsing.test_evalb import LABELS, constituents, like


def trees(*lines: str) -> list[Tree]:
    return [parse_tree(line) for line in lines]


def test_kinds_counted_by_hand() -> None:
    gold, predicted = trees(
        "(S (NP (PRP We)) (VP (VBD saw) (NP (NP (NN rain)) (PP (IN in) (NP (NNP May)))) (. .)))",
        # The PP hangs on the verb, and May is an ADVP; the NP over "saw rain" crosses the gold "rain in May".
        "(S (NP (PRP We)) (VP (NP (VBD saw) (NP (NN rain))) (PP (IN in) (ADVP (NNP May))) (. .)))",
    )
    found = count_mistakes([(gold, predicted)], Parameters())
    assert {name: dict(kind.labels) for name, kind in found.kinds.items()} == {
        "wrong label": {"NP": 1},
        "missing": {"NP": 1},
        "crossing": {"NP": 1},
        "spurious": {},
    }
    assert found.confusions == {("NP", "ADVP"): 1}
    assert found.kinds["crossing"].example == Example(1, 6, "We saw [NP rain in May] .", "We [NP saw rain] in May .")
    assert found.kinds["missing"].example == Example(1, 6, "We saw [NP rain in May] .", "")
    assert found.kinds["wrong label"].example == Example(
        1, 6, "We saw rain in [NP May] .", "We saw rain in [ADVP May] ."
    )
    noun_phrases = found.labels["NP"]
    assert (noun_phrases.gold, noun_phrases.predicted, noun_phrases.matched, noun_phrases.other_label) == (4, 3, 2, 1)


def test_what_cannot_be_compared_is_missing_and_spurious() -> None:
    gold, other = trees("(S (NP (PRP It)) (VP (VBZ rains)))", "(S (NP (PRP It)) (VP (VBZ snows)))")
    found = count_mistakes([(gold, other), (gold, None)], Parameters())
    assert {name: kind.count for name, kind in found.kinds.items()} == {
        "wrong label": 0,
        "missing": 6,
        "crossing": 0,
        "spurious": 3,
    }
    assert all(kind.example is None for kind in found.kinds.values())


def test_labels_that_count_as_equal_are_one_label() -> None:
    """EVALB's COLLINS.prm takes PRT for ADVP: nothing is wrong, so each label has a score of 100 or no brackets."""
    gold, predicted = trees("(VP (VB go) (ADVP (RB on)) (PP (IN by)))", "(VP (VB go) (PRT (RB on)) (PP (IN by)))")
    found = count_mistakes([(gold, predicted)], Parameters())
    assert {label: (one.gold, one.predicted, one.f1) for label, one in found.labels.items()} == dict.fromkeys(
        ("VP", "ADVP", "PP"), (1, 1, 100.0)
    )


def test_the_example_is_the_shortest() -> None:
    long, short = trees("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)))", "(S (NP (PRP It)) (VP (VBZ rains)))")
    wrong = trees("(S (NP (DT The) (NN cat)) (NP (VBZ sleeps)))", "(S (VP (PRP It)) (VP (VBZ rains)))")
    for order in (1, -1):
        pairs = list(zip((long, short), wrong, strict=True))[::order]
        example = count_mistakes(pairs, Parameters()).kinds["wrong label"].example
        assert example is not None and example.predicted == "[VP It] rains"


def test_examples_leave_traces_out() -> None:
    (gold,) = trees("(S (NP (-NONE- *)) (VP (VB Go) (NP (-NONE- *T*)) (NP (NN home))))")
    (predicted,) = trees("(S (VP (VB Go) (ADVP (NN home))))")
    example = count_mistakes([(gold, predicted)], Parameters()).kinds["wrong label"].example
    assert example == Example(1, 2, "Go [NP home]", "Go [ADVP home]")


def by_loops(gold: Tree, predicted: Tree) -> Counter[str]:
    """How many brackets of each kind there are, from sets of words."""
    right, other = constituents(gold)[1], constituents(predicted)[1]
    missing, extra = list((right - other).elements()), list((other - right).elements())
    kinds: Counter[str] = Counter()
    for label, words in list(missing):
        for one in extra:
            if one[1] == words:
                kinds["wrong label"] += 1
                missing.remove((label, words))
                extra.remove(one)
                break
    kinds["missing"] = len(missing)
    for _, words in extra:
        is_crossing = any(words & each and words - each and each - words for _, each in right)
        kinds["crossing" if is_crossing else "spurious"] += 1
    return kinds


@pytest.mark.parametrize("seed", [1, 2])
def test_random_trees_against_loops(seed: int) -> None:
    draw, pairs = random.Random(seed), []
    expected: Counter[str] = Counter()
    for _ in range(300):
        gold = like(draw, random_tree(draw, draw.randint(1, 12), unary=3, labels=LABELS), 1.0)
        predicted = like(draw, gold, 0.0)  # the same tags, so that both keep the same words
        pairs.append((gold, predicted))
        expected += by_loops(gold, predicted)
    found = count_mistakes(pairs, Parameters())
    assert {name: kind.count for name, kind in found.kinds.items()} == expected
    assert min(expected.values()) > 50
    assert found.confusions.total() == sum(one.other_label for one in found.labels.values()) == expected["wrong label"]
    # Each bracket is of one kind, and the sums are those of the scores.
    total = totals([count_always(*pair, Parameters()) for pair in pairs], every_sentence=True)
    assert total.gold == total.matched + expected["wrong label"] + expected["missing"]
    assert total.predicted == total.matched + expected["wrong label"] + expected["crossing"] + expected["spurious"]
    for name in ("gold", "predicted", "matched"):
        assert sum(getattr(one, name) for one in found.labels.values()) == getattr(total, name)
