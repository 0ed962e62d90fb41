"""Find what the translation of a text must contain: the glossary's terms, and what must be copied."""

from collections.abc import Callable
from dataclasses import dataclass

from heed.text.copying import Span, blanked, in_the_other_way, lost, machine_spans, names_and_numbers
from heed.text.glossary import Entry, Glossary, is_whole


@dataclass(frozen=True)
class Required:
    """What the translation of a text must contain, each as often as it is listed."""

    terms: tuple[tuple[Entry, int], ...] = ()  # each with the place of its source term in the text
    spans: tuple[Span, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for entry, _ in self.terms)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Return where the text has what each of `texts` stands for: begin and end."""
        terms = [(at, at + len(entry.source)) for entry, at in self.terms]
        return [*terms, *((span.begin, span.end) for span in self.spans)]

    @property
    def texts(self) -> list[str]:
        return [*(entry.target for entry in self.entries), *(span.text for span in self.spans)]

    @property
    def ways(self) -> list[list[str]]:
        """Return the ways to write it: as in the source, and, if that changes anything, with 1,000.5 as 1.000,5."""
        exchanged = [*(entry.target for entry in self.entries), *map(in_the_other_way, self.spans)]
        return [self.texts] if exchanged == self.texts else [self.texts, exchanged]

    def missing(self, translation: str) -> list[str]:
        """Return what a translation lacks."""
        found, rest = [], translation
        for target in sorted((entry.target for entry in self.entries), key=len, reverse=True):
            at = _find_whole(rest, target)
            if at < 0:
                found.append(target)
            else:
                rest = blanked(rest, [(at, at + len(target))])
        return [*found, *(span.text for span in lost(self.spans, translation))]


def required_of(
    text: str, glossary: Glossary | None, copy: bool, is_symbol: Callable[[str], bool] = lambda text: False
) -> Required:
    """Return what the translation of a normalised text must contain.

    Terms are not looked for inside tags, addresses and placeholders, nor names and numbers inside terms. A text may
    begin with a symbol of the vocabulary, such as the tag of a language, which is not part of what is said.
    """
    machine = machine_spans(text)
    words = blanked(text, ((span.begin, span.end) for span in machine))
    terms = [] if glossary is None else glossary.find(words)
    spans: list[Span] = []
    if copy:
        words = blanked(words, ((at, at + len(entry.source)) for entry, at in terms))
        spans = [span for span in machine if span.begin > 0 or not is_symbol(span.text)] + names_and_numbers(words)
    return Required(tuple(terms), tuple(spans))


def _find_whole(text: str, term: str) -> int:
    """Return where a term occurs in a text as whole words; -1: nowhere."""
    at = text.find(term)
    while at >= 0 and not is_whole(text, at, at + len(term)):
        at = text.find(term, at + 1)
    return at
