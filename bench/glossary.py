"""Measure what a glossary costs: the same texts with and without it, in turns.

    python bench/glossary.py --model runs/x --input test.en --glossary terms.tsv

Prints the time of each round with the glossary divided by the time without it, for all texts and for those alone whose
translations are made again because they lack a term. Copying is off, so that nothing else is made again.
"""

import argparse
import statistics
from pathlib import Path

import heed
from heed.bench.rounds import in_turns, machine


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", required=True, help="a run folder")
    parser.add_argument("--input", type=Path, required=True, help="texts to translate, one per line")
    parser.add_argument("--glossary", type=Path, required=True, help="source term, tab, target term")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    translator = heed.load(args.model)
    texts = args.input.read_text(encoding="utf-8").splitlines()
    glossary = heed.Glossary.read(args.glossary)
    found = translator.translate(texts, glossary=glossary, copy=False)
    forced = [text for text, one in zip(texts, found, strict=True) if one.forced]
    n_terms = sum(bool(one.terms) for one in found)
    print(f"{machine()}\n{len(texts):,} texts, {n_terms:,} with a term, {len(forced):,} with one that had to be forced")
    for name, some in (("all texts", texts), ("forced texts", forced)):
        if not some:
            continue
        sides = {
            "without": lambda some=some: translator.translate(some, copy=False),
            "with": lambda some=some: translator.translate(some, glossary=glossary, copy=False),
        }
        seconds = in_turns(sides, args.rounds)
        ratios = [with_ / without for with_, without in zip(seconds["with"], seconds["without"], strict=True)]
        print(
            f"{name}: {min(seconds['without']):.3f} s without, {min(seconds['with']):.3f} s with (best rounds); "
            f"ratio {statistics.median(ratios):.2f} (median; {min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
