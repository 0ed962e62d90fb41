"""`heed export`: write a trained model to ship, or for other software."""

import argparse
import sys
from pathlib import Path

from heed.box import CARD, find_model
from heed.cli.startup import import_torch

HELP = "write a trained model to ship, or for Hugging Face transformers or CTranslate2"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a trained model to a folder of its own:\n"
        "  heed          a model to ship: a small run folder with 8-bit weights, without\n"
        "                anything that only training needs. --model takes it\n"
        "  huggingface   a Marian model for `transformers`\n"
        "  ctranslate2   for CTranslate2\n"
        "A model that the other software cannot represent is refused, with the reason."
    )
    parser.epilog = (
        "examples:\n"
        "  heed export --model runs/x --to heed --out en-de\n"
        "  heed export --model runs/x --to heed --set decode.sentences=true --out en-de\n"
        "  heed export --model runs/x --to huggingface --out x-marian\n"
        "  heed export --model runs/x --to ctranslate2 --int8 --out x-int8"
    )
    what = parser.add_argument_group("what to export")
    what.add_argument("--model", required=True, metavar="FOLDER", help="a run folder, or a name from heed models")
    what.add_argument("--to", required=True, choices=["heed", "huggingface", "ctranslate2"], help="format to write")
    what.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="FOLDER",
        help="a new folder; with --to heed, it may hold a CARD.md, which stays",
    )
    more = parser.add_argument_group("more")
    more.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )
    more.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="decode.KEY=VALUE",
        help="with --to heed: how it translates by default, such as decode.beam=2; may be repeated",
    )
    more.add_argument(
        "--int8", action="store_true", help="with --to ctranslate2: 8-bit weights, smaller and slightly less exact"
    )


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.durable import new_folder, write_file
    from heed.errors import ConfigError
    from heed.run import RunFolder
    from heed.settings import build_config, parse_overrides

    if args.int8 and args.to != "ctranslate2":
        raise ConfigError(f"--int8 needs --to ctranslate2 (--to is {args.to}); drop it, or change --to")
    settings = parse_overrides(args.set)
    if settings and (args.to != "heed" or settings.keys() != {"decode"}):
        raise ConfigError("--set is for --to heed, and for settings of decode alone, such as decode.sentences=true")
    card = _card_in(args.out) if args.to == "heed" else None
    if args.out.exists() and card is None:
        raise ConfigError(f"--out {args.out}: exists already; name a new folder")
    trained = RunFolder.open(find_model(args.model))
    decode = build_config(trained.config, ("--set", settings)).decode
    model = trained.load_model(args.checkpoint)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(args.out, replacing=card is not None) as folder:
        if args.to == "heed":
            from heed.export.shipped import write_shipped

            write_shipped(folder, trained, trained.checkpoint_path(args.checkpoint), model, decode)
            if card is not None:
                write_file(folder / CARD, card)
        elif args.to == "huggingface":
            from heed.export.huggingface import write_huggingface

            write_huggingface(folder, model, trained.tokenizer, trained.config.decode)
        else:
            from heed.export.ctranslate2 import write_ctranslate2

            weights = str(trained.checkpoint_path(args.checkpoint))
            write_ctranslate2(folder, model, trained.tokenizer, trained.config.decode, args.int8, weights)
    size = sum(file.stat().st_size for file in args.out.rglob("*") if file.is_file())
    name = trained.checkpoint_path(args.checkpoint).name
    print(f"{args.out}: {name} of {args.model}, {size / 1e6:.1f} MB", file=sys.stderr)
    return 0


def _card_in(folder: Path) -> bytes | None:
    """Return the content of a folder's CARD.md, if the folder holds nothing else."""
    from heed.durable import read_file

    if folder.is_dir() and [file.name for file in folder.iterdir()] == [CARD]:
        return read_file(folder / CARD)
    return None
