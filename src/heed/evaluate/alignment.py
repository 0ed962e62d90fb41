"""Word alignments in Moses format, and their error rate (Och and Ney 2003)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heed.errors import DataError

Links = frozenset[tuple[int, int]]  # (source, target): numbers of words, from 0

_LINK = re.compile(r"([0-9]+)([-?])([0-9]+)")


@dataclass(frozen=True)
class Reference:
    """The links of a pair that an annotator is sure of, and all that are possible, the sure ones among them."""

    sure: Links
    possible: Links


@dataclass(frozen=True)
class AlignmentScore:
    """Error rate, precision (of possible links) and recall (of sure links) over all pairs."""

    error_rate: float
    precision: float
    recall: float
    n_pairs: int


def written(links: Iterable[tuple[int, int]]) -> str:
    """Return links in Moses format: 0-0 1-2, sorted by source word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_reference(line: str, where: str) -> Reference:
    """Read links: `0-0` is sure, `1?2` is possible.

    Raises:
        DataError: something else is in the line; `where` names it.
    """
    sure, possible = set(), set()
    for word in line.split():
        link = _LINK.fullmatch(word)
        if link is None:
            raise DataError(
                f"{where}: {word!r} is no link; write 0-0 for a sure link of two words and 1?2 for a possible one"
            )
        pair = int(link[1]), int(link[3])
        possible.add(pair)
        if link[2] == "-":
            sure.add(pair)
    return Reference(frozenset(sure), frozenset(possible))


def alignment_score(found: Sequence[Links], references: Sequence[Reference]) -> AlignmentScore:
    """Score alignments: AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)."""
    n_found = n_sure = in_sure = in_possible = 0
    for links, reference in zip(found, references, strict=True):
        n_found += len(links)
        n_sure += len(reference.sure)
        in_sure += len(links & reference.sure)
        in_possible += len(links & reference.possible)
    return AlignmentScore(
        1 - (in_sure + in_possible) / max(n_found + n_sure, 1),
        in_possible / max(n_found, 1),
        in_sure / max(n_sure, 1),
        len(found),
    )
