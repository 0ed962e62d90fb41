"""Measure a glossary on the demo: what it costs, and whether its terms stand where they belong.

    heed demo
    python bench/glossary.py --model runs/demo --source runs/demo-data/test.en --reference runs/demo-data/test.de

The terms are nouns that the demo's model has never seen, each of the gender of the noun that it would write. So the
right translation is the reference with the noun replaced. Three sides take turns: without a glossary, with one, and
with one whose terms are placed by constrained search alone. Copying is off, so that nothing else is made again.
"""

import argparse
import re
import statistics
from pathlib import Path

import heed
from heed.bench.rounds import in_turns, machine
from heed.evaluate import Bleu, score
from heed.text import placement

NOUNS = {
    "dog": ("Hund", "Köter"),
    "cat": ("Katze", "Mieze"),
    "bird": ("Vogel", "Piepmatz"),
    "house": ("Haus", "Gebäude"),
    "teacher": ("Lehrer", "Pauker"),
    "car": ("Auto", "Kraftfahrzeug"),
    "book": ("Buch", "Werk"),
    "tail": ("Schwanz", "Schweif"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", required=True, help="the run folder of the demo")
    parser.add_argument("--source", type=Path, required=True, help="English text")
    parser.add_argument("--reference", type=Path, required=True, help="its German translation")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    pairs = zip(*(path.read_text(encoding="utf-8").splitlines() for path in (args.source, args.reference)), strict=True)
    chosen = [(source, reference) for source, reference in pairs if replaced(reference) != reference and uses(source)]
    texts, references = [source for source, _ in chosen], [reference for _, reference in chosen]
    expected = list(map(replaced, references))
    translator = heed.load(args.model)
    glossary = heed.Glossary({source: term for source, (_, term) in NOUNS.items()})
    least, found = placement.MIN_ATTENTION, {}

    def side(name: str, glossary: heed.Glossary | None, min_attention: float) -> None:
        placement.MIN_ATTENTION = min_attention
        found[name] = translator.translate(texts, glossary=glossary, copy=False)

    sides = {
        "without": lambda: side("without", None, least),
        "with": lambda: side("with", glossary, least),
        "search alone": lambda: side("search alone", glossary, 2.0),  # attention is at most 1
    }
    seconds = in_turns(sides, args.rounds)
    print(f"{machine()}\n{len(texts):,} texts with a term")
    for name, several in found.items():
        right = references if name == "without" else expected
        hypotheses = [one.text for one in several]
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds["without"], strict=True))
        print(
            f"{name:12}  exact {sum(map(str.__eq__, hypotheses, right)):4}  "
            f"BLEU {score(Bleu(), hypotheses, right, resamples=0).value:5.1f}  "
            f"forced {sum(bool(one.forced) for one in several):4}  "
            f"missing {sum(bool(one.missing) for one in several)}  "
            f"{min(seconds[name]):7.2f} s (best), ratio {ratio:5.2f} (median)"
        )


def uses(source: str) -> bool:
    return any(re.search(rf"\b{noun}\b", source) for noun in NOUNS)


def replaced(german: str) -> str:
    for noun, term in NOUNS.values():
        german = re.sub(rf"\b{noun}\b", term, german)
    return german


if __name__ == "__main__":
    main()
