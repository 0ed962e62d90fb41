"""Place the nodes of a tree for drawing: in columns, words side by side and brackets above them."""

import unicodedata

from heed.parsing.trees import Tree

_GAP = 2  # columns between two words


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return sum(map(columns_of, text))


def columns_of(character: str) -> int:
    """Return how many columns of a terminal a character takes: 0, 1 or 2."""
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Layout:
    """Where each node goes; nodes are numbered as they open."""

    def __init__(self, tree: Tree) -> None:
        self.nodes = [node for node, opens in tree.nodes() if opens]
        self.children: list[list[int]] = [[] for _ in self.nodes]
        self.depths = [0] * len(self.nodes)
        opened: list[int] = []
        number = 0
        for node, opens in tree.nodes():
            if not opens:
                opened.pop()
                continue
            if opened:
                self.children[opened[-1]].append(number)
                self.depths[number] = len(opened)
            if node.word is None:
                opened.append(number)
            number += 1
        self.levels = 1 + max(
            (d for d, node in zip(self.depths, self.nodes, strict=True) if node.word is None), default=-1
        )
        self.sizes = [0] * len(self.nodes)  # columns of a node and all below it
        for number in reversed(range(len(self.nodes))):
            node = self.nodes[number]
            below = self._inside(number) if node.word is None else width(node.word)
            self.sizes[number] = max(width(node.label), below)
        self.width = self.sizes[0]
        self.lefts = self._lefts()
        self.middles = self._middles()

    def _inside(self, number: int) -> int:
        """Return how many columns the children take."""
        sizes = [self.sizes[child] for child in self.children[number]]
        return sum(sizes) + _GAP * (len(sizes) - 1)

    def _lefts(self) -> list[int]:
        """Return the first column of each node; children are centred below a label that is wider than they are."""
        lefts = [0] * len(self.nodes)
        for number, children in enumerate(self.children):
            place = lefts[number] + (self.sizes[number] - self._inside(number)) // 2
            for child in children:
                lefts[child] = place
                place += self.sizes[child] + _GAP
        return lefts

    def _middles(self) -> list[int]:
        """Return the column of each node's line to its parent."""
        middles = [0] * len(self.nodes)
        for number in reversed(range(len(self.nodes))):
            if children := self.children[number]:
                middles[number] = (middles[children[0]] + middles[children[-1]]) // 2
            else:
                middles[number] = self.lefts[number] + (self.sizes[number] - 1) // 2
        return middles
