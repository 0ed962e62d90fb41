"""Find what a translation must copy: tags, addresses, placeholders, emoji and numbers.

What counts:

| kind | for example |
| --- | --- |
| tag | `<b>`, `</b>`, `<x id="1"/>` |
| url | `https://example.org/a?b=1`, `www.example.org`; without the marks that end a sentence |
| mail | `jane.doe@example.org` |
| placeholder | `{}`, `{0}`, `{name}`, `{{x}}`, `${x}`, `%s`, `%d`, `%1$s`, `%.2f`, `%(name)s` |
| emoji | `😂`, `❤️`, `👋🏽`; several in a row, up to ten characters, count as one |
| number | `1984`, `1,000.50` |

All but numbers must come through unchanged. Of a number, the digits count, so that `1,000.50` may become `1.000,50`,
and `12/25/2024` `25.12.2024`. Whole numbers up to 12 do not count: a translation may write them out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Pictures, with flags and skin colours; \ufe0f asks for a coloured one, \u200d joins two. Not signs such as ✓ and ★.
_EMOJI = "\U0001f000-\U0001faff\u2600-\u2604\u2614\u2615\u263a\u2639\u2665\u26a0\u26a1\u26bd\u26be"
_EMOJI += "\u2705\u270a-\u270d\u2728\u274c\u274e\u2753-\u2757\u2763\u2764\u2b50"
_SPAN = re.compile(
    r"""
    (?P<tag> </?[A-Za-z][^<>]{0,500}> )
  | (?P<url> (?<!\w) (?: [A-Za-z][A-Za-z0-9+.-]{0,20}:// | www\.(?=\w) ) [^\s<>"]+ )
  | (?P<mail> (?<![\w.+-]) [\w.+-]+ @ \w[\w-]* (?:\.\w[\w-]*)+ )
  | (?P<placeholder>
        \{\{ [^{}]{1,100} \}\}
      | \$? \{ [^{}\s]{0,100} \}
      | % \( \w{1,100} \) [#0+-]*\d*(?:\.\d+)? [sdifgeExXcour] (?!\w)
      | % (?:\d+\$)? [#0+-]*\d*(?:\.\d+)? [sdifgeExXcou@] (?!\w)
    )
  | (?P<emoji> [EMOJI][EMOJI\ufe0f\u200d]{0,9} )
    """.replace("EMOJI", _EMOJI),
    re.VERBOSE,
)
_MAY_HAVE_SPAN = re.compile(rf"[<{{%@{_EMOJI}]|://|www\.")
_NUMBER = re.compile(r"(?<![^\W_])(?<![0-9][.,])[0-9]+(?:[.,][0-9]+)*")
_NEIGHBOURS = re.compile(r"[0-9]+(?:[.,'’][0-9]+| [0-9]{3}(?![0-9]))*")
_DIGITS = re.compile(r"[0-9]+")
_SENTENCE_MARKS = ".,;:!?'’”»*_…"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_MAX_WRITTEN_OUT = 12


@dataclass(frozen=True)
class Span:
    """A part of a text to copy."""

    kind: str  # "tag", "url", "mail", "placeholder", "emoji" or "number"
    text: str
    begin: int

    @property
    def end(self) -> int:
        return self.begin + len(self.text)


def machine_spans(text: str) -> list[Span]:
    """Return the tags, addresses, placeholders and emoji of a text, in order."""
    if _MAY_HAVE_SPAN.search(text) is None:  # nearly every text
        return []
    found, at = [], 0
    while (match := _SPAN.search(text, at)) is not None:
        kind, given = str(match.lastgroup), match[0]
        given = _without_sentence_marks(given) if kind == "url" else given
        found.append(Span(kind, given, match.start()))
        at = found[-1].end
    return found


def numbers(text: str) -> list[Span]:
    """Return the numbers of a text, in order, without those that a translation may write out."""
    return [
        Span("number", match[0], match.start())
        for match in _NUMBER.finditer(text)
        if not (match[0].isdecimal() and len(match[0]) <= 2 and int(match[0]) <= _MAX_WRITTEN_OUT)
    ]


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with a line feed, which no text has, instead of each character of these spans."""
    for begin, end in spans:
        text = text[:begin] + "\n" * (end - begin) + text[end:]
    return text


def lost(spans: Sequence[Span], translation: str) -> list[Span]:
    """Return the spans of a source text that its translation lacks, or has less often."""
    if not spans:
        return []
    machine = machine_spans(translation)
    copied = Counter(span.text for span in machine)
    rest = blanked(translation, ((span.begin, span.end) for span in machine))
    runs = [_DIGITS.findall(match[0]) for match in _NEIGHBOURS.finditer(rest)]
    found = []
    for span in spans:
        if span.kind == "number":
            if not _take_number(_DIGITS.findall(span.text), runs):
                found.append(span)
        elif copied[span.text]:
            copied[span.text] -= 1
        else:
            found.append(span)
    return found


def _take_number(number: list[str], runs: list[list[str]]) -> bool:
    """Remove the digits of a number from neighbouring runs of digits; return whether they were there."""
    digits = "".join(number)
    for at, run in enumerate(runs):
        for begin in range(len(run)):
            joined = ""
            for end in range(begin, len(run)):
                joined += run[end]
                if joined == digits:
                    runs[at : at + 1] = [run[:begin], run[end + 1 :]]
                    return True
                if not digits.startswith(joined):
                    break
    return False


def _without_sentence_marks(url: str) -> str:
    """Return an address without the marks at its end that belong to the sentence, such as a closing bracket."""
    while url[-1] in _SENTENCE_MARKS or (url[-1] in _BRACKETS and url.count(url[-1]) > url.count(_BRACKETS[url[-1]])):
        url = url[:-1]
    return url
