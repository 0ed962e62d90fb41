"""Write a tree as a sequence of tokens, and restore it given the words.

    BRACKETS   (S (NP XX XX )NP (VP XX )VP )S     the paper's, from Vinyals et al. 2015
    TOP_DOWN   (S (NP XX XX ) (VP XX ) )          actions of a top-down parser: open, shift, reduce
    IN_ORDER   XX (NP XX )NP (S XX (VP )VP )S     a label comes after its first child

A word is XX, or its part-of-speech tag if tags are part of the output; the words themselves never are, so the output
vocabulary is small. In-order, "(NP" takes the node before it as the first child of a new NP.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heed.errors import DataError
from heed.parsing.trees import Tree

WORD = "XX"  # replaces a word, and its tag if that is unknown


@dataclass(frozen=True)
class Linearisation:
    """How trees are written as tokens."""

    in_order: bool  # a label comes after its first child, not before it
    labelled_close: bool  # a closing bracket repeats its label
    tags: bool = False  # a word is written as its tag

    def open(self, label: str) -> str:
        return f"({label}"

    def close(self, label: str) -> str:
        return f"){label}" if self.labelled_close else ")"

    def vocabulary(self, labels: Iterable[str], tags: Iterable[str]) -> list[str]:
        """Return every token of trees with these labels and tags, words first."""
        labels = sorted(set(labels))
        words = sorted(set(tags)) if self.tags else [WORD]
        closes = dict.fromkeys(self.close(label) for label in labels)
        return [*words, *(self.open(label) for label in labels), *closes]

    def tokens(self, tree: Tree) -> list[str]:
        """Return the tokens of a tree."""
        found: list[str] = []
        waiting: list[Tree | None] = []  # in-order: brackets whose first child is not complete; None once it is
        for node, opens in tree.nodes():
            if node.word is not None:
                found.append(node.label if self.tags else WORD)
            elif opens:
                if self.in_order:
                    waiting.append(node)
                else:
                    found.append(self.open(node.label))
                continue
            else:
                found.append(self.close(node.label))
                if self.in_order:
                    waiting.pop()
            if waiting and (parent := waiting[-1]) is not None:  # the node that is complete now was its first child
                found.append(self.open(parent.label))
                waiting[-1] = None
        return found

    def restore(self, tokens: Sequence[str], words: Sequence[str], tags: Sequence[str] | None = None) -> Tree:
        """Return the tree that these tokens write over the words.

        A word's tag is its token if tags are part of the output, else that in `tags`, else XX.

        Raises:
            DataError: the tokens are not one tree over exactly these words.
        """
        levels: list[list[Tree]] = [[]]  # the complete children of each open bracket, outermost first
        labels: list[str] = []
        n_words = 0
        for place, token in enumerate(tokens, 1):
            if token.startswith("("):
                first = []
                if self.in_order:
                    # A label cannot follow a label: that one's first child is not the last node any more.
                    if not levels[-1] or tokens[place - 2].startswith("("):
                        raise DataError(f'token {place}, "{token}", has no node before it to begin with')
                    first = [levels[-1].pop()]
                labels.append(token[1:])
                levels.append(first)
            elif token.startswith(")"):
                if not labels or token != self.close(labels[-1]):
                    expected = f'"{self.close(labels[-1])}"' if labels else "nothing to close"
                    raise DataError(f'token {place} is "{token}"; there is {expected}')
                if not levels[-1]:
                    raise DataError(f'token {place}, "{token}", closes a bracket that holds nothing')
                children = tuple(levels.pop())
                levels[-1].append(Tree(labels.pop(), children))
            else:
                if n_words == len(words):
                    raise DataError(f'token {place}, "{token}", is a word too many; there are {len(words)}')
                tag = token if self.tags else tags[n_words] if tags is not None else WORD
                levels[-1].append(Tree(tag, word=words[n_words]))
                n_words += 1
        if labels or n_words != len(words) or len(levels[0]) != 1:
            raise DataError(
                f"{n_words} of {len(words)} words, {len(labels)} open brackets and {len(levels[0])} trees at the end; "
                "a tree has all words, all brackets closed and one root"
            )
        return levels[0][0]


BRACKETS = Linearisation(in_order=False, labelled_close=True)
TOP_DOWN = Linearisation(in_order=False, labelled_close=False)
IN_ORDER = Linearisation(in_order=True, labelled_close=True)


@dataclass(frozen=True)
class Statistics:
    """What a treebank asks of an output vocabulary and of output limits."""

    n_trees: int
    n_words: int
    n_brackets: int
    labels: Counter[str]
    tags: Counter[str]
    longest_unary: Counter[int]  # trees by their longest chain of single-child brackets
    most_tokens: int  # of one tree
    most_words: int
    most_extra: int  # tokens of one tree beyond its words

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.n_trees:,} trees, {self.n_words:,} words, {self.n_brackets:,} brackets",
                f"{self.n_words / self.n_trees:.1f} words and {self.n_brackets / self.n_trees:.1f} brackets a tree, "
                f"{(self.n_words + 2 * self.n_brackets) / self.n_trees:.1f} tokens",
                f"at most {self.most_words} words, {self.most_tokens} tokens, {self.most_extra} more than words",
                f"{len(self.labels)} labels: " + _counts(self.labels),
                f"{len(self.tags)} tags: " + _counts(self.tags),
                "single-child brackets in a row: "
                + ", ".join(f"{run} in {trees:,} trees" for run, trees in sorted(self.longest_unary.items())),
            ]
        )


def statistics(trees: Iterable[Tree]) -> Statistics:
    """Count labels, tags and lengths. A bracket is two tokens in every linearisation, a word is one.

    Raises:
        DataError: there are no trees.
    """
    labels: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    unaries: Counter[int] = Counter()
    n_trees = most_tokens = most_words = most_extra = 0
    for tree in trees:
        n_trees += 1
        n_words = n_brackets = longest = run = 0
        for node, opens in tree.nodes():
            if node.word is not None:
                tags[node.label] += 1
                n_words += 1
                run = 0
            elif opens:
                labels[node.label] += 1
                n_brackets += 1
            else:
                run = run + 1 if len(node.children) == 1 else 0  # closing brackets come from the inside out
                longest = max(longest, run)
        unaries[longest] += 1
        most_tokens = max(most_tokens, n_words + 2 * n_brackets)
        most_words, most_extra = max(most_words, n_words), max(most_extra, 2 * n_brackets)
    if not n_trees:
        raise DataError("there are no trees to count")
    return Statistics(n_trees, tags.total(), labels.total(), labels, tags, unaries, most_tokens, most_words, most_extra)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())
