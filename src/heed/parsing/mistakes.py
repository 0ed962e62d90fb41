"""What a parser gets wrong: the brackets of each label, the labels it mistakes for others, and kinds of errors.

Every sentence counts, as in `count_always`. A bracket is of one kind only:

    gold brackets       right, wrong label or missing
    predicted brackets  right, wrong label, crossing or spurious

A wrong label is a gold and a predicted bracket over the same words that have no equals. Crossing brackets overlap a
gold one with neither inside the other: a phrase is attached at the wrong place. What is left is missing, or spurious.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from heed.parsing.evalb import Brackets, Compared, compare_brackets, crosses
from heed.parsing.parameters import Parameters
from heed.parsing.trees import TRACE, Bracket, Tree

KINDS = ("wrong label", "missing", "crossing", "spurious")


@dataclass
class LabelTotals(Brackets):
    """The brackets of one label; a predicted one that equals a gold one (as PRT does ADVP) has its label."""

    other_label: int = 0  # gold ones over whose words there is a predicted bracket instead, with another label


@dataclass(frozen=True)
class Example:
    """An error in its sentence, with the brackets it is about drawn into the words."""

    sentence: int  # its number
    n_words: int
    gold: str  # "" if no gold bracket is concerned
    predicted: str


@dataclass
class Kind:
    """The errors of one kind."""

    # Of gold brackets; of predicted ones, if they are crossing or spurious.
    labels: Counter[str] = field(default_factory=Counter)
    example: Example | None = None  # in the shortest sentence that has one

    @property
    def count(self) -> int:
        return self.labels.total()


@dataclass
class Mistakes:
    """What is wrong in some trees."""

    labels: dict[str, LabelTotals]  # the most frequent one first
    confusions: Counter[tuple[str, str]]  # gold label and predicted label, over the same words
    kinds: dict[str, Kind]


def count_mistakes(pairs: Iterable[tuple[Tree, Tree | None]], parameters: Parameters) -> Mistakes:
    """Count what is wrong in predicted trees, given gold ones."""
    found = Mistakes({}, Counter(), {name: Kind() for name in KINDS})
    for number, (gold, predicted) in enumerate(pairs, 1):
        _add(found, number, gold, compare_brackets(gold, predicted, parameters))
    found.labels = dict(sorted(found.labels.items(), key=lambda item: (-item[1].gold, item[0])))
    return found


def _add(found: Mistakes, number: int, tree: Tree, one: Compared) -> None:
    leaves = tree.leaves()
    shown = [place for place, leaf in enumerate(leaves) if leaf.label != TRACE or place in one.kept]
    words, kept = [str(leaves[place].word) for place in shown], [shown.index(place) for place in one.kept]
    # The gold label of each predicted bracket that equals a gold one, and those that equal none, in their order.
    equal = {pair: bracket.label for bracket, pair in zip(one.gold, one.pairs, strict=True) if pair is not None}
    left = [bracket for place, bracket in enumerate(one.predicted) if place not in equal]

    def error(name: str, label: str, gold: Bracket | None, predicted: Bracket | None) -> None:
        kind = found.kinds[name]
        kind.labels[label] += 1
        if one.words_agree and (kind.example is None or len(words) < kind.example.n_words):
            drawn = ("" if each is None else _drawn(words, kept, each) for each in (gold, predicted))
            kind.example = Example(number, len(words), *drawn)

    for bracket, pair in zip(one.gold, one.pairs, strict=True):
        label = found.labels.setdefault(bracket.label, LabelTotals())
        label.gold += 1
        label.matched += pair is not None
        if pair is not None:
            continue
        same_words = (each for each in left if one.words_agree and each[1:] == bracket[1:])
        if (other := next(same_words, None)) is None:
            error("missing", bracket.label, bracket, None)
            continue
        left.remove(other)
        label.other_label += 1
        found.confusions[bracket.label, other.label] += 1
        error("wrong label", bracket.label, bracket, other)
    for place, bracket in enumerate(one.predicted):
        found.labels.setdefault(equal.get(place, bracket.label), LabelTotals()).predicted += 1
    for bracket in left:
        overlapping = (each for each in one.gold if one.words_agree and crosses(bracket[1:], each[1:]))
        crossed = next(overlapping, None)
        error("spurious" if crossed is None else "crossing", bracket.label, crossed, bracket)


def _drawn(words: list[str], kept: list[int], bracket: Bracket) -> str:
    """Return a sentence with one bracket drawn into it, such as: It [VP rains] ."""
    first, last = kept[bracket.start], kept[bracket.end - 1]
    inside = " ".join(words[first : last + 1])
    return " ".join([*words[:first], f"[{bracket.label} {inside}]", *words[last + 1 :]])
