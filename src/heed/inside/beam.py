"""The beam as a tree: every candidate that was considered, whose continuation it is, and what became of it."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from heed.inside.words import END
from heed.translation import SearchTrace


@dataclass(frozen=True)
class Node:
    """A candidate: one more piece after its parent's."""

    step: int  # from 1; the length of the sequence up to this piece
    rank: int  # among the step's candidates, by log-probability, from 1
    parent: int  # number of a node; -1: the start
    piece: str
    log_probability: float  # of the whole sequence up to this piece
    fate: str  # "kept", "finished", or why it was dropped


@dataclass(frozen=True)
class BeamTree:
    """The nodes, step by step, best first within a step."""

    nodes: list[Node]
    best: list[int]  # numbers of the nodes of the translation, first to last
    is_finished: bool  # False: the length limit came before the end token
    beam: int
    alpha: float


def beam_tree(trace: SearchTrace, pieces: list[str], is_finished: bool, beam: int, alpha: float) -> BeamTree:
    """Link the steps of a trace, whose candidates name their parents by their place among those that were kept."""
    nodes: list[Node] = []
    kept_before: list[int] = [-1]
    for step, candidates in enumerate(trace.steps, 1):
        kept = []
        for rank, one in enumerate(candidates, 1):
            if one.fate == "kept":
                kept.append(len(nodes))
            nodes.append(Node(step, rank, kept_before[one.parent], one.piece, one.log_probability, one.fate))
        kept_before = kept
    return BeamTree(nodes, _path(nodes, pieces, is_finished), is_finished, beam, alpha)


def drawn_path(pieces: list[str], log_probabilities: Sequence[float], is_finished: bool, alpha: float) -> BeamTree:
    """Return what was drawn at random: a tree with one path."""
    totals = itertools.accumulate(log_probabilities)
    spelt = [*pieces, *([END] if is_finished else [])]
    nodes = [
        Node(step, 1, step - 2, piece, total, "finished" if step > len(pieces) else "kept")
        for step, (piece, total) in enumerate(zip(spelt, totals, strict=True), 1)
    ]
    return BeamTree(nodes, list(range(len(nodes))), is_finished, 1, alpha)


def _path(nodes: list[Node], pieces: list[str], is_finished: bool) -> list[int]:
    """Return the nodes that spell the translation."""
    for number in range(len(nodes) - 1, -1, -1):
        if (
            nodes[number].fate == ("finished" if is_finished else "kept")
            and nodes[number].step == len(pieces) + is_finished
        ):
            path, at = [], number
            while at >= 0:
                path.append(at)
                at = nodes[at].parent
            path.reverse()
            if [nodes[i].piece for i in path][: len(pieces)] == pieces:
                return path
    raise AssertionError("the trace does not hold the translation")
