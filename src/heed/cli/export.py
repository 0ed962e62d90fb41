"""`heed export`: write a trained model for other software."""

import argparse
import sys
from pathlib import Path

from heed.cli.startup import import_torch

HELP = "write a trained model for other software: Hugging Face transformers, CTranslate2"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a trained model to a folder that other software can load: as a Marian\n"
        "model for Hugging Face `transformers`, or for CTranslate2. A model that the\n"
        "other software cannot represent is refused, with the reason."
    )
    parser.epilog = (
        "examples:\n"
        "  heed export --model runs/x --to huggingface --out x-marian\n"
        "  heed export --model runs/x --to ctranslate2 --int8 --out x-int8"
    )
    what = parser.add_argument_group("what to export")
    what.add_argument("--model", required=True, type=Path, metavar="FOLDER", help="a run folder")
    what.add_argument("--to", required=True, choices=["huggingface", "ctranslate2"], help="format to write")
    what.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="a new folder for the result")
    more = parser.add_argument_group("more")
    more.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )
    more.add_argument(
        "--int8", action="store_true", help="with --to ctranslate2: 8-bit weights, smaller and slightly less exact"
    )


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.durable import new_folder
    from heed.errors import ConfigError
    from heed.run import RunFolder

    if args.int8 and args.to != "ctranslate2":
        raise ConfigError(f"--int8 needs --to ctranslate2 (--to is {args.to}); drop it, or change --to")
    if args.out.exists():
        raise ConfigError(f"--out {args.out}: exists already; name a new folder")
    trained = RunFolder.open(args.model)
    model = trained.load_model(args.checkpoint)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with new_folder(args.out) as folder:
        if args.to == "huggingface":
            from heed.export.huggingface import write_huggingface

            write_huggingface(folder, model, trained.tokenizer, trained.config.decode)
        else:
            from heed.export.ctranslate2 import write_ctranslate2

            write_ctranslate2(folder, model, trained.tokenizer, trained.config.decode, args.int8)
    size = sum(file.stat().st_size for file in args.out.iterdir())
    name = trained.checkpoint_path(args.checkpoint).name
    print(f"{args.out}: {name} of {args.model}, {size / 1e6:.1f} MB", file=sys.stderr)
    return 0
