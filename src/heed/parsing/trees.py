"""Read, clean and write trees in Penn brackets.

    (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))

A node is a word with its part-of-speech tag, or a bracket: a label over one or more nodes. A word may have spaces in
it, as treebanks have them: (NN Xpd TTD). Trees can be as deep as a sentence is long, so everything here loops over
nodes and nothing recurses.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError
from heed.text.lines import read_lines

TRACE = "-NONE-"  # the tag of what is written in a treebank but not in the sentence
TOPS = ("", "TOP", "ROOT", "S1")  # labels of the bracket that treebanks and parsers put around a sentence
TOP = "TOP"  # for a bracket without a label that has to stay

# White space is what C calls so: a no-break space may be part of a word.
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
_FUNCTION = re.compile("[-=]")  # where a function tag or a co-index of a label begins


class Bracket(NamedTuple):
    """A label over the words from `start` up to, not including, `end`."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A word with its tag as label, or a label over children."""

    label: str
    children: tuple["Tree", ...] = ()
    word: str | None = None

    def __post_init__(self) -> None:
        if (self.word is None) == (not self.children):
            raise ValueError("a tree has either a word or children")

    def nodes(self) -> Iterator[tuple["Tree", bool]]:
        """Yield each node when it opens, with True, and each bracket again when it closes, with False."""
        stack = [(self, True)]
        while stack:
            node, opens = stack.pop()
            yield node, opens
            if opens and node.children:
                stack.append((node, False))
                stack += [(child, True) for child in reversed(node.children)]

    def leaves(self) -> list["Tree"]:
        """Return the nodes of the words."""
        return [node for node, _ in self.nodes() if node.word is not None]

    def words(self) -> list[str]:
        return [leaf.word for leaf in self.leaves() if leaf.word is not None]

    def tags(self) -> list[str]:
        return [leaf.label for leaf in self.leaves()]

    def brackets(self) -> list[Bracket]:
        """Return the brackets with the words they span, in the order they open."""
        found: list[Bracket] = []
        opened: list[int] = []
        n_words = 0
        for node, opens in self.nodes():
            if node.word is not None:
                n_words += 1
            elif opens:
                opened.append(len(found))
                found.append(Bracket(node.label, n_words, n_words))
            else:
                place = opened.pop()
                found[place] = found[place]._replace(end=n_words)
        return found

    def rebuilt(self, change: Callable[["Tree", tuple["Tree", ...]], "Tree | None"]) -> "Tree | None":
        """Build a tree anew from its leaves up: `change(node, children)` returns what takes the node's place, if any.

        `children` are what has taken the place of the node's children.
        """
        levels: list[list[Tree]] = [[]]
        for node, opens in self.nodes():
            if node.children and opens:
                levels.append([])
                continue
            made = change(node, tuple(levels.pop()) if node.children else ())
            if made is not None:
                levels[-1].append(made)
        ((tree,),) = levels if levels[0] else ((None,),)
        return tree

    def __str__(self) -> str:
        """Write the tree on one line."""
        parts: list[str] = []
        for node, opens in self.nodes():
            if not opens:
                parts.append(")")
            elif node.word is not None:
                parts.append(f" ({node.label} {node.word})")
            else:
                parts.append(f" ({node.label}")
        return "".join(parts)[1:]

    def __repr__(self) -> str:
        return f"Tree({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, Tree) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


# --- reading ----------------------------------------------------------------------------------------------


def parse_tree(text: str, name: str = "the text") -> Tree:
    """Return the one tree of a text.

    Raises:
        DataError: it is not one well-formed tree; `name` is what the message calls the text.
    """
    found = list(located_trees(text.split("\n"), name))
    if len(found) != 1:
        raise DataError(f"{name}: holds {len(found)} trees, not one")
    return found[0][1]


def read_trees(path: str | Path) -> Iterator[Tree]:
    """Yield the trees of a file as they stand there, one at a time, over one or several lines each.

    Raises:
        DataError: the file cannot be read, or its brackets are not trees (file, line and column are named).
    """
    for _, tree in located_trees(read_lines(path), _name(path)):
        yield tree


def read_treebank(path: str | Path) -> Iterator[Tree]:
    """Yield the trees of a file as a parser should output them: `cleaned` of traces, function tags and outer brackets.

    Raises:
        DataError: as `read_trees`, or nothing is left of a tree without its traces.
    """
    for _, tree in located_treebank(path):
        yield tree


