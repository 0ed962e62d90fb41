"""Find run folders and the state of each. This only reads files, and never loads a model."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from heed.durable import read_json
from heed.errors import CheckpointError
from heed.evaluate.criterion import BLEU
from heed.follow.curves import read_history
from heed.lock import FolderLock

DEPTH = 4  # levels of folders searched for runs


@dataclass(frozen=True)
class RunState:
    """The state of a run."""

    path: Path
    state: str  # running, finished, stopped early, interrupted, died, empty, shipped, damaged
    reason: str = ""  # why it is empty or damaged
    step: int = 0
    max_steps: int | None = None
    metric: str | None = None  # the criterion of its validations (train.metric)
    best: float | None = None  # the best validation by that criterion
    best_bleu: float | None = None
    valid_perplexity: float | None = None  # the last value, as is train_perplexity
    train_perplexity: float | None = None
    last_activity: float | None = None  # seconds since 1970
    size: int = 0  # bytes of all files
    damaged_lines: list[int] = field(default_factory=list)  # of events.jsonl


def find_runs(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Yield the run folders at or below a folder, by name. Folders inside a run are not searched."""
    try:
        if is_run(folder):
            yield folder
            return
        below = sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    except PermissionError:
        yield folder  # `state_of` reports that it cannot be read
        return
    for one in below if depth else ():
        yield from find_runs(one, depth - 1)


def is_run(folder: Path) -> bool:
    """Return whether this is a run folder of `heed train`, complete or not."""
    names = {one.name for one in folder.iterdir()} if folder.is_dir() else set()
    return "events.jsonl" in names or {"config.json", "checkpoints"} <= names


def state_of(run: Path) -> RunState:
    """Return the current state of a run. A folder that cannot be read is "damaged", with the reason."""
    size = _size(run)
    try:
        running = FolderLock.is_held(run)
        max_steps = _max_steps(run)
        if not (run / "events.jsonl").exists():
            if (run / "checkpoints" / "shipped").exists():
                return RunState(run, "shipped", size=size)
            if any((run / "checkpoints").glob("step-*")):
                raise CheckpointError("events.jsonl: missing; the checkpoints are there")
            return RunState(run, "running" if running else "empty", "no events.jsonl yet", 0, max_steps, size=size)
        history = read_history(run)
    except CheckpointError as error:
        return RunState(run, "damaged", str(error).removeprefix(f"{run}{os.sep}"), size=size)
    except OSError as error:
        return RunState(run, "damaged", f"{error.filename or run}: {error.strerror}", size=size)
    last = history.last
    if running:
        state, reason = "running", ""
    elif last is None:
        state, reason = "empty", "no event in events.jsonl"
    elif last["event"] == "end":
        state, reason = ("stopped early" if last.get("reason") == "early" else "finished"), ""
    elif last["event"] == "interrupted":
        state, reason = "interrupted", ""
    else:
        state, reason = "died", ""
    trained, validated = history.curve("step", "perplexity"), history.curve("validation", "perplexity")
    time = None if last is None else last.get("time")
    return RunState(
        run,
        state,
        reason,
        history.step,
        max_steps,
        history.criterion.key,
        history.best(history.criterion),
        history.best(BLEU),
        validated[-1][1] if validated else None,
        trained[-1][1] if trained else None,
        float(time) if isinstance(time, int | float) else None,
        size,
        history.damaged_lines,
    )


def _max_steps(run: Path) -> int:
    train = read_json(run / "config.json").get("train")
    found = train.get("max_steps") if isinstance(train, dict) else None
    if not isinstance(found, int):
        raise CheckpointError(f"{run / 'config.json'}: damaged (it has no train.max_steps)")
    return found


def _size(folder: Path) -> int:
    """Return the total size of all files in bytes; a running training may delete some meanwhile."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total
