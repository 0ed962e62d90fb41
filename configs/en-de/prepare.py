"""Make the training text of the English-German model in the box: `python configs/en-de/prepare.py DATA OUT`.

DATA has the folders `tatoeba` and `europarl`. OUT gets

    valid.tsv, test.tsv   1,000 and 2,000 pairs of Tatoeba, no English sentence twice
    tatoeba.tsv           every other pair of Tatoeba: no sentence of it, in either language, is held out
    europarl-short.tsv    pairs of Europarl with at most 15 words a side
    europarl-long.tsv     pairs of Europarl with 16 to 45 words on the longer side
    everyday.tsv          words and phrases of our own (everyday.py), without those that are held out

Sentences are compared without case and punctuation, so "Hello!" is held out if "hello" is.
"""

import gzip
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from everyday import all_pairs

N_VALID, N_TEST = 1_000, 2_000
MAX_TRANSLATIONS = 6  # of one English sentence; some have dozens, all alike
SHORT_WORDS, LONG_WORDS = 15, 45  # of Europarl, on the longer side

# A pair with one of these on one side alone would make the model crude out of the blue; on both sides, it is faithful.
CRUDE_ENGLISH = re.compile(
    r"\b(fuck\w*|shit\w*|bitch\w*|asshole\w*|arse\w*|bastard\w*|cunt\w*|dick|cock|pussy|whore\w*|slut\w*|damn\w*|crap\w*|"
    r"piss\w*|ass|hell|bullshit|screw\w*|suck\w*|idiot\w*|stupid\w*|fool\w*|moron\w*|jerk\w*|dumb\w*|butt\w*|scum\w*|pig\w*)\b",
    re.I,
)
CRUDE_GERMAN = re.compile(
    r"\b(fick\w*|gefickt|scheiß\w*|scheiss\w*|beschiss\w*|arsch\w*|verarsch\w*|hure\w*|schlampe\w*|fotze\w*|wichs\w*|"
    r"schwanz|muschi\w*|verpiss\w*|piss\w*|kack\w*|verdammt\w*|hölle|drecks\w*|mist|idiot\w*|trottel\w*|blöd\w*|"
    r"schwein\w*|miststück\w*|hurensohn\w*|wixer\w*|titten|nutte\w*|sau|depp\w*)\b",
    re.I,
)
# Never in training: what nobody wants to read from a translator, even where it is faithful.
NEVER = re.compile(
    r"\b(nigger\w*|neger\w*|faggot\w*|schwuchtel\w*|kike\w*|retard\w*|cunt\w*|fotze\w*|rape[sd]?|vergewalt\w*)\b", re.I
)

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\ufffd\u00ad"))

Pair = tuple[str, str]


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    direct = list(
        clean(
            zip(lines(data / "tatoeba/tatoeba.en-de.en.gz"), lines(data / "tatoeba/tatoeba.en-de.de.gz"), strict=True)
        )
    )
    newer = list(clean(tsv(data / "tatoeba/tatoeba-direct-2023.en-de.tsv.gz")))
    made = [
        pair
        for name in ("pivot", "paraphrase")
        for pair in clean(tsv(data / f"tatoeba/tatoeba-{name}.en-de.tsv.gz"))
        if not clashes(*pair)
    ]
    held_out = first_by_hash(direct, N_VALID + N_TEST)
    write(out / "valid.tsv", held_out[:N_VALID])
    write(out / "test.tsv", held_out[N_VALID:])
    english, german = ({key(pair[side]) for pair in held_out} for side in (0, 1))
    kept, seen, translations = [], set(), Counter[str]()
    for pair in direct + newer + made:
        keys = key(pair[0]), key(pair[1])
        if keys[0] in english or keys[1] in german or pair in seen or translations[pair[0]] == MAX_TRANSLATIONS:
            continue
        seen.add(pair)
        translations[pair[0]] += 1
        kept.append(pair)
    write(out / "tatoeba.tsv", kept)
    europarl = zip(lines(data / "europarl/train.en.gz"), lines(data / "europarl/train.de.gz"), strict=True)
    by_length: dict[str, dict[Pair, None]] = {"short": {}, "long": {}}
    for pair in clean(europarl):
        words = max(len(side.split()) for side in pair)
        if words > LONG_WORDS or clashes(*pair) or key(pair[0]) in english or key(pair[1]) in german:
            continue
        by_length["short" if words <= SHORT_WORDS else "long"][pair] = None
    for name, pairs in by_length.items():
        write(out / f"europarl-{name}.tsv", list(pairs))
    everyday = [pair for pair in all_pairs() if not (key(pair[0]) in english or key(pair[1]) in german)]
    write(out / "everyday.tsv", everyday)


def lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def tsv(path: Path) -> Iterator[Pair]:
    for line in lines(path):
        english, german, *_ = line.split("\t")
        yield english, german


def clean(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the pairs that look like a sentence and its translation, without needless white space."""
    for pair in pairs:
        english, german = (" ".join(side.translate(INVISIBLE).split()) for side in pair)
        if not english or not german or max(len(english), len(german)) > 300:
            continue
        if NEVER.search(english) or NEVER.search(german):
            continue
        if bool(CRUDE_GERMAN.search(german)) and not CRUDE_ENGLISH.search(english):
            continue
        if english == german and len(english.split()) > 3:
            continue
        yield english, german


def clashes(english: str, german: str) -> bool:
    """Return whether a pair that nobody wrote as a pair cannot be one: other numbers, other mood, he against sie."""
    if re.findall(r"\d+", english) != re.findall(r"\d+", german) or english.endswith("?") != german.endswith("?"):
        return True
    return bool(
        (re.match(r"(He|He's|His)\b", english) and re.match(r"(Sie|Ihre?)\b", german))
        or (re.match(r"(She|She's|Her)\b", english) and re.match(r"(Er|Seine?)\b", german))
    )


def key(sentence: str) -> str:
    return " ".join(re.findall(r"\w+", sentence.lower()))


def first_by_hash(pairs: list[Pair], n: int) -> list[Pair]:
    """Return n pairs with different English sentences, by a hash of the English: any order of pairs gives these."""
    by_english: dict[str, Pair] = {}
    for pair in sorted(pairs):
        by_english.setdefault(key(pair[0]), pair)
    chosen = sorted(by_english, key=lambda english: hashlib.sha256(english.encode()).hexdigest())[:n]
    return [by_english[english] for english in chosen]


def write(path: Path, pairs: list[Pair]) -> None:
    path.write_text("".join(f"{english}\t{german}\n" for english, german in pairs), encoding="utf-8")
    print(f"{path}: {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
