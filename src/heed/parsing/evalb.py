"""Count how right trees are, as EVALB does, and again with every sentence counted.

EVALB leaves words out by their tags, such as punctuation, in the gold tree and in the predicted one, each by its own
tags. A sentence of which different words remain is not counted at all, so a wrong tag of a comma can raise the score.
The second count leaves out the words that the gold tree's tags say, and counts every sentence: one whose words differ,
or that has no tree, has none of its brackets right.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.parsing.parameters import Parameters
from heed.parsing.trees import Bracket, Tree, located_trees
from heed.text.lines import read_lines

_NO_TREE = re.compile(r"[() \t\f\v]*")  # nothing, or (()) as some parsers write
_QUOTES = ("'", '"', "/")  # words that QUOTE_LABEL is about


class Status(IntEnum):
    """Whether a predicted tree can be compared with the gold one, in EVALB's numbers."""

    COMPARED = 0
    WORDS_DIFFER = 1
    NO_TREE = 2


@dataclass(frozen=True)
class Counts:
    """The counts of one sentence; they mean something only if its status is good."""

    status: Status
    length: int  # words, without those of DELETE_LABEL_FOR_LENGTH
    matched: int = 0
    gold: int = 0
    predicted: int = 0
    crossing: int = 0
    words: int = 0
    right_tags: int = 0
    problem: str = ""  # why the words cannot be compared


@dataclass
class Brackets:
    """Numbers of brackets, and the scores they give."""

    matched: int = 0  # in both trees, with the same words and label
    gold: int = 0
    predicted: int = 0

    @property
    def recall(self) -> float:
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        return _percent(self.matched, self.predicted)

    @property
    def f1(self) -> float:
        return _percent(2 * self.matched, self.gold + self.predicted)


@dataclass
class Totals(Brackets):
    """Sums over sentences, and the scores they give."""

    every_sentence: bool = False  # those whose words cannot be compared count, too: nothing of them is right
    sentences: int = 0
    words_differ: int = 0
    no_tree: int = 0
    exact: int = 0
    crossing: int = 0
    without_crossing: int = 0
    few_crossing: int = 0  # with at most 2
    words: int = 0
    right_tags: int = 0

    @property
    def counted(self) -> int:
        return self.sentences - (0 if self.every_sentence else self.words_differ + self.no_tree)

    @property
    def exact_match(self) -> float:
        return _percent(self.exact, self.counted)

    @property
    def average_crossing(self) -> float:
        return self.crossing / self.counted if self.counted else 0.0

    @property
    def no_crossing(self) -> float:
        return _percent(self.without_crossing, self.counted)

    @property
    def two_or_less_crossing(self) -> float:
        return _percent(self.few_crossing, self.counted)

    @property
    def tagging_accuracy(self) -> float:
        return _percent(self.right_tags, self.words)

    def add(self, one: Counts) -> None:
        self.sentences += 1
        self.words_differ += one.status == Status.WORDS_DIFFER
        self.no_tree += one.status == Status.NO_TREE
        if one.status == Status.COMPARED:
            self.exact += one.matched == one.gold == one.predicted
            self.without_crossing += one.crossing == 0
            self.few_crossing += one.crossing <= 2
        elif not self.every_sentence:
            return
        self.matched += one.matched
        self.gold += one.gold
        self.predicted += one.predicted
        self.crossing += one.crossing
        self.words += one.words
        self.right_tags += one.right_tags

    def to_dict(self) -> dict[str, float]:
        scores = ["counted", "recall", "precision", "f1", "exact_match", "average_crossing", "no_crossing"]
        scores += ["two_or_less_crossing", "tagging_accuracy"]
        counts = [field.name for field in fields(self) if field.name != "every_sentence"]
        return {name: getattr(self, name) for name in [*counts, *scores]}


def totals(counts: Iterable[Counts], every_sentence: bool, longest: int | None = None) -> Totals:
    """Add up sentences, or only those of at most a number of words."""
    found = Totals(every_sentence=every_sentence)
    for one in counts:
        if longest is None or one.length <= longest:
            found.add(one)
    return found


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


# --- reading ----------------------------------------------------------------------------------------------


def read_sentences(path: str | Path) -> list[Tree | None]:
    """Return the tree of each sentence of a file; None where there is none.

    If trees are on one line each, each line is a sentence, an empty one has no tree, and several trees on a line are
    one without a root. If any tree goes over several lines, empty lines mean nothing.

    Raises:
        DataError: the file cannot be read, or its brackets are not trees.
    """
    name = "standard input" if str(path) == "-" else str(path)
    lines = list(read_lines(path))
    first = next((line for line in lines if not _NO_TREE.fullmatch(line)), "")
    try:
        return [_tree_of_line(line, name, number) for number, line in enumerate(lines, 1)]
    except DataError as error:
        try:
            return [tree for _, tree in located_trees(lines, name)]
        except DataError as other:
            raise other if first.count("(") > first.count(")") else error from None