def located_treebank(path: str | Path) -> Iterator[tuple[int, Tree]]:
    """Yield the trees as `read_treebank` does, each with the number of the line it begins in."""
    for line, tree in located_trees(read_lines(path), _name(path)):
        clean = cleaned(tree)
        if clean is None:
            raise DataError(f"{_name(path)}, line {line}: a tree that holds traces ({TRACE}) only; remove it")
        yield line, clean


@dataclass(slots=True)
class _Open:
    """A bracket that is still open."""

    line: int
    column: int
    label: str | None = None
    word: str | None = None
    children: list[Tree] = field(default_factory=list)


def located_trees(lines: Iterable[str], name: str, first: int = 1) -> Iterator[tuple[int, Tree]]:
    """Yield the trees in lines of text, each with the number of the line it begins in; `first` is the first line's.

    Raises:
        DataError: the brackets are not trees; `name` is what the message calls the text.
    """
    opened: list[_Open] = []
    for number, line in enumerate(lines, first):
        for match in _TOKEN.finditer(line):
            token, top = match[0], opened[-1] if opened else None
            if token == "(":
                opened.append(_Open(number, match.start() + 1))
                if top is None:
                    continue
                top.label = top.label or ""
                if top.word is None and (top.label or len(opened) == 2):
                    continue
            elif top is None:
                pass
            elif token == ")":
                if top.children or top.word is not None:
                    opened.pop()
                    tree = Tree(top.label or "", tuple(top.children), top.word)
                    if opened:
                        opened[-1].children.append(tree)
                    else:
                        yield top.line, tree
                    continue
            elif top.label is None:
                top.label = token
                continue
            elif not top.children:
                top.word = token if top.word is None else f"{top.word} {token}"
                continue
            where = f"{name}, line {number}, column {match.start() + 1}"
            raise DataError(f"{where}: {_problem(token, top, opened[0] if opened else None)}")
    if opened:
        raise DataError(
            f'{name}, line {opened[0].line}, column {opened[0].column}: "(" is never closed '
            f'({len(opened)} missing ")"); look for a bracket that is not closed from there on'
        )


def _problem(token: str, top: _Open | None, outermost: _Open | None) -> str:
    """Say why a token cannot come where it is, in the bracket `top`, and what to do."""
    if top is None or outermost is None:
        if token == ")":
            return 'a ")" that closes nothing; remove it, or add the "(" it belongs to'
        return f'"{token}" is outside all brackets; a tree begins with "("'
    if token == ")":
        return (
            f'the bracket "({top.label or ""}" opened at line {top.line}, column {top.column} holds nothing; '
            "give it a word, or remove it"
        )
    if token != "(":
        return f'"{token}" after a bracket; every word needs its own bracket with its tag, as in (NN {token})'
    if top.word is not None:
        return f'a bracket after the word "{top.word}"; close the bracket of the word first'
    return (
        f"the bracket around it (line {top.line}, column {top.column}) has no label, and only the outermost may have "
        f"none; perhaps the tree that begins at line {outermost.line}, column {outermost.column} is not closed"
    )


def _name(path: str | Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


# --- cleaning ---------------------------------------------------------------------------------------------


def cleaned(tree: Tree, traces: bool = True, functions: bool = True, top: bool = True) -> Tree | None:
    """Return the tree without what a treebank adds to it; None if nothing is left.

    `traces`: words tagged -NONE- go, and brackets that are empty then. `functions`: NP-SBJ-1 becomes NP; tags of words
    are left as they are. `top`: an outermost bracket over a single node goes if its label is one of `TOPS`; one without
    a label over several nodes becomes a TOP, because only what has a label can be learnt and written.
    """

    def clean(node: Tree, children: tuple[Tree, ...]) -> Tree | None:
        if node.word is not None:
            return None if traces and node.label == TRACE else node
        if not children:
            return None
        return Tree(without_function(node.label) if functions else node.label, children)

    found = tree.rebuilt(clean)
    if not top or found is None:
        return found
    if found.label in TOPS and len(found.children) == 1:
        return found.children[0]
    return found if found.label else Tree(TOP, found.children)


def without_function(label: str) -> str:
    """Return a label without function tags and co-indices: NP-SBJ-1 and NP=2 are NP, -LRB- stays."""
    return label if label.startswith(("-", "=")) else _FUNCTION.split(label, maxsplit=1)[0]
