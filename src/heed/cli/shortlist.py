"""`heed shortlist`: which symbols are plausible translations of which, for a quicker search."""

import argparse
import json
import sys
from pathlib import Path

from heed.cli.startup import import_torch
from heed.wording import counted

HELP = "learn which symbols translate which, so that translating need not score all of them"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Learn from a run's training text which target symbols are plausible for a\n"
        "sentence, and keep that in the run folder. `heed translate --shortlist` then\n"
        "scores these only: quicker, a little less exact."
    )
    parser.epilog = (
        "examples:\n"
        "  heed shortlist --model runs/x\n"
        "  heed shortlist --model runs/x --json\n"
        "  heed translate --model runs/x --shortlist < in.txt > out.txt"
    )
    parser.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="a run folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.bar import counting
    from heed.data.lexicon import learn_lexicon
    from heed.data.shortlist import Shortlist
    from heed.errors import printable
    from heed.run import RunFolder
    from heed.training.begin import missing_validation, open_corpus, read_validation

    trained = RunFolder.open(args.model)
    store, missing = open_corpus(trained), missing_validation(trained.config)
    valid = [] if missing else read_validation(trained.config)
    with counting(100, "learning") as tell:
        lexicon = learn_lexicon(
            store, trained.config.model.max_length + 1, lambda done, total: tell(100 * done // total)
        )
    shortlist = Shortlist.of(lexicon)
    shortlist.save(trained.shortlist_path, trained.tokenizer)

    found: dict[str, object] = {
        "folder": str(trained.shortlist_path),
        "pairs": lexicon.n_pairs,
        "vocabulary": len(trained.tokenizer),
    }
    if valid:
        sources, targets = (trained.tokenizer.encode_ids([pair[side] for pair in valid]) for side in (0, 1))
        lists = [shortlist.symbols([source]) for source in sources]
        covered = sum(sum(i in listed for i in ids) for ids, listed in zip(targets, map(set, lists), strict=True))
        found |= {
            "mean_length": sum(map(len, lists)) / len(lists),
            "covered": covered / sum(map(len, targets)),
        }
    if args.json:
        print(json.dumps(found))
        return 0
    print(f"{found['folder']}: learnt from {counted(lexicon.n_pairs, 'pair')}")
    if valid:
        print(f"a sentence of the validation text has {found['mean_length']:.0f} of {found['vocabulary']:,} symbols;")
        print(f"{found['covered']:.1%} of its reference's are among them")
    else:
        why = missing or "the run has no validation text (data.valid_source)"
        print(f"how much it covers is not known: {printable(why)}", file=sys.stderr)
    return 0
