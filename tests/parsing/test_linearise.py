"""Trees as tokens and back, against sequences written by hand and by recursion."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heed.errors import DataError
from heed.parsing.linearise import BRACKETS, IN_ORDER, TOP_DOWN, Linearisation, statistics
from heed.parsing.trees import Tree, cleaned, parse_tree
from tests.parsing.conftest import LABELS, TAGS, WORDS, longest_unary, random_tree

KINDS = [
    Linearisation(in_order, labelled, tags)
    for in_order in (False, True)
    for labelled in (False, True)
    for tags in (False, True)
]
CAT = parse_tree("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))")


@pytest.mark.parametrize(
    "how, expected",
    [
        (BRACKETS, "(S (NP XX XX )NP (VP XX )VP XX )S"),
        (TOP_DOWN, "(S (NP XX XX ) (VP XX ) XX )"),
        (IN_ORDER, "XX (NP XX )NP (S XX (VP )VP XX )S"),
        (Linearisation(in_order=False, labelled_close=True, tags=True), "(S (NP DT NN )NP (VP VBZ )VP . )S"),
        (Linearisation(in_order=True, labelled_close=False, tags=True), "DT (NP NN ) (S VBZ (VP ) . )"),
    ],
)
def test_written_by_hand(how: Linearisation, expected: str) -> None:
    assert how.tokens(CAT) == expected.split()
    assert how.restore(expected.split(), CAT.words(), CAT.tags()) == CAT


def by_recursion(how: Linearisation, node: Tree) -> list[str]:
    """The definition, another way round."""
    if node.word is not None:
        return [node.label if how.tags else "XX"]
    first, *rest = (by_recursion(how, child) for child in node.children)
    head = [*first, f"({node.label}"] if how.in_order else [f"({node.label}", *first]
    return [*head, *(token for part in rest for token in part), f"){node.label}" if how.labelled_close else ")"]


words = st.builds(lambda tag, word: Tree(tag, word=word), st.sampled_from(TAGS), st.sampled_from(WORDS))
trees = st.recursive(
    words,
    lambda nodes: st.builds(
        lambda label, some: Tree(label, tuple(some)), st.sampled_from(LABELS), st.lists(nodes, min_size=1, max_size=4)
    ),
    max_leaves=25,
)


@given(trees)
def test_restoring_gives_the_same_tree(tree: Tree) -> None:
    for how in KINDS:
        tokens = how.tokens(tree)
        assert tokens == by_recursion(how, tree)
        assert set(tokens) <= set(how.vocabulary(LABELS, TAGS))
        assert how.restore(tokens, tree.words(), None if how.tags else tree.tags()) == tree


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_single_words_deep_chains_and_brackets_as_words(how: Linearisation) -> None:
    for text in (
        "(NN cat)",
        "(NP (NN cat))",
        "(X " * 3000 + "(NN cat)" + ")" * 3000,
        "(S (-LRB- -LRB-) (NP (NN [) (NN ])) (-RRB- -RRB-) (XX XX))",
    ):
        tree = parse_tree(text)
        assert str(how.restore(how.tokens(tree), tree.words(), tree.tags())) == text
    bare = how.restore(how.tokens(CAT), CAT.words())
    assert bare.tags() == (CAT.tags() if how.tags else ["XX"] * 4)
    assert bare.brackets() == CAT.brackets() and bare.words() == CAT.words()


@pytest.mark.parametrize(
    "how, tokens, problem",
    [
        (BRACKETS, "(S XX XX", "2 of 2 words, 1 open brackets and 0 trees at the end"),
        (BRACKETS, "(S XX )S", "1 of 2 words, 0 open brackets and 1 trees"),
        (BRACKETS, "(S XX XX XX )S", 'token 4, "XX", is a word too many; there are 2'),
        (BRACKETS, "(S XX XX )NP", 'token 4 is ")NP"; there is ")S"'),
        (BRACKETS, "XX XX )S", 'token 3 is ")S"; there is nothing to close'),
        (BRACKETS, "(S (NP )NP XX XX )S", 'token 3, ")NP", closes a bracket that holds nothing'),
        (BRACKETS, "(S XX )S (S XX )S", "2 of 2 words, 0 open brackets and 2 trees"),
        (BRACKETS, "", "0 of 2 words, 0 open brackets and 0 trees"),
        (IN_ORDER, "(S XX XX )S", 'token 1, "(S", has no node before it'),
        (IN_ORDER, "XX (S (NP XX )NP )S", 'token 3, "(NP", has no node before it'),
        (IN_ORDER, "XX XX (S )S", "2 of 2 words, 0 open brackets and 2 trees"),
    ],
)
def test_what_is_no_tree_is_refused(how: Linearisation, tokens: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        how.restore(tokens.split(), ["a", "b"])
    assert problem in str(caught.value)


def test_statistics_of_three_trees() -> None:
    found = statistics([CAT, parse_tree("(NP (NP (NP (NN a))) (NN b))"), parse_tree("(NN c)")])
    assert (found.n_trees, found.n_words, found.n_brackets) == (3, 7, 6)
    assert found.labels == {"NP": 4, "S": 1, "VP": 1}
    assert (found.most_words, found.most_tokens, found.most_extra) == (4, 10, 6)
    assert found.longest_unary == {0: 1, 1: 1, 2: 1}
    with pytest.raises(DataError, match="no trees"):
        statistics([])


def test_statistics_of_random_trees_against_recursion() -> None:
    draw = random.Random(1)
    for _ in range(50):
        tree = random_tree(draw, draw.randint(1, 12), unary=4)
        found = statistics([tree])
        assert found.longest_unary == {longest_unary(tree): 1}
        assert found.most_tokens == len(IN_ORDER.tokens(tree)) == len(TOP_DOWN.tokens(tree))


def test_craft(craft_trees: list[Tree]) -> None:
    clean = [tree for one in craft_trees if (tree := cleaned(one)) is not None]
    for tree in clean:
        for how in (BRACKETS, IN_ORDER, TOP_DOWN):
            assert how.restore(how.tokens(tree), tree.words(), tree.tags()) == tree
    found = statistics(clean)
    print(found)
    assert found.n_trees == 2780 and len(found.labels) == 28
