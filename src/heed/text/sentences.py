"""Split a line into its sentences, for models that have learnt from single sentences.

The rules are careful: two sentences that stay together may be translated badly, but a sentence cut in two certainly is.
In a line that begins with a small letter, sentences do, too. There is no cut inside what must be copied, such as a tag.
"""

import re

from heed.text.copying import copied_spans

# Marks that end a sentence, closing quotes and brackets, a space; then a letter or a digit, perhaps after opening ones.
_END = re.compile(r"(?<![.!?…])(?P<mark>[.!?…]++)[\"'”’»)\]]*+ (?=[\"'“‘„«(\[¿¡]*(?P<next>[^\W_]))")
_MAX_ABBREVIATION = 30  # characters looked at before a stop
_PRICE = re.compile(r"[$€£¥]\d[\d.,]*")  # 3.5 alone may be a day or a chapter
_YEAR = re.compile("1[1-9][0-9]{2}|20[0-9]{2}")  # other whole numbers may be ordinals: am 3. Mai, sein 100. Tor
_LAST_WORD = re.compile(r"[^\s\"'“‘„«(\[]*$")

# Abbreviations, English or German, that stand before a name, and those that stand before a number.
_BEFORE_NAMES = frozenset(
    "bzw ca capt corp dipl dr fr gov hon hr hrsg inc ing inkl jr lt ltd mr mrs ms mt prof rev sgt sr st vgl vs".split()
)
_BEFORE_NUMBERS = frozenset(
    "abb apr approx art aug bd dec dez feb fig jan jul jun kap mar max min no nos nov nr oct okt pp sep sept tel "
    "vol".split()
)
_BEFORE_WORDS = _BEFORE_NUMBERS | frozenset("al etc incl resp usf usw".split())


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a normalised text; joined with spaces, they are the text."""
    found, begin = [], 0
    kept = iter(copied_spans(text) if _END.search(text) else ())
    span = next(kept, None)
    for match in _END.finditer(text):
        if not _may_begin(match, text[:1].islower()):
            continue
        if match["mark"] == "." and _is_abbreviation(
            text[max(begin, match.start() - _MAX_ABBREVIATION) : match.start()], match["next"]
        ):
            continue
        end = match.end() - 1
        while span is not None and span.end <= end:
            span = next(kept, None)
        if span is not None and span.begin < end:
            continue
        found.append(text[begin:end])
        begin = match.end()
    return [*found, text[begin:]]


def _may_begin(match: re.Match[str], in_lower_case: bool) -> bool:
    """Return whether what follows a mark may begin a sentence; `in_lower_case`: the line begins with a small letter."""
    after, mark = match["next"], match["mark"]
    if after.isdecimal() or after.isupper():
        return True
    is_plain = match[0] == f"{mark} " and mark[:2] != ".." and "…" not in mark  # not: "why?" she asked; well... i think
    return in_lower_case and after.islower() and is_plain


def _is_abbreviation(before: str, after: str) -> bool:
    """Return whether a stop between these texts ends an abbreviation, an initial or an ordinal number (*am 3. Mai*)."""
    match = _LAST_WORD.search(before)
    word = match[0].casefold() if match else ""
    if _PRICE.fullmatch(word) or _YEAR.fullmatch(word):
        return False
    if len(word) <= 1 or "." in word or word.isdecimal() or word in _BEFORE_NAMES:
        return True
    return (after.isdecimal() and word in _BEFORE_NUMBERS) or (after.islower() and word in _BEFORE_WORDS)
