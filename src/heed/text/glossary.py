"""A glossary: terms of the source language, and the terms that their translations must contain."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from heed.errors import DataError
from heed.text.lines import read_lines
from heed.text.normalize import normalize

MAX_TERM_CHARACTERS = 100

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Entry:
    """A source term and the target term that its translation must contain."""

    source: str
    target: str

    @property
    def any_case(self) -> bool:
        """Whether the source term is found in any case; one with a capital letter is found only as it is written."""
        return self.source == self.source.lower()


class Glossary:
    """Entries that find their source terms in texts: whole words, the longest term first, none overlapping another.

    A term in lower case is found in any case ("bike" in "Bike"), one with a capital letter only as it is written
    ("May" is not in "may"). If both apply, the one as written counts.
    """

    def __init__(self, entries: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        """Make a glossary of target terms by source term.

        Raises:
            DataError: a term is empty or too long, or a source term has two target terms.
            TypeError: a term is not a string.
        """
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        self._set({f"entry {number}": pair for number, pair in enumerate(pairs, 1)})

    @classmethod
    def read(cls, path: str | Path) -> "Glossary":
        """Read a file with a source term, a tab and a target term on each line; a line that begins with # is a comment.

        Raises:
            DataError: the file cannot be read, is not UTF-8, or has a bad entry; the message names file and line.
        """
        pairs = {}
        for number, line in enumerate(read_lines(path), 1):
            if not line.strip() or line.startswith("#"):
                continue
            place, sides = f"{path}, line {number}", line.split("\t")
            if len(sides) != 2:
                found = "no tab" if len(sides) == 1 else f"{len(sides) - 1} tabs"
                raise DataError(
                    f'{place}: has {found}: "{_short(line)}"; write one source term, one tab and one target term'
                )
            pairs[place] = sides[0], sides[1]
        glossary = cls()
        glossary._set(pairs)
        return glossary

    def _set(self, pairs: Mapping[str, tuple[str, str]]) -> None:
        """Check and index entries, given with their places for messages."""
        places: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        self._by_first_word: dict[str, list[Entry]] = defaultdict(list)
        for place, pair in pairs.items():
            source, target = (_term(side, place, text) for side, text in zip(("source", "target"), pair, strict=True))
            if self._targets.get(source, target) != target:
                raise DataError(
                    f'{place}: "{source}" is "{target}" here, but "{self._targets[source]}" in {places[source]}; '
                    "keep one of the two"
                )
            if source not in places:
                places[source], self._targets[source] = place, target
                first = _WORD_OR_MARK.search(source)
                assert first is not None
                self._by_first_word[first[0].lower()].append(Entry(source, target))
        for entries in self._by_first_word.values():
            entries.sort(key=lambda entry: (-len(entry.source), entry.any_case))

    def __len__(self) -> int:
        return len(self._targets)

    def __iter__(self) -> Iterator[Entry]:
        return (Entry(source, target) for source, target in self._targets.items())

    def __repr__(self) -> str:
        return f"<Glossary: {len(self):,} {'entry' if len(self) == 1 else 'entries'}>"

    def find(self, text: str) -> list[tuple[Entry, int]]:
        """Return the entries whose source terms occur in a normalised text, each with the place where it begins."""
        found, end = [], 0
        for word in _WORD_OR_MARK.finditer(text) if self._by_first_word else ():
            at = word.start()
            for entry in self._by_first_word.get(word[0].lower(), ()) if at >= end else ():
                given = text[at : at + len(entry.source)]
                is_same = given == entry.source or (entry.any_case and given.lower() == entry.source)
                if is_same and is_whole(text, at, at + len(given)):
                    found.append((entry, at))
                    end = at + len(given)
                    break
        return found


def is_whole(text: str, begin: int, end: int) -> bool:
    """Return whether a span of a text is whole words: no letter or digit at its edges continues outside of it."""
    cuts_before = begin > 0 and _is_word(text[begin - 1]) and _is_word(text[begin])
    cuts_after = end < len(text) and _is_word(text[end - 1]) and _is_word(text[end])
    return not (cuts_before or cuts_after)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _term(side: str, place: str, text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{place}: the {side} term must be a text (str), not {type(text).__name__}: {text!r}")
    term = normalize(text)
    if not term:
        raise DataError(f"{place}: the {side} term is empty; write a {side} term, or delete the entry")
    if len(term) > MAX_TERM_CHARACTERS:
        raise DataError(
            f"{place}: the {side} term has {len(term):,} characters, at most {MAX_TERM_CHARACTERS} are allowed: "
            f'"{_short(term)}"; a glossary is for terms, not for sentences'
        )
    return term


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