def _tree_of_line(line: str, name: str, number: int) -> Tree | None:
    if _NO_TREE.fullmatch(line):
        return None
    trees = tuple(tree for _, tree in located_trees([line], name, number))
    return trees[0] if len(trees) == 1 else Tree("", trees)


def pair_up(
    gold: Sequence[Tree | None], predicted: Sequence[Tree | None], gold_name: str, predicted_name: str
) -> list[tuple[Tree, Tree | None]]:
    """Return each gold tree with what was predicted.

    Empty lines at the end of a file do not count, nor those of the gold file if there are as many trees without them.

    Raises:
        DataError: there are more of one than of the other, or a gold tree is missing.
    """
    n_gold, n_predicted = len(gold), len(predicted)
    while n_gold and gold[n_gold - 1] is None:
        n_gold -= 1
    while n_predicted > n_gold and predicted[n_predicted - 1] is None:
        n_predicted -= 1
    if n_gold == 0:
        raise DataError(f"{gold_name}: holds no trees")
    there = [tree for tree in gold if tree is not None]
    if n_gold != n_predicted == len(there):
        gold, n_gold = there, len(there)
    if n_gold != n_predicted:
        raise DataError(
            f"{gold_name} has {n_gold} trees but {predicted_name} has {n_predicted}; each must have one tree per "
            "sentence, in the same order, and an empty line for a sentence without a tree"
        )
    pairs = []
    for number, (right, other) in enumerate(zip(gold, predicted, strict=False), 1):
        if number > n_gold:
            break
        if right is None:
            raise DataError(f"{gold_name}, line {number}: an empty tree; every gold tree must be there")
        pairs.append((right, other))
    return pairs


# --- counting ---------------------------------------------------------------------------------------------


def count_as_evalb(gold: Tree, predicted: Tree | None, parameters: Parameters) -> Counts:
    """Count one sentence as EVALB does: nothing, if the words differ."""
    right, length = _Sentence(gold, parameters), _length(gold, parameters)
    other = _Sentence(predicted, parameters) if predicted is not None else None
    if other is None or not any(other.kept):
        problem = "there is no tree" if other is None else "no words are left of the predicted tree"
        return Counts(Status.NO_TREE, length, words=sum(right.kept), problem=problem)
    if sum(right.kept) != sum(other.kept):
        _keep_quotes(right, other, parameters)
    return _compared(right, other, length, parameters)


def count_always(gold: Tree, predicted: Tree | None, parameters: Parameters) -> Counts:
    """Count one sentence with the words that the gold tree's tags keep, or all its brackets as wrong."""
    right, length = _Sentence(gold, parameters), _length(gold, parameters)
    n_gold = len(right.brackets(parameters))
    if predicted is None:
        return Counts(Status.NO_TREE, length, gold=n_gold, words=sum(right.kept), problem="there is no tree")
    other = _Sentence(predicted, parameters)
    _keep_as_in(right, other, parameters)
    found = _compared(right, other, length, parameters)
    if found.status == Status.COMPARED:
        return found
    return replace(found, gold=n_gold, predicted=len(other.brackets(parameters)))


class Compared(NamedTuple):
    """The brackets of one sentence that count, numbered over the words that are kept."""

    gold: list[Bracket]
    predicted: list[Bracket]
    pairs: list[int | None]  # of each gold bracket, the place of its equal among the predicted ones
    kept: list[int]  # the places of the words that are kept, in the gold tree
    words_agree: bool  # else nothing can be compared


def compare_brackets(gold: Tree, predicted: Tree | None, parameters: Parameters) -> Compared:
    """Return which brackets are right as `count_always` counts them: none, if the words cannot be compared."""
    right = _Sentence(gold, parameters)
    brackets = right.brackets(parameters)
    guessed: list[Bracket] = []
    pairs: list[int | None] = [None] * len(brackets)
    words_agree = False
    if predicted is not None:
        other = _Sentence(predicted, parameters)
        _keep_as_in(right, other, parameters)
        guessed = other.brackets(parameters)
        words_agree = not _difference(right, other, parameters)
        if words_agree:
            pairs = _pairs(brackets, guessed, parameters)
    kept = [place for place, is_kept in enumerate(right.kept) if is_kept]
    return Compared(brackets, guessed, pairs, kept, words_agree)


def _keep_as_in(right: "_Sentence", other: "_Sentence", parameters: Parameters) -> None:
    """Keep those words of the other tree that the gold tree's tags keep, if the words are the same."""
    # What both lists name is in no sentence: traces.
    traces = parameters.delete & parameters.delete_for_length
    places = [[i for i, leaf in enumerate(one.leaves) if leaf.label not in traces] for one in (right, other)]
    if len(places[0]) == len(places[1]):
        pairs = list(zip(*places, strict=True))
        if all(parameters.same_word(str(right.leaves[i].word), str(other.leaves[j].word)) for i, j in pairs):
            for i, j in pairs:
                other.kept[j] = right.kept[i]


