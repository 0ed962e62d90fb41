"""Find what the translation of a text must contain: the glossary's terms, and what must be copied."""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from heed.text.copying import (
    MACHINE,
    Span,
    blanked,
    has_other_digits,
    in_the_other_way,
    lost,
    machine_spans,
    names_and_numbers,
)
from heed.text.glossary import Entry, Glossary, is_whole


@dataclass(frozen=True)
class Required:
    """What the translation of a text must contain, each as often as it is listed."""

    terms: tuple[tuple[Entry, int], ...] = ()  # each with the place of its source term in the text
    spans: tuple[Span, ...] = ()  # in the order of the text, with numbers that may be written out

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for entry, _ in self.terms)

    @property
    def _unchanged(self) -> list[Span]:
        return [span for span in self.spans if span.kind not in ("small", "decade")]

    @property
    def places(self) -> list[tuple[int, int]]:
        """Return where the text has what each of `texts` stands for: begin and end."""
        terms = [(at, at + len(entry.source)) for entry, at in self.terms]
        return [*terms, *((span.begin, span.end) for span in self._unchanged)]

    @property
    def texts(self) -> list[str]:
        return [*(entry.target for entry in self.entries), *(span.text for span in self._unchanged)]

    @property
    def ways(self) -> list[list[str]]:
        """Return the ways to write it: as in the source, and, if that changes anything, with 1,000.5 as 1.000,5."""
        exchanged = [*(entry.target for entry in self.entries), *map(in_the_other_way, self._unchanged)]
        return [self.texts] if exchanged == self.texts else [self.texts, exchanged]

    def chains(self, way: list[str]) -> list[list[str]]:
        """Return what to force in one of the ways: lists whose texts must come in this order.

        A term is a list by itself, because languages order words differently. What is copied comes in the order of the
        source, so that no closing tag precedes its opening one, and what touches in the source stays together.
        """
        n_terms, end = len(self.terms), -1
        copied: list[str] = []
        for text, (begin, after) in zip(way[n_terms:], self.places[n_terms:], strict=True):
            if begin == end:
                copied[-1] += text
            else:
                copied.append(text)
            end = after
        return [*([term] for term in way[:n_terms]), *([copied] if copied else [])]

    def has_order_of_source(self, text: str, way: list[str], forced: Container[str]) -> bool:
        """Return whether a text written in one of the ways has the forced and the machine's spans in source order."""
        at = 0
        for span, written in zip(self._unchanged, way[len(self.terms) :], strict=True):
            if span.text in forced or span.kind in MACHINE:
                at = text.find(written, at) + len(written)
                if at < len(written):
                    return False
        return True

    @property
    def strict(self) -> "Required":
        """Return the same, but no small number may be written out."""
        spans = (replace(span, kind="number") if span.kind == "small" else span for span in self.spans)
        return replace(self, spans=tuple(spans))

    def missing(self, translation: str) -> list[str]:
        """Return what a translation lacks."""
        found, _ = self._without_terms(translation)
        return [*found, *(span.text for span in lost(self.spans, translation))]

    def has_other_digits(self, translation: str) -> bool:
        """Return whether a translation has digits for which neither a term nor a span is a reason."""
        return has_other_digits(self.spans, self._without_terms(translation)[1])

    def _without_terms(self, translation: str) -> tuple[list[str], str]:
        """Return the target terms that a translation lacks, and the translation with the others blanked."""
        found, rest = [], translation
        for target in sorted((entry.target for entry in self.entries), key=len, reverse=True):
            at = _find_whole(rest, target)
            if at < 0:
                found.append(target)
            else:
                rest = blanked(rest, [(at, at + len(target))])
        return found, rest


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
    return Required(tuple(terms), tuple(sorted(spans, key=lambda span: span.begin)))


def _find_whole(text: str, term: str) -> int:
    """Return where a term occurs in a text as whole words; -1: nowhere."""
    at = text.find(term)
    while at >= 0 and not is_whole(text, at, at + len(term)):
        at = text.find(term, at + 1)
    return at
