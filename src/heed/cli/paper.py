"""`heed paper`: the paper's experiments, published numbers beside ours."""

import argparse
from pathlib import Path

from heed.cli.experiments import (
    averaging,
    beam,
    check_output,
    cost,
    fidelity,
    figures,
    norm,
    positions,
    questions,
    schedule,
    table1,
    table2,
    table3,
    table4,
    window,
)
from heed.cli.usage import Parser

HELP = "run an experiment of the paper, with its numbers beside ours"
EXPERIMENTS = {
    "table1": table1,
    "window": window,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "figures": figures,
    "schedule": schedule,
    "cost": cost,
    "averaging": averaging,
    "beam": beam,
    "positions": positions,
    "norm": norm,
    "questions": questions,
    "fidelity": fidelity,
}


def configure(parser: Parser) -> None:
    parser.description = (
        'Run an experiment of "Attention Is All You Need": the published numbers, ours,\n'
        "what differs, and whether the two may be compared."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper fidelity\n"
        "  heed paper table3 --data multi30k\n"
        "  heed paper beam --model runs/x\n"
        "\nEach adds its part to one page: paper/report.html (docs/experiments.md)."
    )
    names = parser.add_subparsers(title="experiments", dest="experiment", metavar="NAME", required=True)
    for name, module in EXPERIMENTS.items():
        experiment = names.add_parser(name, help=module.HELP)
        module.configure(experiment)
        experiment.add_other_options()


def run(args: argparse.Namespace) -> int:
    if not (getattr(args, "dry_run", False) or getattr(args, "list", False)):  # these write nothing
        check_output(Path(args.out))
    status: int = EXPERIMENTS[args.experiment].run(args)
    return status
