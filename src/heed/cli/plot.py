"""`heed plot`: draw the curves of runs, in the terminal or to a file."""

import argparse
import sys
from pathlib import Path

from heed.wording import counted

HELP = "draw the curves of runs: loss, perplexity, validation scores, learning rate"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Draw what runs recorded over steps, all runs in one plot: training loss,\n"
        "perplexity of training and validation, BLEU, the metric that chooses each run's\n"
        "best checkpoint (train.metric), and learning rate. Draws in the terminal, or to\n"
        "a file with --out, which needs matplotlib. Works while a training is running."
    )
    parser.epilog = "examples:\n  heed plot runs/x\n  heed plot runs/x runs/y --out curves.png\n"
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run folder")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figure to a .png, .svg or .pdf file")


def run(args: argparse.Namespace) -> int:
    from heed.cli import terminal
    from heed.errors import CheckpointError
    from heed.follow.curves import PANELS, curves_of, read_history

    if args.out is not None:
        from heed.follow.figure import check_format

        check_format(args.out)
    names = [str(path) for path in args.runs]
    histories = [read_history(path) for path in args.runs]
    for name, history in zip(names, histories, strict=True):
        if history.damaged_lines:
            numbers = ", ".join(map(str, history.damaged_lines))
            print(f"{name}/events.jsonl: skipped damaged line {numbers}", file=sys.stderr)
    panels = [(panel, drawn) for panel in PANELS if (drawn := curves_of(panel, histories))]
    if not panels:
        raise CheckpointError(
            f"{', '.join(names)}: nothing to draw yet; the first point appears after train.log_every steps"
        )
    if args.out is not None:
        from heed.follow.figure import save_figure

        save_figure(args.out, names, panels)
        print(f"{args.out}: {counted(len(panels), 'panel')}, {counted(len(names), 'run')}", file=sys.stderr)
        return 0

    from heed.follow.textplot import CHARACTERS, draw, legend

    terminal.escape_what_it_cannot_show()
    ascii_only, colours = not terminal.can_show(CHARACTERS), terminal.has_colours()
    for panel, drawn in panels:
        print(*draw(panel, drawn, terminal.width(), ascii_only=ascii_only, colours=colours), "", sep="\n")
    print(*legend(names, ascii_only=ascii_only, colours=colours), sep="\n")
    return 0
