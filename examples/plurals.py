"""Make training, validation and test files for German plurals, from the nouns of the German Wiktionary.

    pip install --no-deps german-nouns
    python examples/plurals.py --out plurals

A source line is a noun and its gender, such as "Haus n"; its target is the plural, "Häuser". Nouns without a plural,
and forms of several words, are left out.
"""

import argparse
import csv
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from held_out import write_parts

COLUMNS = ["nominativ plural", "nominativ plural*", *(f"nominativ plural {n}" for n in range(1, 5))]


def plurals(rows: Iterable[dict[str, str]]) -> dict[str, list[str]]:
    """Return the plurals of each noun with its gender, given the rows of nouns.csv."""
    found: dict[str, list[str]] = {}
    for row in rows:
        gender = row["genus"] or row["genus 1"]
        several = [form for form in dict.fromkeys(row[column] for column in COLUMNS) if form.isalpha()]
        if row["lemma"].isalpha() and gender and several:
            found.setdefault(f"{row['lemma']} {gender}", several)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--nouns", type=Path, help="a file like nouns.csv (default: that of the german-nouns package)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    args = parser.parse_args()
    if args.nouns is None:
        spec = find_spec("german_nouns")
        if spec is None or not spec.submodule_search_locations:
            parser.error("the nouns are missing: pip install --no-deps german-nouns, or name a file with --nouns")
        args.nouns = Path(spec.submodule_search_locations[0]) / "nouns.csv"
    with args.nouns.open(encoding="utf-8", newline="") as file:
        write_parts(plurals(csv.DictReader(file)), args.out, "noun", "plural")
