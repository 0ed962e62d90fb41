"""`heed paper`: the paper's tables, published numbers beside ours."""

import argparse
import json

HELP = "print a table of the paper, with our numbers beside the published ones"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        'Print a table of "Attention Is All You Need": the published rows, what heed\n'
        "scores on your files, and what may be compared."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper table4\n"
        "  heed parse --model runs/p --from-trees gold.mrg --output parsed.mrg\n"
        "  heed paper table4 --gold gold.mrg --parsed parsed.mrg"
    )
    parser.add_argument("table", choices=["table4"], help="table4: constituency parsing")
    group = parser.add_argument_group("our row")
    group.add_argument("--gold", metavar="FILE", help="trees to compare with")
    group.add_argument("--parsed", metavar="FILE", help="trees that a parser made of the same sentences")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from heed.errors import ConfigError
    from heed.paper.table4 import measure, plain, table

    if (args.gold is None) != (args.parsed is None):
        raise ConfigError("--gold and --parsed belong together; give both, or none")
    ours = None if args.gold is None else measure(args.gold, args.parsed)
    print(json.dumps(plain(ours), ensure_ascii=False) if args.json else "\n".join(table(ours)))
    return 0
