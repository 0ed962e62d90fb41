"""`heed paper positions`: learned positions against sinusoids beyond the trained length."""

import argparse
from pathlib import Path

from heed.cli.experiments import (
    add_output_options,
    add_scale_option,
    add_text_options,
    show,
    texts_given,
    train_table,
)
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

HELP = "section 3.5: positions beyond the trained length"


def configure(parser: Parser) -> None:
    parser.description = (
        "Train two models on short sentences, one with sinusoids and one with learned\n"
        "positions, and score both on longer ones."
    )
    parser.epilog = (
        "examples:\n  heed paper positions --data multi30k\n  heed paper positions --data multi30k --longest 10"
    )
    add_text_options(parser)
    rows = parser.add_argument_group("rows")
    add_scale_option(rows, "tiny or small")
    rows.add_argument(
        "--longest", type=int, default=12, metavar="N", help="words of the longest training sentence (default: 12)"
    )
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.errors import ConfigError
    from heed.paper.positions import part, plans, short_texts
    from heed.paper.table3 import scale_named, scaled
    from heed.presets import table3

    if args.longest < 1:
        raise ConfigError(f"--longest {args.longest}: must be at least 1")
    scale = scale_named(args.scale, ("tiny", "small"))
    texts = texts_given(args)
    name = f"positions-{args.scale}-{args.longest}"
    short = short_texts(texts, args.longest, Path(args.out) / name)
    results = train_table(args, name, short, scaled(table3("base"), scale).text, lambda data: plans(args.scale, data))
    return show(part(results, texts, args.longest, args.scale), args)
