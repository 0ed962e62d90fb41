"""The true word alignment of a pair: both renderings of one tree, with each word marked by what it renders."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass

from heed.demo.grammar import english, german, trees
from heed.demo.grammar.marks import Node, Role, units
from heed.demo.grammar.tree import NounPhrase, Sentence

Links = frozenset[tuple[int, int]]

# What one language says in a word of its own, and the other as part of another word ("does not sleep", "schläft
# nicht"). Between a word of its own and that other word, a link is possible, but not sure.
_PART_OF = {
    Role.TENSE: Role.VERB,
    Role.PARTICLE: Role.VERB,
    Role.GOVERNED: Role.VERB,
    Role.DETERMINER: Role.NOUN,
}
_NEVER_SURE = (Role.TO, Role.OWNED)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Links between words, counted from 0 and separated by spaces, as (source, target).

    Sure: both words, and only they, render the same part of the tree. Possible: they render it together with other
    words, such as "in front of" and "vor", or as a part of what they say. Sure links are possible, too.
    """

    sure: Links
    possible: Links


def alignment(tree: Sentence) -> Alignment:
    """Return the true alignment of the English and the German sentence."""
    nodes = list(_nodes(tree))
    for number, node in enumerate(nodes, 1):
        node.number = number
    source, target = ([units(word) for word in read(tree).split()] for read in (english.sentence, german.sentence))
    for node in nodes:
        node.number = 0
    sure, possible = set(), set()
    for unit in set().union(*source, *target):
        links = [(s, t) for s, a in enumerate(source) for t, b in enumerate(target) if unit in a and unit in b]
        possible.update(links)
        if len(links) == 1 and _is_sure(unit, source[links[0][0]] | target[links[0][1]]):
            sure.update(links)
    return Alignment(frozenset(sure), frozenset(possible))


def _is_sure(unit: tuple[int, Role], words: set[tuple[int, Role]]) -> bool:
    number, role = unit
    return role not in _NEVER_SURE and (role not in _PART_OF or (number, _PART_OF[role]) not in words)


def true_alignments(sources: Iterable[str], seed: int = 2017) -> list[Alignment]:
    """Return the alignments of English sentences of `corpus(seed=seed)`, by generating it again until all are found."""
    wanted = list(sources)
    missing = set(wanted)
    found: dict[str, Alignment] = {}
    drawn = trees(seed)
    while missing:
        tree = next(drawn)
        text = english.sentence(tree)
        if text in missing:
            found[text] = alignment(tree)
            missing.remove(text)
    return [found[text] for text in wanted]


def _nodes(tree: object) -> Iterator[Node]:
    """Yield each node once. A subject that two clauses share is one node."""
    seen: set[int] = set()
    stack = [tree]
    while stack:
        one = stack.pop()
        if not isinstance(one, Node) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, NounPhrase):
            stack += (one.owner, one.relative)
        elif is_dataclass(one):
            stack += [getattr(one, field.name) for field in fields(one)]
