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
    parser.epilog = (
        "examples:\n  heed paper norm --data multi30k\n  heed paper norm --data multi30k --seeds 1 --steps 300"
    )
    add_text_options(parser)
    rows = parser.add_argument_group("rows")
    add_scale_option(rows, "tiny or small")
    rows.add_argument("--seeds", type=int, default=3, metavar="N", help="seeds of each combination (default: 3)")
    rows.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="updates of each training; warm-up keeps its share of them (default: the scale's)",
    )
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.errors import ConfigError
    from heed.paper.norm import part, plans
    from heed.paper.table3 import scale_named, scaled, shorter
    from heed.presets import table3

    if args.seeds < 1:
        raise ConfigError(f"--seeds {args.seeds}: must be at least 1")
    if args.steps is not None and args.steps < 3:
        raise ConfigError(f"--steps {args.steps}: must be at least 3")
    scale, name = scale_named(args.scale, ("tiny", "small")), f"norm-{args.scale}"
    if args.steps is not None:
        scale, name = shorter(scale, args.steps), f"{name}-{args.steps}"
    texts = texts_given(args)
    text = scaled(table3("base"), scale).text
    results = train_table(args, name, texts, text, lambda data: plans(scale, args.seeds, data))
    return show(part(results, args.scale, scale, args.seeds), args)
