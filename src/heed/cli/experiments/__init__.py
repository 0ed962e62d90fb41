"""One file per experiment of `heed paper`, each with HELP, configure and run, as a command has them."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.usage import Parser

if TYPE_CHECKING:
    from heed.paper.report import Part


def add_output_options(parser: Parser) -> None:
    """Add the options that every experiment has: where its result goes."""
    group = parser.add_argument_group("result")
    group.add_argument(
        "--out", metavar="FOLDER", default="paper", help="folder of the report and its runs (default: paper)"
    )
    group.add_argument("--json", action="store_true", help="print one JSON object")


def show(part: "Part", args: argparse.Namespace) -> int:
    """Print a part, add it to the report, say where the report is, and return the exit code."""
    from heed.paper.report import lines, save, to_json

    report = save(part, Path(args.out))
    print(to_json(part) if args.json else "\n".join(lines(part)))
    print(f"\nreport: {report}", file=sys.stderr)
    return 0
