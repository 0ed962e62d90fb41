"""Split raw text into the words of the Penn treebank, each with its place in the text.

    "Don't go (yet)," he said.   ``  Do  n't  go  -LRB-  yet  -RRB-  ,  ''  he  said  .

Every character but white space is in exactly one word. Text that has been split already stays as it is.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """A word, and where the text has it."""

    word: str  # as Penn writes it, such as -LRB- for (
    start: int
    end: int


_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_WRITTEN = {**_BRACKETS, "“": "``", "”": "''", "„": "``", "‘": "`", "’": "'", "…": "...", "–": "--", "—": "--"}

# A period belongs to these wherever they stand before another word. All others are at the end of a sentence.
_ABBREVIATIONS = frozenset(
    "adm al approx apr aug ave bros capt cf cmdr co col corp cpl ct dec dept dr ed eds eq eqs est etc feb fig figs "
    "fri ft gen gov hon hr inc jan jr lt ltd maj mar messrs min mon mr mrs ms mt no nos nov oct op ph pp prof ref refs "
    "rep reps rev sat sec sen sens sep sept sgt sp spp sr st sun supt tab thu tue univ var viz vol vols vs wed".split()
)

_TOKEN = re.compile(
    r"""
      -[LR][RSC]B-                                              # brackets that are written as words already
    | (?:https?://|www\.)[^\s<>"“”()\[\]{}]*[^\s<>"“”()\[\]{}.,;:!?'’]
    | \w[\w.+-]*@\w[\w-]*(?:\.\w[\w-]*)+                        # an address
    | \.{2,} | -{2,} | `` | ''
    | (?:[^\W\d_]\.){2,}                                        # U.S., e.g.
    | (?<![\w)\]'’])['’](?i:\d0s|em|tis|twas|t|n|til|cause|s|m|d|ll|re|ve)(?!\w)
    | °[CF]\b
    | (?:(?<!\S)[-+]?\.?(?=\d))?                                # a number's sign
      \w(?:
          \w
        | [.&/_+*-](?=\w)                                       # inside a word
        | ['’](?=\w) | ['’′](?=-\w)                             # don't, 5'-end
        | (?<=\d)[,:](?=\d)
        | -(?=\s) | \++(?!\w)                                   # pro- and anti-, Ca2+
      )*
      (?:(?<=[A-Z])\$)?                                         # US$
    | \S
    """,
    re.VERBOSE,
)
_SUFFIX = re.compile(r"(?i)(?<=\w)(n['’]t|['’](?:s|m|d|ll|re|ve))$")
_JOINED = {
    **{"cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "lemme": 3, "gimme": 3, "d'ye": 2, "more'n": 4},
    **{"'tis": 2, "'twas": 2},
}  # two words without a space between: where the second begins
_JOINT = re.compile(r"(?<=[\w+])[-/](?=\w)")
# Hyphens that treebanks do not split at even if they split at others.
_PREFIXES = frozenset(
    "a agro ante anti arch be bi bio co counter cross cyber de e eco ex extra inter intra macro mega micro mid mini "
    "multi neo non over pan para peri post pre pro pseudo quasi re semi sub super tri u ultra un uni vice x".split()
)
_SUFFIXES = frozenset("esque ette fest fold gate itis less most rama wise".split())


def tokenise(text: str, split_hyphens: bool = False) -> list[Token]:
    """Return the words of a sentence.

    With `split_hyphens`, a hyphen or slash inside a word is a word of its own, as in newer treebanks: T - cell, but
    not after a prefix or before a suffix: anti-rabbit, two-fold.
    A period is split off at the end of the text and where a sentence seems to end, but not from U.S. or Fig. 3.
    """
    return [
        Token(_written(text, start, end), start, end)
        for first, last in _pieces(text)
        for start, end in _parts(text, first, last, split_hyphens)
    ]


def penn_word(word: str) -> str:
    """Return a word as a tree can hold it: brackets would end it."""
    return _BRACKETS.get(word, word.replace("(", "-LRB-").replace(")", "-RRB-"))


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where words are; a period that belongs to an abbreviation is part of it."""
    place = 0
    while match := _TOKEN.search(text, place):
        place = match.end()
        if text[place : place + 1] == "." and match[0][-1].isalpha() and _keeps_period(match[0], text[place + 1 :]):
            place += 1
        yield match.start(), place


def _keeps_period(word: str, after: str) -> bool:
    """Return whether the period between a word and what comes after it belongs to the word."""
    following = after.lstrip()
    if following == after or not following.strip("\"'”’)]}"):  # no space after it, or the end of the text
        return bool(after) and after[0] in ",;:"
    if len(word) == 1:  # an initial
        return word.isupper() and word != "I"
    return word.lower() in _ABBREVIATIONS or following[0].islower() or following[0].isdecimal()


def _parts(text: str, start: int, end: int, split_hyphens: bool) -> Iterator[tuple[int, int]]:
    """Yield the words that a piece of text is made of: do n't, can not."""
    piece = text[start:end].replace("’", "'").lower()
    if piece in _JOINED:
        yield start, start + _JOINED[piece]
        yield start + _JOINED[piece], end
        return
    suffixes = []
    while suffix := _SUFFIX.search(text[start:end]):
        suffixes.append((start + suffix.start(), end))
        end = start + suffix.start()
    if split_hyphens and "://" not in piece and "@" not in piece:
        for joint in _JOINT.finditer(text, start, end):
            before, after = text[start : joint.start()].lower(), re.match(r"\w*", text[joint.end() : end])
            if joint[0] == "-" and (before in _PREFIXES or (after and after[0].lower() in _SUFFIXES)):
                continue
            yield start, joint.start()
            yield joint.span()
            start = joint.end()
    yield start, end
    yield from reversed(suffixes)


def _written(text: str, start: int, end: int) -> str:
    """Return how Penn writes a word; a straight quote opens where nothing or a space or bracket is before it."""
    word = text[start:end]
    opens = start == 0 or text[start - 1] in " \t\n\r([{-–—“‘\"'`"
    if word == '"':
        return "``" if opens else "''"
    if word == "'":
        return "`" if opens and end < len(text) and not text[end].isspace() else "'"
    return _WRITTEN.get(word, word.replace("’", "'"))
