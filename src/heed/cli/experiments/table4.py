"""`heed paper table4`: constituency parsing."""

import argparse

from heed.cli.experiments import add_output_options, show
from heed.cli.usage import Parser

HELP = "constituency parsing: labelled F1"


def configure(parser: Parser) -> None:
    parser.description = "Print table 4: the published parsers, and yours on your trees."
    parser.epilog = (
        "examples:\n"
        "  heed paper table4\n"
        "  heed parse --model runs/p --from-trees gold.mrg --output parsed.mrg\n"
        "  heed paper table4 --gold gold.mrg --parsed parsed.mrg"
    )
    group = parser.add_argument_group("our row")
    group.add_argument("--gold", metavar="FILE", help="trees to compare with")
    group.add_argument("--parsed", metavar="FILE", help="trees that a parser made of the same sentences")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    from heed.errors import ConfigError
    from heed.paper.table4 import measure, part

    if (args.gold is None) != (args.parsed is None):
        raise ConfigError("--gold and --parsed belong together; give both, or none")
    ours = None if args.gold is None else measure(args.gold, args.parsed)
    return show(part(ours), args)
