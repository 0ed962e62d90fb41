"""`heed paper cost`: the operations of a training, by the paper's rule and counted."""

import argparse

from heed.cli.experiments import add_output_options, show
from heed.cli.usage import Parser

HELP = "section 5.2 and table 2: the operations of a training, recomputed"


def configure(parser: Parser) -> None:
    parser.description = (
        "Recompute table 2's FLOPs of the paper's own models by its rule (seconds x\n"
        "devices x speed), and count them; do the same for a run of yours."
    )
    parser.epilog = "examples:\n  heed paper cost\n  heed paper cost --model runs/x --teraflops 0.1"
    group = parser.add_argument_group("beside the paper's")
    group.add_argument("--model", metavar="FOLDER", help="a run folder")
    group.add_argument("--teraflops", type=float, metavar="X", help="sustained speed of its device, for the rule")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    from heed.box import find_model
    from heed.errors import ConfigError
    from heed.paper.cost import part
    from heed.run import RunFolder

    if args.teraflops is not None and not args.teraflops > 0:
        raise ConfigError(f"--teraflops {args.teraflops:g}: must be above 0")
    if args.teraflops is not None and args.model is None:
        raise ConfigError("--teraflops is for --model, which is missing")
    return show(part(None if args.model is None else RunFolder.open(find_model(args.model)), args.teraflops), args)
