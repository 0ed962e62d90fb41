"""Search under a tree constraint: everything it lets through is a tree, and it lets every tree through."""

import itertools
import random

import numpy as np
import pytest
import torch

from heed.decode.beam import beam_search
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelStep
from heed.decode.sampling import sample
from heed.decode.search import Task
from heed.model.transformer import Transformer
from heed.options import Sampling
from heed.parsing.constraint import MAX_UNARY, TreeTokens, shortest, tree_constraint
from heed.parsing.linearise import BRACKETS, IN_ORDER, TOP_DOWN, Linearisation, statistics
from heed.parsing.trees import Tree, cleaned
from heed.vocabulary import Vocabulary
from tests.conftest import small_config
from tests.parsing.conftest import LABELS, TAGS, longest_unary, random_tree

START, END, FIRST = 0, 1, 3
TAGGED = Linearisation(in_order=True, labelled_close=True, tags=True)
KINDS = [BRACKETS, TOP_DOWN, IN_ORDER, TAGGED, Linearisation(in_order=True, labelled_close=False)]


def vocabulary(how, labels=LABELS, tags=TAGS):
    return {token: FIRST + place for place, token in enumerate(how.vocabulary(labels, tags))}


def constraint(how, lengths, limits, max_unary=MAX_UNARY, labels=LABELS, tags=TAGS):
    ids = vocabulary(how, labels, tags)
    tokens = TreeTokens(how, labels, tags if how.tags else [], ids, END)
    return tree_constraint(tokens, lengths, limits, max_unary), {i: token for token, i in ids.items()}


def random_walk(draw, how, n_words, limit, max_unary, taste):
    """Follow allowed tokens up to the end, some kinds of them more gladly than others."""
    tree_walk, names = constraint(how, [n_words], [limit], max_unary)
    state, tokens = tree_walk.start(0), []
    while True:
        allowed = tree_walk.allowed(state).tolist()
        assert allowed and len(set(allowed)) == len(allowed)
        weights = [taste.get(names.get(token, "end")[0], 1.0) for token in allowed]
        (token,) = draw.choices(allowed, weights)
        if token == END:
            return tokens
        tokens.append(names[token])
        assert len(tokens) < limit
        state = tree_walk.advance(state, token)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_random_walks_end_in_trees_over_the_words(how):
    draw = random.Random(8)
    tastes = [{}, {"(": 9.0}, {"(": 30.0, "X": 0.1}, {")": 9.0}, {"e": 0.05, "(": 3.0}]  # many labels, early ends, ...
    for _ in range(400):
        n_words, max_unary = draw.randint(1, 12), draw.choice([0, 1, 2, 3, 6])
        limit = shortest(n_words) + draw.choice([0, 1, 2, 3, 8, 40, 300])
        tokens = random_walk(draw, how, n_words, limit, max_unary, draw.choice(tastes))
        words = [f"w{i}" for i in range(n_words)]
        tree = how.restore(tokens, words)  # refuses what is no tree over these words
        assert tree.words() == words and len(tokens) + 1 <= limit
        assert longest_unary(tree) <= max_unary


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_long_sentences_end_within_their_limit_too(how):
    draw, n_words = random.Random(3), 300
    for taste in ({"(": 30.0}, {")": 9.0}, {"X": 0.02}):
        tokens = random_walk(draw, how, n_words, n_words + 300, 3, taste)
        found = statistics([how.restore(tokens, ["w"] * n_words)])
        assert found.n_words == n_words and max(found.longest_unary) <= 3 and found.most_tokens < n_words + 300


@pytest.mark.parametrize("how", KINDS, ids=str)
@pytest.mark.parametrize("n_words, limit", [(1, 8), (2, 9), (3, 10), (2, 5), (3, 7)])
@pytest.mark.parametrize("max_unary", [0, 1, 2])
def test_exactly_the_trees_are_let_through(how, n_words, limit, max_unary):
    """Of all sequences of tokens that fit, the constraint passes those that restore to a tree with short chains."""
    labels = ["A"]
    tree_walk, names = constraint(how, [n_words], [limit], max_unary, labels)
    alphabet = [token for token in names if not how.tags or names[token] not in TAGS[1:]]
    passed, reached = set(), [((), tree_walk.start(0))]
    while reached:
        tokens, state = reached.pop()
        allowed = tree_walk.allowed(state).tolist()
        assert allowed  # what has been begun can be finished
        for token in allowed:
            if token == END:
                passed.add(tokens)
            elif token in alphabet:
                reached.append(((*tokens, token), tree_walk.advance(state, token)))
    trees = {tree for tree in all_trees(n_words, limit) if longest_unary(tree) <= max_unary}
    ids = vocabulary(how, labels)
    assert passed == {tuple(ids[token] for token in how.tokens(tree)) for tree in trees}


