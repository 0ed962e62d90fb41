"""`heed paper fidelity`: each decision of the paper, its line of code and its test."""

import argparse

from heed.cli.experiments import add_output_options, show
from heed.cli.usage import Parser

HELP = "each decision of the paper: its line of code, its test, and who differs"


def configure(parser: Parser) -> None:
    parser.description = (
        "Print each decision of the paper with the line of code that makes it, the test\n"
        "that holds it, and which well-known implementations decide otherwise."
    )
    parser.epilog = "examples:\n  heed paper fidelity\n  heed paper fidelity --json"
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    from heed.paper.fidelity import part

    return show(part(), args)
