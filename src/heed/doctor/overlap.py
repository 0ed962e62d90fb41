"""Find pairs that repeat in the corpus itself, or that are in the test text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heed.data.corpus import ParallelText
from heed.doctor.language import Profile
from heed.doctor.measure import Lines, Mask, hashes, of_pairs
from heed.doctor.reading import chunks

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Fingerprints:
    """Hashes of the sources and pairs of a text, both exact and folded."""

    source: Hashes
    pair: Hashes
    folded_source: Hashes
    folded_pair: Hashes

    @classmethod
    def of(cls, source: Lines, target: Lines) -> "Fingerprints":
        plain = hashes(source.lines), hashes(target.lines)
        folded = hashes(source.folded), hashes(target.folded)
        return cls(plain[0], of_pairs(*plain), folded[0], of_pairs(*folded))

    @classmethod
    def joined(cls, parts: Sequence["Fingerprints"]) -> "Fingerprints":
        names = ("source", "pair", "folded_source", "folded_pair")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def repeated(numbers: Hashes) -> Mask:
    """Return which hashes have occurred before."""
    again = np.ones(len(numbers), dtype=bool)
    again[np.unique(numbers, return_index=True)[1]] = False
    return again


def repeated_or_first(numbers: Hashes) -> Mask:
    """Return which hashes occur more than once, the first occurrence included."""
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    several: Mask = (counts > 1)[inverse]
    return several


class TestText:
    """Fingerprints of the test text, which the training text must not contain."""

    def __init__(self, texts: Iterable[ParallelText], profile: Profile) -> None:
        parts, own = [], np.zeros(2)
        for text in texts:
            text.count()  # raises an error if the two files differ in length
            for chunk in chunks(text):
                source, target = map(Lines, zip(*chunk, strict=True))
                parts.append(Fingerprints.of(source, target))
                own += [profile.own(source, 0).sum(), profile.own(target, 1).sum()]
        self.exchanged = profile.distinct and bool(parts) and bool(np.all(own < 0))
        self.known = Fingerprints.joined(parts) if parts else None
        self._blank = hashes([b""])

    def shared(self, prints: Fingerprints) -> Iterator[tuple[str, Mask]]:
        """Yield for each kind of overlap the pairs that have it; a pair has at most one kind."""
        if self.known is None:
            return
        pair = np.isin(prints.pair, self.known.pair)
        source = np.isin(prints.source, self.known.source) & ~pair
        # Lines of nothing but punctuation are all the same when folded.
        near = np.isin(prints.folded_source, self.known.folded_source) & (prints.folded_source != self._blank)
        yield "pair-in-test", pair
        yield "source-in-test", source
        yield "near-test", near & ~pair & ~source

    def touched(self, sources: Hashes) -> int:
        """Count the test sentences whose folded source is among these."""
        return 0 if self.known is None else int(np.isin(self.known.folded_source, sources).sum())

    def __len__(self) -> int:
        return 0 if self.known is None else len(self.known.source)
