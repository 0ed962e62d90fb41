"""`heed paper beam`: beam size and length penalty."""

import argparse

from heed.cli.experiments import add_model_options, add_output_options, show
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

HELP = "section 6.1: beam and length penalty, swept on a run"


def configure(parser: Parser) -> None:
    parser.description = "Translate with each beam and each length penalty: BLEU, length and speed."
    parser.epilog = (
        "examples:\n"
        "  heed paper beam --model runs/x\n"
        "  heed paper beam --model runs/x --beams 1,4,16 --alphas 0,0.6 --sentences 200"
    )
    add_model_options(parser)
    sweep = parser.add_argument_group("sweep")
    sweep.add_argument("--beams", default="1,2,4,8", metavar="N,N,...", help="beam sizes (default: 1,2,4,8)")
    sweep.add_argument(
        "--alphas", default="0,0.3,0.6,1,1.4", metavar="X,X,...", help="length penalties (default: 0,0.3,0.6,1,1.4)"
    )
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.bar import counting
    from heed.paper.beam import numbers, part, whole_numbers
    from heed.paper.trained import trained

    beams = whole_numbers(args.beams, "--beams")
    alphas = numbers(args.alphas, "--alphas")
    one = trained(args.model, args.source, args.reference, args.sentences)
    with counting(len(beams) * len(alphas), "searches") as tell:
        found = part(one, beams, alphas, tell)
    return show(found, args)
