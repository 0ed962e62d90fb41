"""Find what a translation must copy: tags, addresses, placeholders, product names, emoji and numbers.

What counts:

| kind | for example |
| --- | --- |
| tag | `<b>`, `</b>`, `<x id="1"/>`, `&nbsp;` |
| url | `https://example.org/a?b=1`, `www.example.org`; without the marks that end a sentence |
| mail | `jane.doe@example.org`, `@jane` |
| placeholder | `{}`, `{0}`, `{name}`, `{{x}}`, `${x}`, `%{x}`, `%s`, `%d`, `%1$s`, `%.2f`, `%(name)s`, `%%` |
| phone | `+49 89 1234567` |
| name | words with a capital letter or a digit after a letter: `iPhone`, `GPT-4`, `mp3` |
| emoji | `😂`, `❤️`, `👋🏽`; several in a row, up to ten characters, count as one |
| marks | `?`, `...`, `:-)`: a text of at most 20 characters without a letter, a digit or any of the above |
| date | `12/25/2024`, `2024-12-25` |
| time | `3:30 pm` |
| number | `1984`, `1,000.50`, `15:30`, `2/3`, `-40` |

All but dates, times and numbers must come through unchanged; a name may have an ending (`iPhones`). The numbers of a
date may change places, and `3:30 pm` may become `15:30`. Of a number, the digits and where they are divided count, so
that `1,000.50` may become `1.000,50` or `1000,50`. Numbers that a translation may rightly write in another way do not
count: decades (the 1990s), and whole ones up to 12 (two) unless a sign (`5%`, `$5`, `2 + 2`) or another number (`1, 2,
3`) is next to them, or the translation has digits that nothing in the source accounts for.

Other names do not count. A capital letter does not tell a name that stays (Obama) from one that changes (Germany, Bach
in German, brook in English), and copying the latter would be an error.
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
    (?P<tag> </?[A-Za-z][^<>]{0,500}> | &(?:[A-Za-z]{2,10}|\#[0-9]{1,6}); )
  | (?P<url> (?<!\w) (?: [A-Za-z][A-Za-z0-9+.-]{0,20}:// | www\.(?=\w) ) [^\s<>"]+ )
  | (?P<mail> (?<![\w.+-]) [\w.+-]+ @ \w[\w-]* (?:\.\w[\w-]*)+ | (?<![\w@.%]) @ [A-Za-z_]\w+ )
  | (?P<placeholder>
        \{\{ [^{}]{1,100} \}\}
      | [$%\#]? \{ [^{}\s]{0,100} \}
      | %%
      | % \( \w{1,100} \) [#0+-]*\d*(?:\.\d+)? [sdifgeExXcour] (?!\w)
      | % (?:\d+\$)? [#0+-]*\d*(?:\.\d+)? [sdifgeExXcou@] (?!\w)
    )
  | (?P<phone> (?<![\w+]) \+ [0-9] (?: [ ()/.-]{0,2} [0-9] ){6,14} (?![0-9]) )
  | (?P<emoji> [EMOJI][EMOJI\ufe0f\u200d]{0,9} )
    """.replace("EMOJI", _EMOJI),
    re.VERBOSE,
)
_MAY_HAVE_SPAN = re.compile(rf"[<{{%@&+{_EMOJI}]|://|www\.")
_NAME = re.compile(
    r"""
    (?<![^\W_])
    (?: [^\W\d_]* [a-z] [A-Z] (?!n(?:nen)?\b) [a-z] [^\W_]*  # iPhone; not LehrerInnen, German for both genders
      | [^\W\d_]+ [0-9] [^\W_]* (?:\.[0-9]+)*               # mp3, H264, v2.35
      | [A-Z]+ - [0-9]+ [A-Za-z]? (?![^\W_]) )              # GPT-4, COVID-19; not pre-1945
    """,
    re.VERBOSE,
)
_DATE = re.compile(
    r"""
    (?: [0-9]{4} (?P<mark>[/.-]) [0-9]{1,2} (?P=mark) [0-9]{1,2}
      | [0-9]{1,2} (?P<sign>[/.-]) [0-9]{1,2} (?P=sign) [0-9]{4}
      | [0-9]{1,2} / [0-9]{1,2} / [0-9]{2} ) (?![0-9])
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(
    r"""
    (?<![^\W_]) (?<![0-9][.,:])
    (?: (?P<date> DATE )
      | (?P<time> (?P<hour> 1[0-2] | 0?[1-9] ) (?: [:.](?P<minute> [0-5][0-9] ) )?
            \s? (?P<half> [AaPp] ) (?: \.[Mm]\. | [Mm]\b ) )
      | (?P<number> (?: (?<![^\s(]) [-−] )? [0-9]+ (?: (?:[:/][0-9]+)+ | (?:[.,][0-9]+)* ) )
        (?P<decade> s\b )? )
    """.replace("DATE", _DATE.pattern),
    re.VERBOSE,
)
_ONLY_MARKS = re.compile(r"\s*([^\w\s](?:[^\w]{0,18}[^\w\s])?)\s*")
_NEIGHBOURS = re.compile(r"[0-9]+(?:[.,:/'’h][0-9]+| [0-9]{3}(?![0-9]))*")
# What makes a small number one that nobody writes out, before it and after it.
_SIGN_BEFORE = re.compile(r"(?:[$€£¥#%°:/=×*+~−–-]|[+=×*/−–-]\s|[0-9][,;]?\s)$")
_SIGN_AFTER = re.compile(r"(?:[$€£¥%°:/=×*+)]|[−–-][0-9]|\s[%°€+=×*/]|\s[−–-]\s|[,;]?\s[0-9])")
_WITH_MARKS = re.compile(r"[0-9]+(?:[.,][0-9]{3})*[.,][0-9]+")  # not a date: 25.12.2024
_EXCHANGED = str.maketrans(".,", ",.")
_DIGITS = re.compile(r"[0-9]+")
_SENTENCE_MARKS = ".,;:!?'’”»*_…"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_MAX_WRITTEN_OUT = 12
MACHINE = frozenset(("tag", "url", "mail", "placeholder"))  # kinds whose order has a meaning


@dataclass(frozen=True)
class Span:
    """A part of a text to copy."""

    kind: str  # "tag", "url", "mail", "placeholder", "phone", "name", "emoji", "marks", "date", "time", "number",
    # "small" or "decade", which are numbers that may be written out
    text: str
    begin: int

    @property
    def end(self) -> int:
        return self.begin + len(self.text)


def machine_spans(text: str) -> list[Span]:
    """Return the tags, addresses, placeholders and emoji of a text, in order; or the text, if it is only marks."""
    if _MAY_HAVE_SPAN.search(text) is None:  # nearly every text
        marks = _ONLY_MARKS.fullmatch(text)
        return [] if marks is None else [Span("marks", marks[1], marks.start(1))]
    found, at = [], 0
    while (match := _SPAN.search(text, at)) is not None:
        kind, given = str(match.lastgroup), match[0]
        given = _without_sentence_marks(given) if kind == "url" else given
        found.append(Span(kind, given, match.start()))
        at = found[-1].end
    return found


def names_and_numbers(text: str) -> list[Span]:
    """Return the names that stay as they are, and the numbers, in order."""
    names = [Span("name", match[0], match.start()) for match in _NAME.finditer(text)]
    rest = blanked(text, ((span.begin, span.end) for span in names))
    found = []
    for match in _NUMBER.finditer(rest):
        kind = next(kind for kind in ("date", "time", "decade", "number") if match[kind] is not None)
        kind = "small" if kind == "number" and _is_small(match) else kind
        found.append(Span(kind, match["number" if kind in ("small", "decade") else kind], match.start()))
    return sorted([*names, *found], key=lambda span: span.begin)


def copied_spans(text: str) -> list[Span]:
    """Return all that a translation must copy, in order."""
    machine = machine_spans(text)
    rest = blanked(text, ((span.begin, span.end) for span in machine))
    return sorted([*machine, *names_and_numbers(rest)], key=lambda span: span.begin)


def _is_small(number: re.Match[str]) -> bool:
    """Return whether a translation may write a number out: a small one among words."""
    given, text = number["number"], number.string
    if not (given.isdecimal() and len(given) <= 2 and int(given) <= _MAX_WRITTEN_OUT):
        return False
    before, after = text[max(0, number.start() - 3) : number.start()], text[number.end() : number.end() + 3]
    return not (_SIGN_BEFORE.search(before) or _SIGN_AFTER.match(after))


def in_the_other_way(span: Span) -> str:
    """Return a number in the other convention, 1.000,5 for 1,000.5, and 15:30 for 3:30 pm; other text unchanged."""
    if span.kind == "time":
        hour, minute = _on_24_hours(span.text)
        return f"{hour}:{minute:02d}" if minute else str(hour)
    is_number = span.kind == "number" and _WITH_MARKS.fullmatch(span.text) is not None
    return span.text.translate(_EXCHANGED) if is_number else span.text


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with a line feed, which no text has, instead of each character of these spans, none overlapping."""
    kept, at = [], 0
    for begin, end in sorted(spans):
        kept += [text[at:begin], "\n" * (end - begin)]
        at = end
    return "".join([*kept, text[at:]])


def lost(spans: Sequence[Span], translation: str) -> list[Span]:
    """Return the spans of a source text that its translation lacks, or has less often.

    A small number may be written out. But if the translation has digits that the source does not account for, these
    may be what has become of it: then small numbers are lost like others.
    """
    return _compared(spans, translation)[0] if spans else []


def has_other_digits(spans: Sequence[Span], translation: str) -> bool:
    """Return whether a translation has digits that the spans of its source do not account for."""
    return _compared(spans, translation)[1]


def _compared(spans: Sequence[Span], translation: str) -> tuple[list[Span], bool]:
    """Return the spans that a translation lacks, and whether it has digits that the others do not account for."""
    machine = [span for span in machine_spans(translation) if span.kind != "phone"]
    copied = Counter(span.text for span in machine)
    early = Counter(unopened(machine)) - Counter(unopened(spans))  # a closing tag before its opening one is no copy
    rest = blanked(translation, ((span.begin, span.end) for span in machine))
    found, numbers = [], []
    for span in spans:
        if span.kind in ("name", "phone"):  # what follows may look like a part of it
            rest, there = _without(rest, rf"(?<![^\W_]){re.escape(span.text)}(?![0-9])")
        elif span.kind == "date":
            rest, there = _without_date(rest, span.text)
        elif span.kind == "time":
            rest, there = _without_time(rest, span.text)
        elif span.kind in ("number", "small", "decade"):
            numbers.append(span)
            continue
        else:
            copied[span.text] -= 1
            there = copied[span.text] >= 0 and early[span.text] <= 0
            early[span.text] -= 1
        if not there:
            found.append(span)
    # What is left of the digits is numbers.
    runs = [_DIGITS.findall(match[0]) for match in _NEIGHBOURS.finditer(rest)]
    written_out: list[Span] = []
    for span in sorted(numbers, key=lambda span: span.kind != "number"):  # the others take what these leave
        digits = _DIGITS.findall(span.text)
        if span.kind == "decade":
            _take_number(digits, runs) or _take_number([digits[0][-2:]], runs)
        elif not _take_number(digits, runs):
            (found if span.kind == "number" else written_out).append(span)
        elif span.text[0] in "-−" and re.search(rf"[-−–] ?{digits[0]}(?![0-9])", rest) is None:
            found.append(span)
    others = any(runs)
    return sorted([*found, *(written_out if others else ())], key=lambda span: span.begin), others


def unopened(spans: Iterable[Span]) -> list[str]:
    """Return the closing tags that have no opening tag before them."""
    n_open: Counter[str] = Counter()
    found = []
    for span in spans:
        if span.kind == "tag" and span.text[0] == "<" and not span.text.endswith("/>"):
            name = re.split(r"[\s>]", span.text.lstrip("</"), maxsplit=1)[0]
            n_open[name] += -1 if span.text[1] == "/" else 1
            if n_open[name] < 0:
                n_open[name] = 0
                found.append(span.text)
    return found


def _without(text: str, pattern: str) -> tuple[str, bool]:
    """Return a text with the first match of a pattern blanked, and whether there is one."""
    match = re.search(pattern, text)
    return (text, False) if match is None else (blanked(text, [match.span()]), True)


def _without_date(text: str, date: str) -> tuple[str, bool]:
    """Do so with a date of the same numbers; or with a word for the month, if that is unmistakable."""
    numbers = sorted(map(int, _DIGITS.findall(date)))
    for match in _DATE.finditer(text):
        if sorted(map(int, _DIGITS.findall(match[0]))) == numbers:
            return blanked(text, [match.span()]), True
    month, day, year = numbers
    if not month <= 12 < day:
        return text, False
    word = r"\W*[^\W\d_]+\W+"  # 25. Dezember 2024, December 25, 2024
    return _without(text, rf"(?<!\d)0?{day}{word}{year}(?!\d)|{word}0?{day}\W+{year}(?!\d)")


def _without_time(text: str, time: str) -> tuple[str, bool]:
    """Do so with a time with am or pm, as it was written or on 24 hours."""
    given = _NUMBER.match(time)
    assert given is not None
    minutes = f"[:.]{given['minute']}" if given["minute"] else ""
    rest, there = _without(text, rf"(?i)(?<!\d){given['hour']}{minutes}\s?{given['half']}\.?\s?m\b")
    if there:
        return rest, True
    hour, minute = _on_24_hours(time)
    if not minute:
        return _without(text, rf"(?<!\d)0?{hour}(?:[:.h]00)?(?!\d)")
    rest, has_hour = _without(text, rf"(?<!\d)0?{hour}(?!\d)")
    rest, has_minute = _without(rest, rf"(?<!\d){minute:02d}(?!\d)")
    return (rest, True) if has_hour and has_minute else (text, False)


def _on_24_hours(time: str) -> tuple[int, int]:
    match = _NUMBER.match(time)
    assert match is not None
    return int(match["hour"]) % 12 + 12 * (match["half"] in "Pp"), int(match["minute"] or 0)


def _take_number(number: list[str], runs: list[list[str]]) -> bool:
    """Remove the digits of a number, divided alike, from runs of digits; return whether they were there."""
    digits = "".join(number)
    for at, run in enumerate(runs):
        for begin in range(len(run)):
            joined = ""
            for end in range(begin, len(run)):
                joined += run[end]
                if joined == digits and _grouped(run[begin : end + 1]) == _grouped(number):
                    runs[at : at + 1] = filter(None, (run[:begin], run[end + 1 :]))
                    return True
                if not digits.startswith(joined):
                    break
    return False


def _grouped(parts: list[str]) -> list[str]:
    """Return the parts of a number with its thousands joined: 1,000.50 is 1000 and 50."""
    joined = parts[:1]
    for part in parts[1:]:
        if len(part) == 3 and len(parts[0]) <= 3:
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _without_sentence_marks(url: str) -> str:
    """Return an address without the marks at its end that belong to the sentence, such as a closing bracket."""
    while url[-1] in _SENTENCE_MARKS or (url[-1] in _BRACKETS and url.count(url[-1]) > url.count(_BRACKETS[url[-1]])):
        url = url[:-1]
    return url
