"""`heed paper window`: restricted self-attention on long input."""

import argparse
from pathlib import Path

from heed.bar import counting
from heed.cli.experiments import add_output_options, show, stopping
from heed.cli.usage import Parser

HELP = "restricted self-attention on long input: cost, and quality against r"
SCALES = ("tiny", "small")


def configure(parser: Parser) -> None:
    parser.description = (
        "Compare full self-attention with attention to a neighbourhood of r positions\n"
        "(model.attention_window; section 4): time and memory for 1,000 to 8,000 pieces,\n"
        "accuracy of copying from a known distance, and, given a text, perplexity of\n"
        "documents made of adjacent lines. Rows that are in the folder already are not\n"
        "measured again, so an interrupted run continues."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper window --scale tiny\n"
        "  heed paper window --source europarl/train.en --target europarl/train.de"
    )
    group = parser.add_argument_group("what to measure")
    group.add_argument("--scale", choices=SCALES, default="tiny", help="tiny (default): minutes; small: hours on a CPU")
    group.add_argument("--source", metavar="FILE", help="text whose adjacent lines belong together, such as Europarl")
    group.add_argument("--target", metavar="FILE", help="its translation, line by line")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    from heed.cli.startup import import_torch
    from heed.errors import ConfigError

    if args.target is not None and args.source is None:
        raise ConfigError("--target needs --source; give both, or none")
    import_torch()
    import torch

    from heed.data.corpus import ParallelText
    from heed.paper.resumable import Rows
    from heed.paper.window import PLANS, measure, n_rows, part
    from heed.training.memory import free_memory

    plan = PLANS[args.scale]
    text = None if args.source is None else ParallelText(args.source, args.target or "")
    rows = Rows(Path(args.out) / "window" / "rows.jsonl")
    with stopping(), counting(n_rows(plan, text is not None), "measuring and training") as done:
        found = measure(plan, text, rows, free_memory(torch.device("cpu")), done)
    return show(part(plan, found), args)