def all_trees(n_words, limit):
    """Every tree with the label A over so many words and with its end token within the limit."""

    def forests(start, end, brackets):
        """Every row of one or more nodes over these words, with at most so many brackets."""
        for middle in range(start + 1, end + 1):
            for first, left in nodes(start, middle, brackets):
                if middle == end:
                    yield (first,), left
                else:
                    yield from (((first, *rest), after) for rest, after in forests(middle, end, left))

    def nodes(start, end, brackets):
        if end == start + 1:
            yield Tree(TAGS[0], word=f"w{start}"), brackets
        if brackets:
            yield from ((Tree("A", children), left) for children, left in forests(start, end, brackets - 1))

    return {tree for tree, _ in nodes(0, n_words, (limit - 1 - n_words) // 2)}


def steps_through(how, tree, limit, max_unary):
    walk, names = constraint(how, [len(tree.words())], [limit], max_unary)
    return is_let_through(walk, 0, how.tokens(tree), {token: i for i, token in names.items()})


def is_let_through(walk, sentence, tokens, ids):
    state = walk.start(sentence)
    for token in tokens:
        if ids[token] not in walk.allowed(state):
            return False
        state = walk.advance(state, ids[token])
    return END in walk.allowed(state)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_random_trees_are_let_through_just_within_their_limits(how):
    draw = random.Random(2)
    for _ in range(200):
        tree = random_tree(draw, draw.randint(1, 15), unary=draw.choice([0, 1, 3, 5]))
        limit, unary = len(how.tokens(tree)) + 1, longest_unary(tree)
        assert steps_through(how, tree, limit, unary)
        assert steps_through(how, tree, limit + 100, unary + 2)
        if unary:
            assert not steps_through(how, tree, limit + 100, unary - 1)
        if limit > shortest(len(tree.words())):
            assert not steps_through(how, tree, limit - 1, unary)


def test_the_trees_of_craft_are_let_through(craft_trees):
    trees = [cleaned(tree) for tree in craft_trees[::3]]
    labels = sorted({bracket.label for tree in trees for bracket in tree.brackets()})
    tags = sorted({tag for tree in trees for tag in tree.tags()})
    lengths = [len(tree.words()) for tree in trees]
    for how in (BRACKETS, TOP_DOWN, TAGGED):
        walk, names = constraint(how, lengths, [length + 400 for length in lengths], MAX_UNARY, labels, tags)
        ids = {token: i for i, token in names.items()}
        for sentence, tree in enumerate(trees):
            assert is_let_through(walk, sentence, how.tokens(tree), ids)


@pytest.mark.parametrize("how", [BRACKETS, TOP_DOWN, IN_ORDER, TAGGED], ids=str)
def test_an_untrained_model_writes_trees(how):
    torch.manual_seed(7)
    ids = vocabulary(how)
    model = Transformer(small_config(max_length=200), Vocabulary(FIRST + len(ids))).eval()
    model.embedding.weight.data *= 3
    # So many that the first to finish stay in the batch for a while.
    lengths = [1, 2, 5, 9, 14, 30, 20, 20, 20, 20, 20, 20]
    limits = [n + more for n, more in zip(lengths, [2, 3, 4, 30, 60, 6, *[40] * 6], strict=True)]
    src_BS = torch.randint(FIRST, FIRST + len(ids), (len(lengths), 8))
    walk, names = constraint(how, lengths, limits, max_unary=2)
    task = Task(limits, START, END, alpha=0.3, constraint=walk)
    step = ModelStep([model], torch.device("cpu"))
    with torch.inference_mode():
        beams = beam_search(step, step.start(src_BS), task, beam=5, n_best=3)
        greedy = greedy_search(step, step.start(src_BS), task)
        sampled = sample(step, step.start(src_BS), task, Sampling())
    for found in (beams, greedy, sampled):
        for several, n_words in zip(found, lengths, strict=True):
            assert several
            for one in several:
                assert one.finished
                tree = how.restore([names[token] for token in one.ids], [f"w{i}" for i in range(n_words)])
                assert len(tree.words()) == n_words and longest_unary(tree) <= 2
    assert len({tuple(one.ids) for one in itertools.chain(*beams)}) > len(lengths)


def test_limits_that_no_tree_fits_into_are_refused():
    assert [shortest(n) for n in (1, 2, 3)] == [2, 5, 6]
    for length, limit in [(0, 9), (1, 1), (2, 4), (7, 9)]:
        with pytest.raises(ValueError, match=f"a tree over {length} words has at least .* the limit is {limit}"):
            constraint(BRACKETS, [length], [limit])


def test_what_may_come_next_is_computed_once():
    walk, _ = constraint(IN_ORDER, [5, 5], [50, 50])
    state = walk.advance(walk.start(0), int(walk.allowed(walk.start(0))[0]))
    again = walk.advance(walk.start(1), int(walk.allowed(walk.start(1))[0]))
    assert walk.allowed(state) is walk.allowed(again) and walk.allowed(state).dtype == np.int64
