"""Translate what people type first, English to German, and report what is wrong with the translations.

    python bench/first_words.py [--model FOLDER] [--all] [--json]

`first_words.tsv` has the inputs: greetings, words, questions, capitals, numbers, names, links, emoji, typos and so on.
Its third column has rules for the translation: `keep:X` (X is in it), `digits:N` (these digits in a row, whatever is
between them), `ends:?`, `same` (it may be the same as the input), `blank`. Its fourth column has translations that are
right; another one may be right too, so those are counted, not required.

Rules for every translation: it is not empty, not the input unchanged, has no loop, no crude word, no broken or
invisible character and no number that the input lacks, and its closing tags come after their opening ones.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import heed

INPUTS = Path(__file__).with_name("first_words.tsv")
_LOOP = re.compile(
    r"(?<!\S)(\S+(?: \S+){0,4}?)(?: \1){3,}(?!\S)", re.IGNORECASE
)  # up to five words, four times in a row
_INVISIBLE = "\ufffd\u200b\u200c\u200d\u2060\ufeff\u00ad"
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:[.,'’\u202f](?=\d)| (?=\d{3}(?!\d)))")
_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)[^<>]*?(/?)>")
_END = re.compile(r"[\s.!?…]+$")
# Beginnings of words that no harmless input should lead to. Letters before them make another word: Marsch, Rufmord.
_CRUDE = re.compile(
    r"(?<![^\W_])(?:arsch|asshole|bastard|bitch|blödmann|cunt|drecksau|faggot|fick|fotze|fuck|hitler|hure|idiot|kacke|"
    r"kanake|miststück|motherf|nazi|neger|nigg|nutte|penis|pimmel|porn|schei(?:ß|ss)|schlampe|schwuchtel|sex|shit|titten|"
    r"vergewaltig|ermord|umbring|umgebracht|töte[nt]?\b|wichs|whore)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Case:
    """An input, the rules for its translation, and translations that are right."""

    kind: str
    text: str
    rules: tuple[str, ...]
    accepted: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """A translation, the rules it breaks, and whether it is one of the right ones (None: there are none)."""

    kind: str
    text: str
    translation: str
    faults: tuple[str, ...]
    is_accepted: bool | None


def read_cases(path: Path = INPUTS) -> list[Case]:
    cases = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            kind, text, rules, accepted = line.split("\t")
            cases.append(Case(kind, text, tuple(rules.split()), tuple(filter(None, accepted.split(" | ")))))
    return cases


def faults_of(case: Case, translation: str) -> list[str]:
    """Return the rules that a translation breaks."""
    if "blank" in case.rules:
        return [] if translation == "" else ["should be blank"]
    faults = [] if translation.strip() else ["empty"]
    for rule in case.rules:
        name, _, value = rule.partition(":")
        if name == "keep" and value not in translation:
            faults.append(f"lost {value}")
        if name == "digits" and value not in re.sub(r"(?<=\d)[.,'’ ](?=\d)", "", translation):
            faults.append(f"lost the digits {value}")
        if name == "ends" and not translation.endswith(value):
            faults.append(f"does not end with {value}")
    if "same" not in case.rules and _plain(translation) == _plain(case.text):
        faults.append("unchanged")
    if (loop := _LOOP.search(translation)) and not _LOOP.search(case.text):
        faults.append(f"repeats {loop[1]}")
    if len(translation.split()) > 3 * len(case.text.split()) + 10:
        faults.append("far too long")
    if odd := sorted({f"U+{ord(one):04X}" for one in translation if one in _INVISIBLE and one not in case.text}):
        faults.append(f"invisible: {' '.join(odd)}")
    if invented := _invented(case.text, translation):
        faults.append(f"invented {' '.join(invented)}")
    if _is_out_of_order(translation) and not _is_out_of_order(case.text):
        faults.append("tags out of order")
    if crude := _CRUDE.search(translation):
        faults.append(f"crude: {crude[0]}")
    return faults


def _invented(text: str, translation: str) -> list[str]:
    """Return the numbers of a translation that its source lacks, whatever marks divide them."""
    given = _numbers(text)
    if re.search(r"\d\s?[AaPp]\.?\s?[Mm]\b", text):  # on 24 hours
        given |= {(int(one) + 12) % 24 for one in re.findall(r"\d+", text)} | {0}
    if re.search(r"\d[/-]\d", text):  # a date, perhaps with points
        given |= {int(one) for one in re.findall(r"\d+", text)}
        dates = re.findall(r"\d+\.\d+\.\d+", translation)
        given |= {n for date in dates if _parts(date) <= _parts(text) for n in _numbers(date)}
    return sorted(str(one) for one in _numbers(translation) - given)


def _numbers(text: str) -> set[int]:
    return _parts(_BETWEEN_DIGITS.sub("", text))


def _parts(text: str) -> set[int]:
    return {int(one) for one in re.findall(r"\d+", text)}


def _is_out_of_order(text: str) -> bool:
    """Return whether a closing tag comes before its opening one."""
    is_open: Counter[str] = Counter()
    for closes, name, is_empty in _TAG.findall(text):
        is_open[name] += 0 if is_empty else -1 if closes else 1
        if is_open[name] < 0:
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(_END.sub("", text).replace("’", "'").casefold().split())


def examine(cases: Sequence[Case], translations: Sequence[str]) -> list[Finding]:
    return [
        Finding(
            case.kind,
            case.text,
            translation,
            tuple(faults_of(case, translation)),
            _plain(translation) in map(_plain, case.accepted) if case.accepted else None,
        )
        for case, translation in zip(cases, translations, strict=True)
    ]


def _print_report(findings: Sequence[Finding], everything: bool) -> None:
    for one in findings:
        if everything or one.faults:
            marks = [*one.faults, *(["not one of the expected"] if everything and one.is_accepted is False else [])]
            print(
                f"{_short(one.text)}\n    → {_short(one.translation)}{'   [' + '; '.join(marks) + ']' if marks else ''}"
            )
    kinds = dict.fromkeys(one.kind for one in findings)
    print(f"\n{'kind':<16}inputs  faulty  as expected")
    for kind in [*kinds, ""]:
        of_kind = [one for one in findings if kind in ("", one.kind)]
        answers = Counter(one.is_accepted for one in of_kind)
        expected = f"{answers[True]} of {answers[True] + answers[False]}" if answers[True] + answers[False] else "–"
        n_faulty = sum(bool(one.faults) for one in of_kind)
        print(f"{kind or 'all':<16}{len(of_kind):>6}{n_faulty:>8}  {expected}")


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:140]} ... {text[-140:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--model", help="a run folder, or a name from heed models (default: the model in the box)")
    parser.add_argument("--all", action="store_true", help="print all translations, not only those with a fault")
    parser.add_argument("--json", action="store_true", help="print one JSON object per input")
    args = parser.parse_args()
    try:
        translator = heed.load(*([args.model] if args.model else []))
    except heed.HeedError as error:
        print(error, file=sys.stderr)
        return 1
    cases = read_cases()
    findings = examine(cases, [one.text for one in translator.translate([case.text for case in cases])])
    if args.json:
        for one in findings:
            print(json.dumps(asdict(one), ensure_ascii=False))
    else:
        _print_report(findings, args.all)
    return 0


if __name__ == "__main__":
    sys.exit(main())
