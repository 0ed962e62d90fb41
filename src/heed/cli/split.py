"""`heed split`: split one corpus into training, validation and test text."""

import argparse
import json
from pathlib import Path

HELP = "split one corpus into training, validation and test text"

EPILOG = """\
examples:
  heed split --source all.en --target all.de --out data
  heed split --source all.tsv.gz --valid 1000 --test 2000 --seed 7 --out data
  heed split --source all.en --target all.de --test 0 --out data
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Choose lines for validation and testing at random, and write three pairs of\n"
        "files to a new folder. Lines with the same source sentence (ignoring case,\n"
        "spaces and punctuation) go to the same part, so that no test sentence is\n"
        "trained on. Each line goes to exactly one part, in the original order. Pairs\n"
        "with a blank side go to the training part."
    )
    parser.epilog = EPILOG
    parser.add_argument("--source", required=True, metavar="FILE", help="text to translate from: plain, .gz, or .tsv")
    parser.add_argument("--target", metavar="FILE", help="its translation, line by line (not with a .tsv)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder for the parts")
    parser.add_argument("--valid", type=int, default=500, metavar="N", help="lines for validation (default: 500)")
    parser.add_argument("--test", type=int, default=500, metavar="N", help="lines for testing (default: 500; 0: none)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random choice (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from heed.cli.progress import with_progress
    from heed.cli.terminal import wrapped_command
    from heed.data.corpus import ParallelText
    from heed.doctor.split import TRAIN, VALID, split

    text = ParallelText(args.source, args.target or "")
    made = split(text, args.out, args.valid, args.test, args.seed, with_progress)
    if args.json:
        parts = {
            part: {"lines": made.counts[part], "source": of.source, "target": of.target or None}
            for part, of in made.texts.items()
        }
        print(json.dumps({"sources": made.n_sources, "seed": args.seed, "parts": parts}, ensure_ascii=False))
        return 0
    print(f"{sum(made.counts.values()):,} pairs with {made.n_sources:,} different source sentences, seed {args.seed}:")
    for part, of in made.texts.items():
        print(f"  {made.counts[part]:>11,}  {of.name}")
    train, valid = made.texts[TRAIN], made.texts[VALID]
    words = ["heed", "train", "--source", train.source, *(["--target", train.target] if train.target else [])]
    words += ["--valid-source", valid.source, *(["--valid-target", valid.target] if valid.target else [])]
    print(f"next:\n{wrapped_command([*words, '--preset', 'quick', '--out', 'runs/x'])}")
    return 0
