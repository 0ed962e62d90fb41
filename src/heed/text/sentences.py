"""Split a line into its sentences, for models that have learnt from single sentences.

The rules are careful: two sentences that stay together may be translated badly, but a sentence cut in two certainly is.
"""

import re

# Marks that end a sentence, closing quotes and brackets, a space; then a letter or a digit, perhaps after opening ones.
_END = re.compile(r"(?<![.!?…])(?P<mark>[.!?…]++)[\"'”’»)\]]*+ (?=[\"'“‘„«(\[¿¡]*(?P<next>[^\W_]))")
_MAX_ABBREVIATION = 30  # characters looked at before a stop
_LAST_WORD = re.compile(r"[^\s\"'“‘„«(\[]*$")

# Abbreviations, English or German, that stand before a name, and those that stand before a number.
_BEFORE_NAMES = frozenset(
    "bzw ca capt corp dipl dr fr gov hon hr hrsg inc ing inkl jr lt ltd mr mrs ms mt prof rev sgt sr st vgl vs".split()
)
_BEFORE_NUMBERS = frozenset(
    "abb apr approx art aug bd dec dez feb fig jan jul jun kap mar max min no nos nov nr oct okt pp sep sept tel "
    "vol".split()
)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a normalised text; joined with spaces, they are the text."""
    found, begin = [], 0
    for match in _END.finditer(text):
        is_number = match["next"].isdecimal()
        if not (is_number or match["next"].isupper()):
            continue
        if match["mark"] == "." and _is_abbreviation(
            text[max(begin, match.start() - _MAX_ABBREVIATION) : match.start()], is_number
        ):
            continue
        found.append(text[begin : match.end() - 1])
        begin = match.end()
    return [*found, text[begin:]]


def _is_abbreviation(before: str, is_before_number: bool) -> bool:
    """Return whether a stop after this text ends an abbreviation, an initial or an ordinal number (*am 3. Mai*)."""
    match = _LAST_WORD.search(before)
    word = match[0].casefold() if match else ""
    if len(word) <= 1 or "." in word or word.isdecimal() or word in _BEFORE_NAMES:
        return True
    return is_before_number and word in _BEFORE_NUMBERS
