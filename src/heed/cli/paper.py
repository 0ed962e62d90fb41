"""`heed paper`: the paper's experiments, published numbers beside ours."""

import argparse

from heed.cli.experiments import table1, table4, window
from heed.cli.usage import Parser

HELP = "run an experiment of the paper, with its numbers beside ours"
EXPERIMENTS = {"table1": table1, "table4": table4, "window": window}


def configure(parser: Parser) -> None:
    parser.description = (
        'Run an experiment of "Attention Is All You Need": the published numbers, ours,\n'
        "what differs, and whether the two may be compared."
    )
    parser.epilog = "examples:\n" + "\n".join(f"  heed paper {name}" for name in EXPERIMENTS)
    names = parser.add_subparsers(title="experiments", dest="experiment", metavar="NAME", required=True)
    for name, module in EXPERIMENTS.items():
        experiment = names.add_parser(name, help=module.HELP)
        module.configure(experiment)
        experiment.add_other_options()


def run(args: argparse.Namespace) -> int:
    status: int = EXPERIMENTS[args.experiment].run(args)
    return status
