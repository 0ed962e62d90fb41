"""`heed runs`: list runs and their state."""

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from heed.wording import counted

if TYPE_CHECKING:
    from heed.follow.runs import RunState

HELP = "list training runs: progress, best score and state"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the runs in these folders and a few levels below.\n\n"
        "states:\n"
        "  running        a process is training in the folder now\n"
        "  finished       all steps done\n"
        "  stopped early  validation stopped improving (train.patience)\n"
        "  interrupted    stopped by Ctrl-C, SIGTERM or SIGUSR1, and saved\n"
        "  died           ended unexpectedly: killed, crashed, or a power cut\n"
        "  empty          nothing recorded yet\n"
        "  shipped        written by heed export --to heed\n"
        "  damaged        a file is missing or unreadable; a note says which\n"
        "Every run that is not running, shipped or damaged can be resumed:\n"
        "  heed train --resume FOLDER\n"
    )
    parser.epilog = "examples:\n  heed runs\n  heed runs runs/big /data/runs\n  heed runs --json | jq '.[].best'\n"
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="FOLDER", help="where to look (default: runs)", default=[Path("runs")]
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list with one object per run")


def run(args: argparse.Namespace) -> int:
    from heed.cli.terminal import escape_what_it_cannot_show
    from heed.errors import CheckpointError
    from heed.follow.runs import DEPTH, find_runs, state_of

    for folder in args.folders:
        if not folder.is_dir():
            raise CheckpointError(
                f"{folder}: no such folder; name the folder that holds your runs, or start one with "
                f"heed train ... --out {folder}/x"
            )
    escape_what_it_cannot_show()
    found = {path.resolve(): path for folder in args.folders for path in find_runs(folder)}  # each run once
    states = [state_of(path) for path in found.values()]
    if args.json:
        print(json.dumps([_plain(state) for state in states], indent=2))
    elif states:
        _print_table(states)
    else:
        where = ", ".join(map(str, args.folders))
        print(
            f"no runs in {where}, nor up to {DEPTH} levels below; "
            f"start one with heed train ... --out {args.folders[0]}/x",
            file=sys.stderr,
        )
    return 0


def _plain(state: "RunState") -> dict[str, object]:
    return {**asdict(state), "path": str(state.path)}


def _print_table(states: list["RunState"]) -> None:
    from rich.console import Console
    from rich.table import Table

    from heed.cli.terminal import can_show

    none = "–" if can_show("–") else "-"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("run", overflow="fold")
    for name in ("step", "best", "ppl", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("last activity", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for state in states:
        table.add_row(
            str(state.path),
            none if state.max_steps is None else f"{state.step}/{state.max_steps}",
            _best(state) or none,
            _perplexity(state) or none,
            _size(state.size),
            none if state.last_activity is None else _ago(time.time() - state.last_activity),
            state.state,
        )
    # Fold lines to fit a terminal, but leave them whole for a program that reads them.
    console = Console(width=None if sys.stdout.isatty() else 1000, markup=False, highlight=False, emoji=False)
    with console.capture() as drawn:
        console.print(table)
    for line in (*drawn.get().splitlines(), *_notes(states)):
        print(line.rstrip())


def _notes(states: list["RunState"]) -> list[str]:
    notes = []
    if any(state.valid_perplexity is None and state.train_perplexity is not None for state in states):
        notes.append("(ppl in brackets: on the training text, because there was no validation yet)")
    notes += [f"{state.path}: {state.state}: {state.reason}" for state in states if state.reason]
    for state in states:
        if state.damaged_lines:
            where = ", ".join(map(str, state.damaged_lines[:3])) + (", ..." if len(state.damaged_lines) > 3 else "")
            skipped = counted(len(state.damaged_lines), "damaged line")
            notes.append(f"{state.path}/events.jsonl: skipped {skipped} ({where})")
    return ["", *notes] if notes else []


def _best(state: "RunState") -> str:
    from heed.evaluate import CRITERIA

    if state.metric is None or state.best is None:
        return ""
    by = CRITERIA[state.metric]
    return f"{'ppl' if by.is_perplexity else by.label} {by.shown(state.best)}"


def _perplexity(state: "RunState") -> str:
    from heed.evaluate.criterion import PERPLEXITY

    if state.valid_perplexity is not None:
        return PERPLEXITY.shown(state.valid_perplexity)
    return "" if state.train_perplexity is None else f"({PERPLEXITY.shown(state.train_perplexity)})"


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def _ago(seconds: float) -> str:
    for unit, length in (("day", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            n = int(seconds // length)
            return f"{n} {unit}{'s' if unit == 'day' and n > 1 else ''} ago"
    return "just now"
