"""Translate again where a translation lacks what it must contain: terms of a glossary, text to copy."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from heed.engines import Engine
from heed.engines.searching import SearchEngine
from heed.errors import DecodeError
from heed.options import SearchOptions
from heed.text.placement import replaced
from heed.text.required import Required, required_of
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation


def with_required(
    engine: Engine,
    texts: Sequence[str],
    numbers: Sequence[int],
    found: list[Translation],
    options: SearchOptions,
    deadline: float | None,
) -> list[Translation]:
    """Return the translations of these texts, made again where they lack what they must contain."""
    copy = options.copy
    if copy is None:
        copy = engine.decode.copy and engine.supports(replace(options, copy=True)) is None
    if options.glossary is None and not copy:
        return found
    is_symbol = engine.tokenizer.is_symbol
    required = {
        i: one for i, text in enumerate(texts) if (one := required_of(text, options.glossary, copy, is_symbol)).texts
    }
    lacking = {
        i: missing
        for i, one in required.items()
        if (missing := [text for it in found[i].alternatives or (found[i],) for text in one.missing(it.text)])
    }
    results = dict(enumerate(found))
    placed = _placed(engine, {i: (texts[i], found[i], required[i]) for i in lacking}, numbers, options, deadline)
    again = [(i, phrases) for i in lacking if i not in placed for phrases in _writable(engine.tokenizer, required[i])]
    if again:
        more = replace(options, required=[phrases for _, phrases in again], seconds=_left(deadline))
        retried = engine.translate([texts[i] for i, _ in again], [numbers[i] for i, _ in again], more, lambda _: None)
        results.update(_best_of_each([i for i, _ in again], retried))
    results.update(placed)
    for i, one in required.items():
        results[i] = _reported(results[i], one, lacking.get(i, []))
    return list(results.values())


def _placed(
    engine: Engine,
    lacking: Mapping[int, tuple[str, Translation, Required]],
    numbers: Sequence[int],
    options: SearchOptions,
    deadline: float | None,
) -> dict[int, Translation]:
    """Return translations in which what was lacking replaces the words written from its source, if these are clear.

    Search is forced to write them, so their scores are those of the model.
    """
    if options.n_best > 1 or engine.supports(replace(options, attention=True)) is not None:
        return {}
    assert isinstance(engine, SearchEngine)  # no other supports attention
    drafts: list[tuple[int, str]] = []
    for i, (text, translation, required) in lacking.items():
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
            if draft is not None and not required.missing(draft) and engine.tokenizer.can_write(draft):
                drafts.append((i, draft))
    if not drafts:
        return {}
    whole = [draft for _, draft in drafts]
    forced = replace(options, prefixes=whole, whole=True, glossary=None, copy=False, seconds=_left(deadline))
    made = engine.translate([lacking[i][0] for i, _ in drafts], [numbers[i] for i, _ in drafts], forced, lambda _: None)
    kept = [(i, one) for (i, _), one in zip(drafts, made, strict=True) if one.finished]  # within learned positions
    return _best_of_each([i for i, _ in kept], [one for _, one in kept])


def _writable(tokenizer: Tokenizer, required: Required) -> list[list[str]]:
    """Return the ways to write what is required, without texts that the vocabulary cannot write.

    Raises:
        DecodeError: it cannot write a target term.
    """
    for entry in required.entries:
        if not tokenizer.can_write(entry.target):
            raise DecodeError(
                f'the vocabulary cannot write "{entry.target}", the glossary\'s term for "{entry.source}"; '
                "choose another term"
            )
    ways = ([text for text in texts if tokenizer.can_write(text)] for texts in required.ways)
    return [writable for writable in ways if writable]


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
