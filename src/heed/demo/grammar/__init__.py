"""Make an English-German corpus: sentences sampled from a grammar that generates both languages together.

One abstract tree is sampled (`sample.py`) and rendered twice (`english.py`, `german.py`), so a pair is correct by
construction, and a source has exactly one translation. The language is small enough to be learned in minutes, and has
what makes translation need attention: reordering, long-distance agreement, possessives and pronouns with antecedents.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from heed.demo.grammar import english, german
from heed.demo.grammar.sample import Sampler
from heed.demo.grammar.tree import Sentence


@dataclass(frozen=True, slots=True)
class Pair:
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Corpus:
    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


TYPED_BY_PEOPLE: tuple[Pair, ...] = (
    Pair("The cat chased its tail.", "Die Katze jagte ihren Schwanz."),
    Pair("The dog chased its tail.", "Der Hund jagte seinen Schwanz."),
    Pair("Where does your brother live?", "Wo wohnt dein Bruder?"),
    Pair("The man who sold the car bought a horse.", "Der Mann, der das Auto verkaufte, kaufte ein Pferd."),
    Pair("The boy is tired because he got up early.", "Der Junge ist müde, weil er früh aufstand."),
    Pair("The woman bought the table because she liked it.", "Die Frau kaufte den Tisch, weil sie ihn mochte."),
    Pair(
        "Yesterday the children gave their teacher a red apple.",
        "Gestern gaben die Kinder ihrem Lehrer einen roten Apfel.",
    ),
    Pair("I don't know whether she has read the letter.", "Ich weiß nicht, ob sie den Brief gelesen hat."),
)
"""Sentences that a user might type to try a model. None of them is ever in the training text."""

_TYPED = frozenset(pair.source for pair in TYPED_BY_PEOPLE)
_N_BUCKETS = 50
"""A hash of the English text selects one of these: one is for validation, one for the test, the rest for training."""


def trees(seed: int) -> Iterator[Sentence]:
    """Yield trees without end; a seed gives the same trees on every machine."""
    sampler = Sampler(random.Random(seed).random)
    while True:
        yield sampler.sentence()


def sentences(seed: int) -> Iterator[Pair]:
    """Yield sentence pairs without end, not all distinct."""
    for tree in trees(seed):
        yield Pair(english.sentence(tree), german.sentence(tree))


def part_of(source: str) -> str:
    """Return the part a sentence belongs to: "train", "valid" or "test", or "typed" for those of `TYPED_BY_PEOPLE`."""
    if source in _TYPED:
        return "typed"
    return {0: "valid", 1: "test"}.get(zlib.crc32(source.encode()) % _N_BUCKETS, "train")


def corpus(train: int = 150_000, valid: int = 500, test: int = 1_000, seed: int = 2017) -> Corpus:
    """Return exactly the given numbers of distinct pairs; no two parts share an English sentence, whatever the seed."""
    wanted = {"train": train, "valid": valid, "test": test}
    parts: dict[str, list[Pair]] = {name: [] for name in wanted}
    missing = sum(wanted.values())
    seen: set[str] = set()
    pairs = sentences(seed)
    while missing:
        pair = next(pairs)
        name = part_of(pair.source)
        if name != "typed" and len(parts[name]) < wanted[name] and pair.source not in seen:
            seen.add(pair.source)
            parts[name].append(pair)
            missing -= 1
    return Corpus(parts["train"], parts["valid"], parts["test"])
