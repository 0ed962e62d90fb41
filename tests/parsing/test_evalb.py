"""Scores of trees against EVALB's own output, another implementation, and counts by hand."""

import random
from collections import Counter
from pathlib import Path

import pytest

from heed.errors import DataError
from heed.parsing.evalb import Counts, Status, count_always, count_as_evalb, pair_up, read_sentences, totals
from heed.parsing.parameters import Parameters, read_parameters
from heed.parsing.trees import Tree, parse_tree
from tests.parsing.conftest import data_folder, random_tree

FILES = {
    "sample": ("sample.gld", "sample.tst", "sample.prm", "sample.rsl"),
    "bug": ("bug.gld", "bug.tst", "new.prm", "bug.rsl-new"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_sentence_equals_evalbs_own_output(name: str) -> None:
    folder = data_folder("evalb")
    gold, predicted, prm, output = (folder / file for file in FILES[name])
    parameters = read_parameters(prm)
    pairs = pair_up(read_sentences(gold), read_sentences(predicted), "gold", "predicted")
    counts = [count_as_evalb(*pair, parameters) for pair in pairs]
    _, rows, rest = output.read_text(encoding="utf-8").replace("\r", "").split("=" * 76 + "\n")
    expected = [row.split() for row in rows.splitlines()]
    assert len(expected) == len(counts) == {"sample": 24, "bug": 5}[name]
    for number, (row, one) in enumerate(zip(expected, counts, strict=True), 1):
        percent = [
            f"{100 * part / whole if whole else 0:.2f}"
            for part, whole in ((one.matched, one.gold), (one.matched, one.predicted), (one.right_tags, one.words))
        ]
        ours = [number, one.length, int(one.status), *percent[:2], one.matched, one.gold, one.predicted]
        assert row == [str(value) for value in [*ours, one.crossing, one.words, one.right_tags, percent[2]]]
    for part, summary in zip((None, 40), rest.split("-- ")[1:], strict=False):
        _check_summary(summary, counts, part)


def _check_summary(summary: str, counts: list[Counts], longest: int | None) -> None:
    found = totals(counts, False, longest)
    lines = [line.split("=") for line in summary.splitlines() if " = " in line]
    values = {key.strip(): value.strip() for key, value in lines}
    for key, value in {
        "Number of sentence": found.sentences,
        "Number of Error sentence": found.words_differ,
        "Number of Skip  sentence": found.no_tree,
        "Number of Valid sentence": found.counted,
    }.items():
        assert values.pop(key) == str(value)
    for key, score in {
        "Bracketing Recall": found.recall,
        "Bracketing Precision": found.precision,
        "Bracketing FMeasure": found.f1,
        "Complete match": found.exact_match,
        "Average crossing": found.average_crossing,
        "No crossing": found.no_crossing,
        "2 or less crossing": found.two_or_less_crossing,
        "Tagging accuracy": found.tagging_accuracy,
    }.items():
        assert values.pop(key, f"{score:.2f}") == f"{score:.2f}", key
    assert values == {}


# --- another implementation -------------------------------------------------------------------------------

PUNCTUATION = {",", ":", "``", "''", "."}


def constituents(tree: Tree) -> tuple[list[tuple[str, str]], Counter[tuple[str, frozenset[int]]]]:
    """The (word, tag) pairs that count, and the brackets as labels of sets of word numbers: by recursion, in sets."""
    leaves: list[tuple[str, str]] = []
    brackets: Counter[tuple[str, frozenset[int]]] = Counter()

    def visit(node: Tree) -> frozenset[int]:
        if node.word is not None:
            if node.label in PUNCTUATION or node.label == "-NONE-":
                return frozenset()
            leaves.append((node.word, node.label))
            return frozenset([len(leaves) - 1])
        inside = frozenset[int]().union(*[visit(child) for child in node.children])
        label = node.label.split("-")[0].split("=")[0].replace("PRT", "ADVP")
        if inside and label not in ("TOP", "S1", "ROOT"):
            brackets[label, inside] += 1
        return inside

    visit(tree)
    return leaves, brackets


def by_sets(gold: Tree, predicted: Tree) -> tuple[int, ...] | None:
    """matched, gold, predicted, crossing, words, right tags; None if the words differ."""
    right, right_brackets = constituents(gold)
    other, other_brackets = constituents(predicted)
    if [word for word, _ in right] != [word for word, _ in other]:
        return None
    crossing = sum(
        n for (_, b), n in other_brackets.items() if any(a & b and a - b and b - a for _, a in right_brackets)
    )
    tags = sum(one == two for one, two in zip(right, other, strict=True))
    matched = (right_brackets & other_brackets).total()
    return matched, right_brackets.total(), other_brackets.total(), crossing, len(right), tags


LABELS = ["S", "NP", "NP-SBJ", "NP=2", "VP", "ADVP", "PRT", "TOP", "X"]
TAGS = ["NN", "DT", "VB", ",", ".", "``", "-NONE-", "-LRB-"]


def like(draw: random.Random, tree: Tree, retag: float) -> Tree:
    """Another tree over the same words, some of them tagged otherwise."""
    leaves = iter(tree.leaves())
    other = random_tree(draw, len(tree.words()), unary=3, labels=LABELS)

    def put(node: Tree, children: tuple[Tree, ...]) -> Tree:
        if children:
            return Tree(node.label, children)
        leaf = next(leaves)
        return Tree(draw.choice(TAGS) if draw.random() < retag else leaf.label, word=leaf.word)

    made = other.rebuilt(put)
    assert made is not None
    return made


@pytest.mark.parametrize("retag", [0.0, 0.05, 0.3])
def test_random_trees_against_sets_of_words(retag: float) -> None:
    draw = random.Random(11)
    statuses: Counter[Status] = Counter()
    for _ in range(600):
        blank = random_tree(draw, draw.randint(1, 14), unary=3, labels=LABELS)
        gold = like(draw, blank, 1.0)
        predicted = like(draw, gold, retag)
        found = count_as_evalb(gold, predicted, Parameters())
        statuses[found.status] += 1
        expected = by_sets(gold, predicted)
        ours = (found.matched, found.gold, found.predicted, found.crossing, found.words, found.right_tags)
        if found.status == Status.NO_TREE:
            assert constituents(predicted)[0] == []
        elif found.status == Status.WORDS_DIFFER:
            assert expected is None
        else:
            assert ours == expected
        always = count_always(gold, predicted, Parameters())
        if retag == 0 and found.status == Status.COMPARED:
            assert always == found
    assert statuses[Status.COMPARED] > 100 and (retag == 0 or statuses[Status.WORDS_DIFFER] > 10)


# --- every sentence counted -------------------------------------------------------------------------------

GOLD = parse_tree("(TOP (S (NP (DT The) (NN cat)) (, ,) (VP (VBZ sleeps)) (. .)))")


def test_a_wrong_tag_of_punctuation_does_not_hide_a_sentence() -> None:
    wrong_comma = parse_tree("(S (NP (DT The) (NN cat)) (NP (NN ,)) (VP (VBZ sleeps)) (. .))")
    assert count_as_evalb(GOLD, wrong_comma, Parameters()).status == Status.WORDS_DIFFER
    found = count_always(GOLD, wrong_comma, Parameters())
    # The comma is left out, as its right tag says, and with it the NP that holds nothing else.
    assert (found.matched, found.gold, found.predicted, found.words, found.right_tags) == (3, 3, 3, 3, 3)
    wrong_word = parse_tree("(S (NP (DT The) (, cat)) (, ,) (VP (VBZ sleeps)) (. .))")
    found = count_always(GOLD, wrong_word, Parameters())
    assert (found.matched, found.gold, found.predicted, found.words, found.right_tags) == (3, 3, 3, 3, 2)


def test_what_cannot_be_compared_counts_as_wrong() -> None:
    other_words = parse_tree("(S (NP (DT The) (NN dog)) (, ,) (VP (VBZ sleeps)) (. .))")
    counts = [count_always(GOLD, one, Parameters()) for one in (GOLD, None, other_words)]
    assert [(one.matched, one.gold, one.predicted) for one in counts] == [(3, 3, 3), (0, 3, 0), (0, 3, 3)]
    found = totals(counts, every_sentence=True)
    assert (found.counted, found.no_tree, found.words_differ) == (3, 1, 1)
    assert found.recall == pytest.approx(100 / 3) and found.precision == 50 and found.f1 == 40
    assert found.exact_match == found.no_crossing == pytest.approx(100 / 3)
    assert found.tagging_accuracy == pytest.approx(100 / 3)
    raw = totals([count_as_evalb(GOLD, one, Parameters()) for one in (GOLD, None, other_words)], every_sentence=False)
    assert (raw.counted, raw.f1, raw.exact_match) == (1, 100, 100)


def test_a_parser_that_leaves_punctuation_out_is_compared() -> None:
    bare = parse_tree("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)))")
    assert count_always(GOLD, bare, Parameters()) == count_as_evalb(GOLD, bare, Parameters())
    assert count_always(GOLD, bare, Parameters()).matched == 3


# --- parameters -------------------------------------------------------------------------------------------


def test_parameters_change_what_is_counted(tmp_path: Path) -> None:
    (tmp_path / "x.prm").write_text(
        "# a comment\nDEBUG 0\n\nLABELED 0\nCUTOFF_LEN 3\nMAX_ERROR 2\nDELETE_LABEL .\nEQ_WORD cat Cat\n"
        "DELETE_LABEL_FOR_LENGTH ,\nDISC_ONLY 0\nEQ_LABEL NN NNP\n",
        encoding="utf-8",
    )
    parameters = read_parameters(tmp_path / "x.prm")
    assert (parameters.cutoff, parameters.max_errors, parameters.labelled) == (3, 2, False)
    predicted = parse_tree("(TOP (X (Y (DT The) (NNP Cat)) (, ,) (VP (VBZ sleeps)) (. .)))")
    found = count_as_evalb(GOLD, predicted, parameters)
    # TOP is not deleted, labels do not matter, and the comma is a word.
    assert (found.matched, found.gold, found.words, found.right_tags, found.length) == (4, 4, 4, 4, 4)


@pytest.mark.parametrize(
    "line, problem",
    [
        ("DELETE_LABLE TOP", 'there is no parameter "DELETE_LABLE"; there are DELETE_LABEL, '),
        ("EQ_LABEL ADVP", "EQ_LABEL needs 2 values, not 1"),
        ("DELETE_LABEL", "DELETE_LABEL needs 1 value, not 0"),
        ("CUTOFF_LEN forty", "CUTOFF_LEN must be a whole number, not forty"),
        ("LABELED 2", "LABELED must be 0 or 1, not 2"),
        ("DISC_ONLY 1", "DISC_ONLY must be 0"),
    ],
)
def test_wrong_parameters_are_named(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "x.prm").write_text(f"LABELED 1\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_parameters(tmp_path / "x.prm")
    assert f"x.prm, line 2: {problem}" in str(caught.value)


def test_quotes_that_one_tree_alone_leaves_out_are_kept() -> None:
    parameters = Parameters(quotes=frozenset(["POS", "''"]))
    possessive = parse_tree("(S (NP (NNS cats) (POS ')) (NN food))")
    quote = parse_tree("(S (NP (NNS cats)) ('' ') (NN food))")
    for gold, predicted in ((possessive, quote), (quote, possessive)):
        assert count_as_evalb(gold, predicted, Parameters()).status == Status.WORDS_DIFFER
        found = count_as_evalb(gold, predicted, parameters)
        # S matches; NP ends before the quote in one tree and after it in the other.
        assert (found.status, found.matched, found.words, found.right_tags) == (Status.COMPARED, 1, 3, 2)


def test_a_tree_of_punctuation_alone_is_none_to_evalb() -> None:
    found = count_as_evalb(parse_tree("(S (NN a))"), parse_tree("(S (. a))"), Parameters())
    assert found.status == Status.NO_TREE and "no words are left" in found.problem


# --- files ------------------------------------------------------------------------------------------------


def test_one_tree_a_line_or_over_several(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("(S (NN a))\n\n(())\n(NN a) (NN b)\n", encoding="utf-8")
    (tmp_path / "mrg").write_text("\n( (S\n  (NN a)) )\n( (S (NN b)) )\n", encoding="utf-8")
    assert [str(tree) for tree in read_sentences(tmp_path / "lines")] == [
        "(S (NN a))",
        "None",
        "None",
        "( (NN a) (NN b))",
    ]
    assert [str(tree) for tree in read_sentences(tmp_path / "mrg")] == ["( (S (NN a)))", "( (S (NN b)))"]
    for text in ("(S (NN a))\n( (S\n (NN b)) )\n\n(S (NN c))\n", "( (S\n (NN a)) )\n\n\n(S (NN b))\n(S (NN c))\n"):
        (tmp_path / "mixed").write_text(text, encoding="utf-8")
        assert [tree and tree.words() for tree in read_sentences(tmp_path / "mixed")] == [["a"], ["b"], ["c"]]
    (tmp_path / "bad").write_text("(S (NN a))\n(S (NN a)\n(S (NN a))\n", encoding="utf-8")
    with pytest.raises(DataError, match=r'bad, line 2, column 1: "\(" is never closed'):
        read_sentences(tmp_path / "bad")
    (tmp_path / "bad").write_text("( (S\n (NN a)) )\n(S (NN b)\n", encoding="utf-8")
    with pytest.raises(DataError, match=r'bad, line 3, column 1: "\(" is never closed'):
        read_sentences(tmp_path / "bad")


def test_files_must_belong_together() -> None:
    assert len(pair_up([GOLD, None], [None, None, None], "g", "p")) == 1  # empty lines at the end
    assert pair_up([None, GOLD, None, GOLD], [GOLD, None], "g", "p") == [(GOLD, GOLD), (GOLD, None)]
    with pytest.raises(DataError, match="g has 2 trees but p has 1; each must have one tree per sentence"):
        pair_up([GOLD, GOLD], [GOLD], "g", "p")
    with pytest.raises(DataError, match="g, line 1: an empty tree"):
        pair_up([None, GOLD], [GOLD, GOLD], "g", "p")
    with pytest.raises(DataError, match="g: holds no trees"):
        pair_up([None], [GOLD], "g", "p")
