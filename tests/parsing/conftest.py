"""Random trees, and real ones."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import settings

from heed.parsing.trees import Tree

settings.register_profile("heed", deadline=None)  # how fast the machine is does not matter here
settings.load_profile("heed")

LABELS = ["S", "NP", "VP", "PP", "X", "NML"]
TAGS = ["NN", "DT", "VB", "-LRB-", "-RRB-", "PRP$", "``", ","]
WORDS = ["cat", "the", "-LRB-", "-RRB-", "[", "]", "{", ")S"[1:], "XX", "é", "日本", "a-b", "-NONE-", "=", "1,000"]


def random_tree(draw: random.Random, n_words: int, unary: int = 3, labels: list[str] = LABELS) -> Tree:
    """A tree over n random words with at most so many single-child brackets in a row, a bracket at its root."""

    def over(words: list[Tree], left: int, is_root: bool) -> Tree:
        if left and draw.random() < 0.3:  # a bracket with a single child
            return Tree(draw.choice(labels), (over(words, left - 1, False),))
        if len(words) == 1:
            return Tree(draw.choice(labels), (words[0],)) if is_root and left == unary else words[0]
        n_parts = min(len(words), draw.choice([2, 2, 2, 3, 4]))
        cuts = [0, *sorted(draw.sample(range(1, len(words)), n_parts - 1)), len(words)]
        parts = [words[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
        return Tree(draw.choice(labels), tuple(over(part, unary, False) for part in parts))

    return over([Tree(draw.choice(TAGS), word=draw.choice(WORDS)) for _ in range(n_words)], unary, True)


def longest_unary(tree: Tree) -> int:
    """The most single-child brackets in a row, found by recursion."""
    if tree.word is not None:
        return 0

    def here(node: Tree) -> int:
        return 1 + here(node.children[0]) if len(node.children) == 1 else 0

    return max(here(tree), *(longest_unary(child) for child in tree.children))


def data_folder(name: str) -> Path:
    folder = Path(os.environ.get("HEED_DATA", Path(__file__).parents[3] / "shared" / "data")) / name
    if not folder.is_dir():
        pytest.skip(f"needs the folder {name} in HEED_DATA, and there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def craft_trees() -> list[Tree]:
    """The trees of CRAFT's development part as they stand in the file."""
    from heed.parsing.trees import read_trees

    return list(read_trees(data_folder("craft") / "dev.trees.gz"))
