"""`heed paper questions`: what readers of the paper ask, each answered by a small experiment."""

import argparse
import sys
from pathlib import Path

from heed.cli.experiments import add_output_options
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

HELP = "what readers ask, each question answered by an experiment"


def configure(parser: Parser) -> None:
    parser.description = (
        "Answer questions that readers of the paper ask, each by a small experiment that\n"
        "runs in seconds. Without NAME, answer all that do. docs/questions.md says more."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper questions --list\n"
        "  heed paper questions mask\n"
        "  heed paper questions heads --model runs/x\n"
        "  heed paper questions saturation --scale small"
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="one question, by its name in the list")
    parser.add_argument("--list", action="store_true", help="list the questions with their names")
    parser.add_argument("--model", metavar="RUN", help="an English-German run folder (default: the model in the box)")
    parser.add_argument("--scale", metavar="SCALE", help="of saturation: quick, small (default) or large")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.errors import ConfigError
    from heed.paper.questions import MINUTES, QUESTIONS, TRAINED
    from heed.paper.questions.asked import Asked
    from heed.paper.report import lines, save, to_json
    from heed.wording import did_you_mean

    if args.list:
        width = max(map(len, QUESTIONS))
        print("\n".join(f"{name:<{width}}  {module.QUESTION}" for name, module in QUESTIONS.items()))
        return 0
    if args.name is not None and args.name not in QUESTIONS:
        raise ConfigError(
            f"no question is named {args.name!r}; see heed paper questions --list"
            f"{did_you_mean(args.name, list(QUESTIONS))}"
        )
    if args.scale is not None and args.name not in MINUTES:
        raise ConfigError("--scale belongs to the question saturation; name it, or leave --scale out")
    asked = Asked(args.model, Path(args.out), args.scale or "small")
    names = [args.name] if args.name else [name for name in QUESTIONS if name not in MINUTES]
    for number, name in enumerate(names):
        if name in TRAINED:
            print(f"{name}: training tiny models, up to a minute ...", file=sys.stderr)
        part = QUESTIONS[name].answer(asked)
        report = save(part, asked.folder)
        if args.json:
            print(to_json(part), flush=True)
        else:
            print("\n\n" * bool(number) + "\n".join(lines(part)), flush=True)
    print(f"\nreport: {report}", file=sys.stderr)
    return 0