class _Sentence:
    """The words of a tree, and which of them are kept."""

    def __init__(self, tree: Tree, parameters: Parameters) -> None:
        self.tree, self.leaves = tree, tree.leaves()
        self.kept = [leaf.label not in parameters.delete for leaf in self.leaves]

    def words(self) -> list[Tree]:
        return [leaf for leaf, kept in zip(self.leaves, self.kept, strict=True) if kept]

    def brackets(self, parameters: Parameters) -> list[Bracket]:
        """Return the brackets that count, over the words that are kept, without function tags."""
        before = [0]  # of each place in the sentence, how many words before it are kept
        for kept in self.kept:
            before.append(before[-1] + kept)
        found = []
        for label, start, end in self.tree.brackets():
            bare = re.split("[-=]", label, maxsplit=1)[0]
            if label and before[start] < before[end] and not parameters.deletes_bracket(bare):
                found.append(Bracket(bare, before[start], before[end]))
        return found


def _length(gold: Tree, parameters: Parameters) -> int:
    return sum(tag not in parameters.delete_for_length for tag in gold.tags())


def _difference(right: _Sentence, other: _Sentence, parameters: Parameters) -> str:
    """Say how the words that are kept differ; "" if they are the same."""
    right_words, other_words = right.words(), other.words()
    if len(right_words) != len(other_words):
        return f"{len(right_words)} words to compare, but {len(other_words)} in the predicted tree"
    for one, two in zip(right_words, other_words, strict=True):
        if not parameters.same_word(str(one.word), str(two.word)):
            return f'the word "{one.word}" is "{two.word}" in the predicted tree'
    return ""


def _compared(right: _Sentence, other: _Sentence, length: int, parameters: Parameters) -> Counts:
    right_words, other_words = right.words(), other.words()
    n_words = len(right_words)
    if problem := _difference(right, other, parameters):
        return Counts(Status.WORDS_DIFFER, length, words=n_words, problem=problem)
    gold, predicted = right.brackets(parameters), other.brackets(parameters)
    right_tags = sum(
        parameters.same_label(one.label, two.label) for one, two in zip(right_words, other_words, strict=True)
    )
    matched = sum(pair is not None for pair in _pairs(gold, predicted, parameters))
    crossing = _crossing(gold, predicted)
    return Counts(Status.COMPARED, length, matched, len(gold), len(predicted), crossing, n_words, right_tags)


def _pairs(gold: Sequence[Bracket], predicted: Sequence[Bracket], parameters: Parameters) -> list[int | None]:
    """Pair each gold bracket with the first unpaired predicted one that equals it; return their places."""
    unpaired: dict[tuple[int, int], list[int]] = {}
    for place, (_, start, end) in enumerate(predicted):
        unpaired.setdefault((start, end), []).append(place)
    pairs: list[int | None] = []
    for label, start, end in gold:
        places = unpaired.get((start, end), [])
        same = (
            place for place in places if not parameters.labelled or parameters.same_label(label, predicted[place].label)
        )
        pairs.append(next(same, None))
        if pairs[-1] is not None:
            places.remove(pairs[-1])
    return pairs


def _crossing(gold: Sequence[Bracket], predicted: Sequence[Bracket]) -> int:
    """Return how many predicted brackets cross a gold one."""
    spans = {(start, end) for _, start, end in gold}
    times = Counter((start, end) for _, start, end in predicted)
    return sum(n for span, n in times.items() if any(crosses(span, other) for other in spans))


def crosses(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two spans overlap, and neither holds the other."""
    return one[0] < other[0] < one[1] < other[1] or other[0] < one[0] < other[1] < one[1]


def _keep_quotes(right: _Sentence, other: _Sentence, parameters: Parameters) -> None:
    """Keep quotes that would be left out of one tree only, because the other has them tagged as something else.

    As EVALB does it: a quote goes by its place among the words kept so far, and is compared with those at that place.
    """

    def quotes(one: _Sentence) -> list[tuple[int, str]]:
        return [
            (i, leaf.label)
            for i, leaf in enumerate(one.leaves)
            if leaf.label in parameters.quotes and leaf.word in _QUOTES
        ]

    def place(one: _Sentence, i: int) -> int:
        return sum(one.kept[:i])

    for j, other_tag in quotes(other):
        at = place(other, j)
        for i, right_tag in quotes(right):
            if place(right, i) != at or right_tag == other_tag:
                continue
            if right_tag in parameters.delete and other_tag not in parameters.delete:
                right.kept[i] = True
            elif other_tag in parameters.delete and right_tag not in parameters.delete:
                other.kept[j] = True
