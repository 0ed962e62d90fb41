"""`heed paper table1`: what layers cost, and how far apart positions are in them."""

import argparse
from dataclasses import replace
from pathlib import Path

from heed.bar import counting
from heed.cli.experiments import add_output_options, show, stopping
from heed.cli.usage import Parser

HELP = "why self-attention: cost and path length of layers"


def configure(parser: Parser) -> None:
    parser.description = (
        "Measure table 1: self-attention, recurrent and convolutional layers, and\n"
        "self-attention restricted to a neighbourhood. Operations and memory are counted\n"
        "as the layers run, paths are found by gradients, and the exponents of n and d\n"
        "are fitted on log-log axes. Takes some minutes; --quick takes seconds. Rows that\n"
        "are in the folder already are not measured again."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper table1 --quick\n"
        "  heed paper table1 --lengths 64,256,1024,4096 --widths 128,512\n"
        "  heed paper table1 --json"
    )
    group = parser.add_argument_group("what to measure")
    group.add_argument("--lengths", type=_numbers, metavar="N,N,...", help="lengths n (default: 64 to 1024)")
    group.add_argument("--widths", type=_numbers, metavar="D,D,...", help="widths d (default: 64 to 512)")
    group.add_argument("--rounds", type=int, metavar="N", help="times to measure each; the best counts (default: 5)")
    group.add_argument("--quick", action="store_true", help="short lengths and small widths")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    from heed.cli.startup import import_torch
    from heed.paper.resumable import Rows
    from heed.paper.table1 import Plan, check, measure, n_cells, part

    import_torch()
    import torch

    from heed.training.memory import free_memory

    plan = Plan.quick() if args.quick else Plan()
    given = {name: getattr(args, name) for name in ("lengths", "widths", "rounds")}
    plan = replace(plan, **{name: value for name, value in given.items() if value is not None})
    check(plan, free_memory(torch.device("cpu")))
    with stopping(), counting(n_cells(plan), "measuring") as done:
        found = measure(plan, Rows(Path(args.out) / "table1" / "rows.jsonl"), done)
    return show(part(plan, found), args)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(one) for one in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers such as 64,128,256") from None
