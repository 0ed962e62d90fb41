"""`heed distil`: translate a text into training text."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.bar import counting
from heed.cli.search import (
    add_engine,
    add_model,
    add_sampling,
    add_search,
    check_options,
    load_translator,
    search_options,
)
from heed.wording import counted

if TYPE_CHECKING:
    from heed.distil import Counts

HELP = "translate a text into training text; goes on after a kill"

_SECONDS_PER_REPORT = 60.0  # where there is no terminal


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate a file of any size and write line-aligned training text, the files\n"
        "`source` and `target`, to a folder: for distillation, data diversification and\n"
        "back-translation (--reverse). Stopped or killed, the same command goes on where\n"
        "it was. Blank lines and unfinished translations are left out and counted."
    )
    parser.epilog = (
        "examples:\n"
        "  heed distil --model runs/teacher --input train.en --out data/distilled\n"
        "  heed distil --model runs/a --model runs/b --input train.en --out data/ab\n"
        "  heed distil --model runs/de-en --input mono.de --reverse --tag '<bt>' \\\n"
        "      --out data/back\n"
        "  heed distil --model runs/x --input train.en --beam 5 --n-best 3 --out data/3"
    )
    group = parser.add_argument_group("model, input and output")
    add_model(group)
    group.add_argument("--input", required=True, metavar="FILE", help="the text to translate: plain or .gz")
    group.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a new folder, or one to go on with")
    group.add_argument("--json", action="store_true", help="print one JSON object at the end")

    group = parser.add_argument_group("pairs")
    group.add_argument("--reverse", action="store_true", help="the input becomes the target (back-translation)")
    group.add_argument("--tag", metavar="WORD", help="put this word before each source line, such as <bt>")
    group.add_argument("--n-best", type=int, default=1, metavar="N", help="write N pairs per line (default: 1)")

    group = parser.add_argument_group("search")
    add_search(group)
    group.add_argument("--greedy", action="store_true", help="the same as --beam 1")

    group = parser.add_argument_group("engine")
    add_engine(group)

    group = parser.add_argument_group("sampling")
    add_sampling(group)


def run(args: argparse.Namespace) -> int:
    from heed.data.corpus import count_lines_of
    from heed.distil import LEFT_OUT, SOURCE, TARGET, Pairing, distil
    from heed.errors import ConfigError

    check_options(args)
    if args.tag == "":
        raise ConfigError("--tag '' is empty; give a word, or leave --tag out")
    pairing = Pairing(args.reverse, args.tag or "")
    n_lines = count_lines_of(args.input)
    translator = load_translator(args)
    options = search_options(args, translator)
    settings = {
        "models": [_identity(Path(path), args.checkpoint) for path in args.model],
        "engine": args.engine,
        "int8": args.int8,
        "bfloat16": args.bfloat16 or None,  # as in folders that were begun before there was this option
        **{key: getattr(options, key) for key in ("beam", "alpha", "n_best")},
        "sampling": options.sampling and asdict(options.sampling),
    }
    done = 0

    def count(now: int) -> None:
        nonlocal done
        done = now
        show(now)

    began = time.monotonic()
    with _reporting(n_lines) as show:
        try:
            counts = distil(translator, options, args.input, pairing, args.out, settings, count)
        except KeyboardInterrupt:
            how = f"after {done:,} of {counted(n_lines, 'line')}; the same command goes on"
            raise KeyboardInterrupt(how) from None
    files = {name: str(args.out / name) for name in (SOURCE, TARGET, LEFT_OUT)}
    if args.json:
        facts = {**asdict(counts), "source": files[SOURCE], "target": files[TARGET], "left_out": files[LEFT_OUT]}
        print(json.dumps({**facts, "seconds": round(time.monotonic() - began, 1)}, ensure_ascii=False))
    else:
        _print_summary(counts, files[SOURCE], files[TARGET], files[LEFT_OUT])
    return 0


def _print_summary(counts: "Counts", source: str, target: str, left_out: str) -> None:
    print(f"{counted(counts.pairs, 'pair')} from {counted(counts.lines, 'line')}:\n  {source}\n  {target}")
    if counts.blank:
        print(f"left out: {counted(counts.blank, 'blank line')}")
    reasons = [("unfinished", counts.unfinished), ("empty", counts.empty), ("repeated", counts.repeated)]
    if any(n for _, n in reasons):
        print(f"left out: {', '.join(f'{n:,} {why}' for why, n in reasons if n)} (lines in {left_out})")
    if counts.in_parts:
        print(f"translated in parts, being longer than the model's limit: {counted(counts.in_parts, 'line')}")


def _identity(path: Path, which: str) -> dict[str, Any]:
    """Identify the weights of a model, wherever its folder is."""
    from heed.durable import MANIFEST, checksum, read_file
    from heed.run import RunFolder

    checkpoint = RunFolder.open(path).checkpoint_path(which)
    return {"checkpoint": checkpoint.name, "checksum": checksum(read_file(checkpoint / MANIFEST))}


@contextmanager
def _reporting(n_lines: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on a terminal; elsewhere, print a line with the time left every minute."""
    if sys.stderr.isatty():
        with counting(n_lines, "translating") as show:
            yield show
        return
    began = last = time.monotonic()
    first: int | None = None

    def report(done: int) -> None:
        nonlocal first, last
        now = time.monotonic()
        first = done if first is None else first
        if now - last < _SECONDS_PER_REPORT or done == first:
            return
        last = now
        seconds = (n_lines - done) * (now - began) / (done - first)
        print(f"{done:,} of {counted(n_lines, 'line')}; {_duration(seconds)} left", file=sys.stderr)

    yield report


def _duration(seconds: float) -> str:
    from heed.training.log import duration

    return duration(seconds)
