"""Translate again where a translation lacks what it must contain (terms of a glossary, text to copy), or has what it
must not: broken and invisible characters, and other digits in place of a number.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from heed.engines.searching import Engine
from heed.errors import DecodeError
from heed.options import SearchOptions
from heed.text.placement import replaced
from heed.text.required import Required, required_of
from heed.text.tokenizer import Tokenizer
from heed.text.unwanted import tokens_of_digits, tokens_of_unwanted, unwanted_in
from heed.translation import Translation


def with_required(
    engine: Engine,
    texts: Sequence[str],
    numbers: Sequence[int],
    found: list[Translation],
    options: SearchOptions,
    deadline: float | None,
) -> list[Translation]:
    """Return the translations of these texts, made again where they lack what they must contain.

    Texts are copied only if `options.copy` is true.
    """
    if options.glossary is None and not options.copy:
        return found
    results, demands = dict(enumerate(found)), {}
    for i, text in enumerate(texts):
        required = required_of(text, options.glossary, bool(options.copy), engine.tokenizer.is_symbol)
        demands[i] = _Demand(text, required, bool(options.copy))
    todo = {i: one for i, one in demands.items() if one.look_at(engine.tokenizer, results[i])}
    placed = _placed(engine, {i: (results[i], one) for i, one in todo.items()}, numbers, options, deadline)
    results.update(placed)
    todo = {i: one for i, one in todo.items() if i not in placed}
    while todo:
        ways = [(i, way) for i, one in todo.items() for way in one.writable(engine.tokenizer)]
        for has_phrases in (True, False):  # a search ranks hypotheses otherwise if it has to write something
            again = [(i, way) for i, way in ways if any(way) == has_phrases]
            if not again:
                continue
            more = replace(
                options,
                required=[way for _, way in again],
                barred=[demands[i].barred for i, _ in again],
                seconds=_left(deadline),
            )
            made = engine.translate([texts[i] for i, _ in again], [numbers[i] for i, _ in again], more, lambda _: None)
            results.update(_best_of_each([i for i, _ in again], made))
        # Another search helps only if it has to meet more than this one.
        todo = {i: one for i, one in todo.items() if one.look_at(engine.tokenizer, results[i])}
    return [_reported(results[i], one.required, one.lacked) for i, one in demands.items()]


@dataclass
class _Demand:
    """What the translation of a text must and must not have, and what its translations have lacked so far."""

    text: str
    required: Required
    copy: bool
    barred: frozenset[int] = frozenset()  # tokens that it may only have in what is required
    lacked: list[str] = field(default_factory=list)

    def look_at(self, tokenizer: Tokenizer, translation: Translation) -> bool:
        """Demand what this translation lacks; return whether that is something new."""
        before = bool(self.lacked), self.required, self.barred
        several = [one.text for one in translation.alternatives or (translation,)]
        missing = [text for one in several for text in self.required.missing(one)]
        self.lacked += [text for text in dict.fromkeys(missing) if text not in self.lacked]
        if any(span.kind in ("small", "number") and span.text in missing for span in self.required.spans):
            is_certain = not any(span.kind == "decade" for span in self.required.spans)
            if is_certain and any(map(self.required.has_other_digits, several)):
                self.barred |= tokens_of_digits(tokenizer)
            if any(span.kind == "small" and span.text in missing for span in self.required.spans):
                self.required = self.required.strict
        if self.is_unwanted(several):
            given = () if self.barred & tokenizer.byte_ids else tokenizer.encode_ids([self.text])[0]
            self.barred |= tokens_of_unwanted(tokenizer, given)  # those of the source only if that did not suffice
        return before != (bool(self.lacked), self.required, self.barred)

    def is_unwanted(self, translations: Sequence[str]) -> bool:
        """Return whether one of these texts has broken or invisible characters that nothing gives a reason for."""
        given = "".join((self.text, *self.required.texts))
        return self.copy and any(unwanted_in(one, given) for one in translations)

    def writable(self, tokenizer: Tokenizer) -> list[list[list[str]]]:
        """Return the ways to write what is required, in chains, without texts that the vocabulary cannot write.

        Raises:
            DecodeError: it cannot write a target term.
        """
        for entry in self.required.entries:
            if not tokenizer.can_write(entry.target):
                raise DecodeError(
                    f'the vocabulary cannot write "{entry.target}", the glossary\'s term for "{entry.source}"; '
                    "choose another term"
                )
        chains = map(self.required.chains, self.required.ways)
        ways = [[[one for one in chain if tokenizer.can_write(one)] for chain in several] for several in chains]
        return [way for way in ways if any(way)] or ([[]] if self.barred else [])


def _placed(
    engine: Engine,
    lacking: Mapping[int, tuple[Translation, _Demand]],
    numbers: Sequence[int],
    options: SearchOptions,
    deadline: float | None,
) -> dict[int, Translation]:
    """Return translations in which what was lacking replaces the words written from its source, if these are clear.

    Search is forced to write them, so their scores are those of the model.
    """
    if options.n_best > 1 or engine.supports(replace(options, attention=True)) is not None:
        return {}
    drafts: list[tuple[int, str]] = []
    for i, (translation, demand) in lacking.items():
        text, required = demand.text, demand.required
        if demand.is_unwanted([translation.text]):
            continue
        source = engine.tokenizer.encode(text)
        ids = engine.tokenizer.ids(translation.pieces)
        attention_TS = engine.attention(source.ids, ids).cross.mean((0, 1))
        missing = required.missing(translation.text)
        for way in required.ways:
            terms = [
                (term, _overlapping(source.offsets, place), len(text[slice(*place)].split()))
                for term, given, place in zip(way, required.texts, required.places, strict=True)
                if given in missing
            ]
            draft = replaced(translation.text, translation.pieces, attention_TS, terms)
            if draft is None or required.missing(draft) or not engine.tokenizer.can_write(draft):
                continue
            if demand.barred and required.has_other_digits(draft):
                continue
            if required.has_order_of_source(draft, way, missing):
                drafts.append((i, draft))
    if not drafts:
        return {}
    whole = [draft for _, draft in drafts]
    forced = replace(options, prefixes=whole, whole=True, glossary=None, copy=False, seconds=_left(deadline))
    made = engine.translate(
        [lacking[i][1].text for i, _ in drafts], [numbers[i] for i, _ in drafts], forced, lambda _: None
    )
    kept = [(i, one) for (i, _), one in zip(drafts, made, strict=True) if one.finished]  # within learned positions
    return _best_of_each([i for i, _ in kept], [one for _, one in kept])


def _reported(translation: Translation, required: Required, lacked: list[str]) -> Translation:
    """Return a translation that reports what it must contain, and what of that was forced."""
    missing = required.missing(translation.text)
    return replace(
        translation,
        terms=required.entries,
        forced=tuple(text for text in dict.fromkeys(lacked) if text not in missing),
        missing=tuple(missing),
        alternatives=tuple(_reported(one, required, lacked) for one in translation.alternatives),
    )


def _overlapping(spans: Sequence[tuple[int, int]], place: tuple[int, int]) -> list[int]:
    """Return the indices of the spans that have a part of a place."""
    return [i for i, (begin, end) in enumerate(spans) if begin < place[1] and end > place[0]]


def _left(deadline: float | None) -> float | None:
    """Return the seconds until a time of time.monotonic()."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def _best_of_each(texts: Sequence[int], translations: Sequence[Translation]) -> dict[int, Translation]:
    """Return the best translation of each text, given by its index."""
    best: dict[int, Translation] = {}
    for i, one in zip(texts, translations, strict=True):
        if i not in best or one.score > best[i].score:
            best[i] = one
    return best
