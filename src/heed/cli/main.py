"""The command's entry: finds the verb, and turns errors into exit codes. Only this file exits.

0 done · 1 a HeedError, or files that cannot be read or written · 2 wrong usage or configuration · 130 Ctrl-C.
"""

import argparse
import os
import sys
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
    plot,
    prepare,
    runs,
    score,
    shortlist,
    train,
    translate,
)
from heed.errors import ConfigError, HeedError

VERBS = {
    "demo": demo,
    "doctor": doctor,
    "prepare": prepare,
    "train": train,
    "translate": translate,
    "evaluate": evaluate,
    "score": score,
    "export": export,
    "shortlist": shortlist,
    "runs": runs,
    "plot": plot,
    "bench": bench,
    "check-resume": check_resume,
}

# Seconds. Once a process has ended with an error, torchrun ends the others: not before the one that speaks has spoken.
_UNTIL_SAID = 2.0


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="heed",
        description="Two line-aligned text files in, a translator out.",
        epilog="examples:\n"
        "  heed demo\n"
        "  heed train --source train.en --target train.de --preset tiny --out runs/x\n"
        "  heed translate --model runs/x < in.txt > out.txt\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"heed {heed.__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="verb", required=True)
    for name, module in VERBS.items():
        verb = verbs.add_parser(name, help=module.HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
        module.configure(verb)
        verb.add_argument("--debug", action="store_true", help="show where an error came from")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        parser = build_parser()
        if not (sys.argv[1:] if arguments is None else arguments):
            parser.print_help(sys.stderr)
            return 2
        args = parser.parse_args(arguments)
        return _run(args)
    except KeyboardInterrupt:
        print("heed: stopped", file=sys.stderr)
        return 130


def _run(args: argparse.Namespace) -> int:
    try:
        code = int(VERBS[args.verb].run(args))
        sys.stdout.flush()  # here, where a closed pipe is no error
        return code
    except HeedError as error:
        if args.debug:
            raise
        if _speaks():
            print(f"heed {args.verb}: {error}", file=sys.stderr)
        else:
            time.sleep(_UNTIL_SAID)
        return 2 if isinstance(error, ConfigError) else 1
    except KeyboardInterrupt as stop:  # a verb may say how far it has come
        if _speaks():
            print(" ".join([f"heed {args.verb}: stopped", *map(str, stop.args)]), file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`): not an error. Nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a folder that may not be written to
        if args.debug:
            raise
        print(f"heed {args.verb}: {error.filename or 'input or output'}: {error.strerror or error}", file=sys.stderr)
        return 1


def _speaks() -> bool:
    """Of the processes torchrun has started, one says what is to be said."""
    return os.environ.get("RANK", "0") == "0"


if __name__ == "__main__":
    sys.exit(main())
