"""`heed paper schedule`: the learning rate of equation (3)."""

import argparse

from heed.cli.experiments import add_output_options, show
from heed.cli.usage import Parser

HELP = "section 5.3: the learning rate of equation (3), drawn"


def configure(parser: Parser) -> None:
    parser.description = "Draw the learning rate of the paper's models and, beside them, of yours."
    parser.epilog = "examples:\n  heed paper schedule\n  heed paper schedule --model runs/x"
    group = parser.add_argument_group("beside the paper's")
    group.add_argument("--model", metavar="FOLDER", help="a run folder")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    from heed.box import find_model
    from heed.paper.schedule import part
    from heed.run import RunFolder
    from heed.settings import read_run_config

    others = {}
    if args.model is not None:
        path = find_model(args.model)
        RunFolder.check(path)
        others[path.name] = read_run_config(path)
    return show(part(others), args)
