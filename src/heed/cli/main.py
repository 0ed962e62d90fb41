"""Run the command that the user asks for, and turn errors into exit codes. Only this file exits.

0 success · 1 a HeedError, or a file that cannot be read or written · 2 wrong usage or configuration · 130 Ctrl-C.
"""

import argparse
import importlib
import io
import os
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from types import ModuleType

import heed
from heed.cli import terminal
from heed.cli.usage import Parser
from heed.errors import ConfigError, HeedError, printable

COMMANDS = (
    "demo",
    "data",
    "doctor",
    "split",
    "prepare",
    "train",
    "translate",
    "models",
    "parse",
    "distil",
    "evaluate",
    "score",
    "confidence",
    "inspect",
    "align",
    "lab",
    "export",
    "runs",
    "plot",
    "bench",
    "paper",
    "check-resume",
)

# The sections of `heed --help`.
GROUPS = {
    "first steps": ["demo", "train", "translate", "models", "parse"],
    "preparing and training": ["data", "doctor", "split", "prepare", "distil", "runs", "plot", "check-resume"],
    "measuring": ["evaluate", "score", "confidence", "bench", "paper"],
    "looking inside": ["inspect", "lab", "align"],
    "other": ["export"],
}

# Other ranks wait this long before they fail: torchrun ends all processes as soon as one fails, and rank 0 has yet to
# print the error.
_ERROR_REPORT_SECONDS = 2.0


def module_of(command: str) -> ModuleType:
    """Import the file of a command."""
    return importlib.import_module(f"heed.cli.{command.replace('-', '_')}")


def build_parser(commands: Iterable[str] = COMMANDS) -> Parser:
    """Return a parser that knows these commands; only with all of them does its help list them.

    To import all of them takes longer than to translate a sentence.
    """
    listed = "\n\n" + _list_of_commands() if commands is COMMANDS else ""
    parser = Parser(
        prog="heed",
        usage="heed COMMAND ...",
        description=f"Two line-aligned text files in, a translator out.{listed}",
        epilog="examples:\n"
        "  echo 'The cat chased its tail.' | heed translate\n"
        "  heed demo\n"
        "  heed train --source train.en --target train.de --preset tiny --out runs/x\n"
        "  heed translate --model runs/x < in.txt > out.txt\n\n"
        "heed COMMAND --help shows a command's options and examples\n",
    )
    parsers = parser.add_subparsers(prog="heed", dest="command", required=True, help=argparse.SUPPRESS)
    for name in commands:
        command = parsers.add_parser(name)
        module_of(name).configure(command)
        command.add_other_options()
    other = parser.add_other_options()
    other.add_argument("--version", action="version", version=f"heed {heed.__version__}", help="print the version")
    return parser


def _list_of_commands() -> str:
    grouped = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "other": [*GROUPS["other"], *(name for name in COMMANDS if name not in grouped)]}
    lines = []
    for group, names in groups.items():
        lines.append(f"{group}:")
        for name in names:
            text = textwrap.wrap(module_of(name).HELP, 79 - 16)
            lines += [f"  {name:<14}{text[0]}", *(" " * 16 + line for line in text[1:])]
        lines.append("")
    return "\n".join(lines).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    args = argparse.Namespace(command="", debug=False)
    for stream in (sys.stdout, sys.stderr):  # escape characters the terminal cannot show, rather than fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        parser = build_parser(words[:1] if words and words[0] in COMMANDS else COMMANDS)
        if not words:
            parser.print_help(sys.stderr)
            return 2
        args = parser.parse_args([*words[1:], "--help"] if words[0] == "help" else words)
        code = int(module_of(args.command).run(args))
        sys.stdout.flush()  # here, so that the handler below sees a closed pipe
        return code
    except (HeedError, OSError, KeyboardInterrupt) as error:
        if getattr(args, "debug", False) and not isinstance(error, KeyboardInterrupt | BrokenPipeError):
            raise
        return _report_error(error, f"heed {args.command}".rstrip())


def _report_error(error: BaseException, command: str) -> int:
    """Print what went wrong, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # The reader of our output has ended (`| head`), which is no error. Nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt):  # its argument may say how far the command got
        if _is_rank_zero():
            print(" ".join([f"{command}: stopped", *map(str, error.args)]), file=sys.stderr)
        return 130
    if isinstance(error, OSError):  # such as a full disk, or no permission
        _print_error(f"{command}: {error.filename or 'input or output'}: {error.strerror or error}")
        return 1
    if not _is_rank_zero():
        time.sleep(_ERROR_REPORT_SECONDS)
    elif command == "heed":  # the parser's message already names the command
        _print_error(str(error))
    else:
        _print_error(f"{command}: {error}")
    return 2 if isinstance(error, ConfigError) else 1


def _print_error(message: str) -> None:
    """Print an error, in red on a terminal; escape control characters, which a terminal would act on."""
    shown = printable(message)
    print(f"\x1b[31m{shown}\x1b[0m" if terminal.has_colours(sys.stderr) else shown, file=sys.stderr)


def _is_rank_zero() -> bool:
    """Return whether this process prints messages: under torchrun, only rank 0 does."""
    return os.environ.get("RANK", "0") == "0"


if __name__ == "__main__":
    sys.exit(main())
