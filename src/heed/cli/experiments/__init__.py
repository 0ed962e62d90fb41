"""One file per experiment of `heed paper`, each with HELP, configure and run, as a command has them."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.usage import Parser

if TYPE_CHECKING:
    from heed.config import DataConfig, TextConfig
    from heed.paper.report import Part
    from heed.paper.rows import RowPlan, RowProgress, RowResult
    from heed.paper.texts import Texts

_LINE_SECONDS = 30.0  # between two lines of progress, where there is no terminal to rewrite one


def add_output_options(parser: Parser) -> None:
    """Add the options that every experiment has: where its result goes."""
    group = parser.add_argument_group("result")
    group.add_argument(
        "--out", metavar="FOLDER", default="paper", help="folder of the report and its runs (default: paper)"
    )
    group.add_argument("--json", action="store_true", help="print one JSON object")


def check_output(folder: Path) -> None:
    """Refuse a folder that cannot be written to, before work that may take hours.

    Raises:
        ConfigError: with what is in the way.
    """
    from heed.errors import ConfigError

    try:
        there = next(one for one in (folder, *folder.parents) if one.exists())
    except OSError as error:  # a folder above it may not be searched
        raise ConfigError(f"--out {folder}: {error.strerror}; name another folder") from None
    if not there.is_dir():
        raise ConfigError(f"--out {folder}: {there} is a file; name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError(f"--out {folder}: {there} cannot be written to (permission denied); name another folder")


def show(part: "Part", args: argparse.Namespace) -> int:
    """Print a part, add it to the report, say where the report is, and return the exit code."""
    from heed.paper.report import lines, save, to_json

    report = save(part, Path(args.out))
    print(to_json(part) if args.json else "\n".join(lines(part)))
    print(f"\nreport: {report}", file=sys.stderr)
    return 0


def add_model_options(parser: Parser) -> None:
    """Add the options of experiments on a trained model: which one, and the text to measure it on."""
    group = parser.add_argument_group("model and text")
    group.add_argument("--model", required=True, metavar="FOLDER", help="a run folder")
    group.add_argument("--source", metavar="FILE", help="text to translate (default: the run's validation text)")
    group.add_argument("--reference", metavar="FILE", help="its translation")
    group.add_argument("--sentences", type=int, metavar="N", help="take only the first N pairs")


# --- experiments that train ----------------------------------------------------------------------------------


def add_text_options(parser: Parser) -> None:
    """Add the options that name the text to train and validate on."""
    text = parser.add_argument_group("text")
    text.add_argument(
        "--data", metavar="FOLDER", help="a folder made by `heed data get`: train.en, train.de, val.en, ..."
    )
    text.add_argument("--source", metavar="FILE", help="or the files: text to translate from")
    text.add_argument("--target", metavar="FILE", help="its translation, line by line")
    text.add_argument("--valid-source", metavar="FILE", help="held-out text to validate on")
    text.add_argument("--valid-target", metavar="FILE", help="its translation")


def add_scale_option(group: argparse._ArgumentGroup, names: str) -> None:
    """Add the option for the size of the models that are trained."""
    group.add_argument("--scale", default="tiny", help=f"{names} (default: tiny)")


def add_training_options(parser: Parser) -> None:
    """Add the options that look before work that takes hours."""
    group = parser.add_argument_group("before it starts")
    group.add_argument("--dry-run", action="store_true", help="print the plan and its cost, and do not train")
    group.add_argument("--yes", action="store_true", help="start even what takes days (--scale paper)")


def texts_given(args: argparse.Namespace) -> "Texts":
    """Return the text that the options name.

    Raises:
        ConfigError: they name none, half of it, or two.
        DataError: it is not there.
    """
    from heed.errors import ConfigError
    from heed.paper.texts import GET_DATA, texts_in, texts_of

    files = {
        "--source": args.source,
        "--target": args.target,
        "--valid-source": args.valid_source,
        "--valid-target": args.valid_target,
    }
    missing = [option for option, path in files.items() if path is None]
    if args.data is not None:
        if len(missing) < len(files):
            raise ConfigError("--data already names the text; drop it, or --source and the other files")
        return texts_in(Path(args.data))
    if len(missing) == len(files):
        raise ConfigError(f"no text to train on: give --data FOLDER; {GET_DATA}")
    if missing:
        raise ConfigError(f"{' and '.join(missing)}: missing; training and held-out text need both languages")
    return texts_of(*(str(path) for path in files.values()))


def train_table(
    args: argparse.Namespace,
    name: str,
    texts: "Texts",
    how: "TextConfig",
    plans: "Callable[[DataConfig], list[RowPlan]]",
) -> "list[RowResult]":
    """Train the rows of a table below --out, and return their results; `plans` takes where the encoded text is."""
    from heed.allocator import keep_freed_memory
    from heed.paper.rows import train_rows
    from heed.paper.texts import encoded_once

    keep_freed_memory()
    folder = Path(args.out) / name
    with stopping():
        data = encoded_once(texts, how, folder / "text", lambda line: print(line, file=sys.stderr))
        with watching() as progress:
            return train_rows(plans(data), folder, progress)


@contextmanager
def stopping() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, before and between trainings as well, and say that nothing is lost."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("(what is done is saved; the same command continues)") from None
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def watching() -> "Iterator[Callable[[RowProgress], None]]":
    """Yield a function that shows the progress of rows: one line that is rewritten, or a line now and then."""
    is_terminal = sys.stderr.isatty()
    shown_at, shown_row = 0.0, 0

    def tell(progress: "RowProgress") -> None:
        from heed.training.log import duration

        nonlocal shown_at, shown_row
        now = time.monotonic()
        is_last = progress.step == progress.max_steps
        if now - shown_at < (0.2 if is_terminal else _LINE_SECONDS) and not is_last and progress.number == shown_row:
            return
        shown_at, shown_row = now, progress.number
        line = (
            f"row {progress.number}/{progress.n_rows} {progress.name:<12} step {progress.step:,}/"
            f"{progress.max_steps:,}  loss {progress.loss:.2f}"
        )
        if progress.seconds_left is not None:
            line += f"  {duration(progress.seconds_left)} left for all"
        print(
            f"\r{line[:79]:<79}" if is_terminal else line, end="" if is_terminal else "\n", file=sys.stderr, flush=True
        )

    try:
        yield tell
    finally:
        if is_terminal and shown_row:
            print(file=sys.stderr)
