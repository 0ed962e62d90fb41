"""`heed paper norm`: post-norm and pre-norm, with and without warm-up."""

import argparse

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

HELP = "post-norm and pre-norm, with warm-up and without"


def configure(parser: Parser) -> None:
    parser.description = (
        "Train the base model with post-norm, as published, and with pre-norm, with the\n"
        "warm-up of equation (3) and without; all else equal, several seeds each."
    )
    parser.epilog = "examples:\n  heed paper norm --data multi30k\n  heed paper norm --data multi30k --seeds 1"
    add_text_options(parser)
    rows = parser.add_argument_group("rows")
    add_scale_option(rows, "tiny or small")
    rows.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each combination (default: 3)")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.errors import ConfigError
    from heed.paper.norm import part, plans
    from heed.paper.table3 import scale_named, scaled
    from heed.presets import table3

    if args.seeds < 1:
        raise ConfigError(f"--seeds {args.seeds}: must be at least 1")
    text = scaled(table3("base"), scale_named(args.scale, ("tiny", "small"))).text
    texts = texts_given(args)
    results = train_table(args, f"norm-{args.scale}", texts, text, lambda data: plans(args.scale, args.seeds, data))
    return show(part(results, args.scale, args.seeds), args)
