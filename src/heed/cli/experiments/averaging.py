"""`heed paper averaging`: the effect of averaging n checkpoints."""

import argparse

from heed.cli.experiments import add_model_options, add_output_options, show
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

HELP = "section 6.1: averaging the last n checkpoints of a run"


def configure(parser: Parser) -> None:
    parser.description = "Average the last 1, 2, 3, ... checkpoints of a run, and score each average."
    parser.epilog = (
        "examples:\n"
        "  heed paper averaging --model runs/x\n"
        "  heed paper averaging --model runs/x --source val.en --reference val.de"
    )
    add_model_options(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.bar import counting
    from heed.paper.averaging import part
    from heed.paper.trained import trained

    one = trained(args.model, args.source, args.reference, args.sentences)
    with counting(len(one.run.steps()), "averages") as tell:
        found = part(one, tell)
    return show(found, args)
