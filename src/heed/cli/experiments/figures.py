"""`heed paper figures`: the paper's figures for a model."""

import argparse
from pathlib import Path

from heed.cli.experiments import add_output_options, show
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

HELP = "figures 1 to 5 of a model: its modules, shapes and attention"


def configure(parser: Parser) -> None:
    parser.description = (
        "Draw the paper's figures for a model: figure 1 from its modules, figure 2 with\n"
        "its shapes, figures 3 to 5 from its attention to a sentence. Figure 1 is also\n"
        "printed as a tree."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper figures\n"
        "  heed paper figures --model runs/x --text 'The cat chased its tail.' --word its"
    )
    group = parser.add_argument_group("model and text")
    group.add_argument("--model", metavar="FOLDER", help="a run folder (default: English to German, from the box)")
    group.add_argument(
        "--text", default="The cat chased its tail.", help="a sentence (default: The cat chased its tail.)"
    )
    group.add_argument("--word", help="the word of figures 3 and 4 (default: the longest)")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.box import default_model, find_model
    from heed.paper.figures import part
    from heed.run import RunFolder

    path = default_model() if args.model is None else find_model(args.model)
    found, figure1 = part(RunFolder.open(path), args.text, args.word, Path(args.out) / "figures")
    if not args.json:
        print("\n".join(figure1), end="\n\n")
    return show(found, args)
