"""Pairs of text to measure heads on."""

from itertools import islice
from pathlib import Path

from heed.box import FOLDER, read_card
from heed.demo.grammar import corpus
from heed.errors import DataError
from heed.parsing.tokenizer import sentence_text
from heed.parsing.trees import read_treebank
from heed.run import RunFolder
from heed.text.lines import read_lines


def read_pairs(source: str, target: str, n: int) -> list[tuple[str, str]]:
    """Return the first n pairs of two files, without blank ones.

    Raises:
        DataError: they cannot be read, or one is shorter than the other.
    """
    sides = [list(islice(read_lines(path), n)) for path in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise DataError(
            f"{source} has {len(sides[0])} lines, {target} has {len(sides[1])}; give two that belong together"
        )
    return [(a, b) for a, b in zip(*sides, strict=True) if a.strip() and b.strip()]


def read_trees(path: str, n: int) -> list[tuple[str, str]]:
    """Return the first n trees of a treebank: the sentence and the tree of each.

    Raises:
        DataError: it cannot be read.
    """
    return [(sentence_text(tree.words()), str(tree)) for tree in islice(read_treebank(path), n)]


def boxed_pairs(model: Path, n: int) -> list[tuple[str, str]]:
    """Return sentences of the built-in corpus for a model in the box, which names no text; else none.

    They are English and German, so only a model from English to German has any.
    """
    facts = read_card(model) if model.parent == FOLDER else {}
    if (facts.get("source"), facts.get("target")) != ("English", "German"):
        return []
    return [(pair.source, pair.target) for pair in corpus(train=0, valid=n, test=0).valid]


def validation_trees(run: Path) -> str | None:
    """Return the file of a parser's validation trees, if it has any."""
    return RunFolder.open(run).config.data.valid_trees or None


def validation_files(run: Path) -> tuple[str, str] | None:
    """Return the files of a run's validation text, if it has any."""
    data = RunFolder.open(run).config.data
    return (data.valid_source, data.valid_target) if data.valid_source and data.valid_target else None
