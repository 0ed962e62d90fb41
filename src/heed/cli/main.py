"""The command's entry: finds the verb, and turns errors into exit codes. Only this file exits.

0 done · 1 a HeedError, or files that cannot be read or written · 2 wrong usage or configuration · 130 Ctrl-C.
"""

import argparse
import io
import os
import sys
import textwrap
import time
from collections.abc import Sequence

import heed
from heed.cli import (
    bench,
    check_resume,
    demo,
    doctor,
    evaluate,
    export,
    inspect,
    plot,
    prepare,
    runs,
    score,
    split,
    terminal,
    train,
    translate,
)
from heed.cli.usage import Parser
from heed.errors import ConfigError, HeedError, printable

VERBS = {
    "demo": demo,
    "doctor": doctor,
    "split": split,
    "prepare": prepare,
    "train": train,
    "translate": translate,
    "evaluate": evaluate,
    "score": score,
    "inspect": inspect,
    "export": export,
    "runs": runs,
    "plot": plot,
    "bench": bench,
    "check-resume": check_resume,
}

# What `heed --help` lists together.
GROUPS = {
    "first steps": ["demo", "train", "translate"],
    "preparing and training": ["doctor", "split", "prepare", "runs", "plot", "check-resume"],
    "measuring": ["evaluate", "score", "bench"],
    "looking inside": ["inspect"],
    "other": ["export"],
}

# Seconds. Once a process has ended with an error, torchrun ends the others: not before the one that speaks has spoken.
_UNTIL_SAID = 2.0


def build_parser() -> Parser:
    parser = Parser(
        prog="heed",
        usage="heed COMMAND ...",
        description="Two line-aligned text files in, a translator out.\n\n" + _list_of_verbs(),
        epilog="examples:\n"
        "  heed demo\n"
        "  heed train --source train.en --target train.de --preset tiny --out runs/x\n"
        "  heed translate --model runs/x < in.txt > out.txt\n\n"
        "heed COMMAND --help shows the options of a command, with examples\n",
    )
    verbs = parser.add_subparsers(prog="heed", dest="verb", required=True, help=argparse.SUPPRESS)
    for name, module in VERBS.items():
        verb = verbs.add_parser(name)
        module.configure(verb)
        verb.add_other_options()
    other = parser.add_other_options()
    other.add_argument("--version", action="version", version=f"heed {heed.__version__}", help="print the version")
    return parser


def _list_of_verbs() -> str:
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "other": [*GROUPS["other"], *(name for name in VERBS if name not in grouped)]}
    lines = []
    for group, names in groups.items():
        lines.append(f"{group}:")
        for name in names:
            text = textwrap.wrap(VERBS[name].HELP, 79 - 16)
            lines += [f"  {name:<14}{text[0]}", *(" " * 16 + line for line in text[1:])]
        lines.append("")
    return "\n".join(lines).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    args = argparse.Namespace(verb="", debug=False)
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character gets its number, and not a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        parser = build_parser()
        if not words:
            parser.print_help(sys.stderr)
            return 2
        args = parser.parse_args([*words[1:], "--help"] if words[0] == "help" else words)
        code = int(VERBS[args.verb].run(args))
        sys.stdout.flush()  # here, where a closed pipe is no error
        return code
    except (HeedError, OSError, KeyboardInterrupt) as error:
        if getattr(args, "debug", False) and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
            raise
        return _explained(error, f"heed {args.verb}".rstrip())


def _explained(error: BaseException, command: str) -> int:
    """Say what went wrong, and return the exit code for it."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has gone (`| head`): not an error. Nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt):  # a verb may say how far it has come
        if _speaks():
            print(" ".join([f"{command}: stopped", *map(str, error.args)]), file=sys.stderr)
        return 130
    if isinstance(error, OSError):  # a full disk, a folder that may not be written to
        _complain(f"{command}: {error.filename or 'input or output'}: {error.strerror or error}")
        return 1
    if not _speaks():
        time.sleep(_UNTIL_SAID)
    elif command == "heed":  # the parser names the command itself
        _complain(str(error))
    else:
        _complain(f"{command}: {error}")
    return 2 if isinstance(error, ConfigError) else 1


def _complain(message: str) -> None:
    """Print an error, in red on a terminal; what a terminal would act on is spelt out."""
    shown = printable(message)
    print(f"\x1b[31m{shown}\x1b[0m" if terminal.has_colours(sys.stderr) else shown, file=sys.stderr)


def _speaks() -> bool:
    """Of the processes torchrun has started, one says what is to be said."""
    return os.environ.get("RANK", "0") == "0"


if __name__ == "__main__":
    sys.exit(main())
