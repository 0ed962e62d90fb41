"""`heed check-resume`: check on this machine and data that a killed training still ends with the same model."""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from heed.wording import counted

HELP = "prove on this machine that a killed training resumes to the same model, byte for byte"

EPILOG = """\
examples:
  heed check-resume
  heed check-resume --source train.en --target train.de --steps 100 --kills 10
  heed check-resume config.toml --set train.batch_tokens=2000 --folder x --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Train twice with the same settings: once straight through, and once with\n"
        "`kill -9` at random moments (start-up, updates, validation, saving), resuming\n"
        "with `heed train --resume` after each kill. Then compare the two runs byte by\n"
        "byte. Without --source or a config, train on a small built-in corpus.\n"
        "\n"
        "exit code: 0 identical, 1 not identical or failed, 2 wrong usage"
    )
    parser.epilog = EPILOG
    check = parser.add_argument_group("check")
    check.add_argument("--steps", type=int, default=60, metavar="N", help="updates to make (default: %(default)s)")
    check.add_argument("--kills", type=int, default=5, metavar="N", help="number of kills (default: %(default)s)")
    check.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the random moments (default: %(default)s)"
    )
    check.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="keep both runs in this new folder (default: delete them)"
    )
    check.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    text = parser.add_argument_group("text")
    for option, what in _DATA.items():
        text.add_argument(option, metavar="FILE", help=what)
    settings = parser.add_argument_group("settings")
    settings.add_argument("--preset", help="quick, tiny, swift, small, base or big (default without a config: tiny)")
    settings.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change one setting; may be repeated"
    )
    settings.add_argument("config", nargs="?", type=Path, help="a TOML file, or a run folder's config.json")


_DATA = {
    "--source": "training text to translate from: plain, .gz, or .tsv with both",
    "--target": "its translation, line by line",
    "--valid-source": "held-out text to validate on",
    "--valid-target": "its translation",
}
# For the built-in corpus: a run that saves, validates and averages within a minute.
_BUILT_IN_CORPUS_SETTINGS = ("text.vocab_size=600", "train.batch_tokens=1000", "train.warmup_steps=20", "decode.beam=2")


@dataclass(frozen=True)
class Kill:
    step: int  # the last one logged
    phase: str


def run(args: argparse.Namespace) -> int:
    from heed.errors import ConfigError, TrainingError

    for name, minimum in (("steps", 2), ("kills", 1)):
        if getattr(args, name) < minimum:
            raise ConfigError(f"--{name} {getattr(args, name)}: must be at least {minimum}")
    keep = args.folder is not None
    if keep and args.folder.exists() and (not args.folder.is_dir() or any(args.folder.iterdir())):
        raise ConfigError(f"--folder {args.folder}: exists already; name a new one")
    folder = args.folder if keep else Path(tempfile.mkdtemp(prefix="heed-check-resume-"))
    straight, broken = folder / "straight", folder / "broken"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        command = _command(args, folder)
        timeline = _train_straight(command, straight, args.steps)
        try:
            kills = _train_broken(command, broken, timeline, _moments(args.seed, args.kills, timeline))
        except TrainingError:  # the run could not be resumed: keep it for inspection
            keep = True
            raise
        final, differing = _compare(straight, broken)
        keep = keep or bool(differing)
    finally:
        if not keep:
            shutil.rmtree(folder)
    trial = f"{counted(args.steps, 'step')} and {counted(len(kills), 'kill')}"
    if args.json:
        found = {
            "identical": not differing,
            "steps": args.steps,
            "kills": [asdict(kill) for kill in kills],
            "differing": differing,
            "sha256": final,
            "folder": str(folder) if keep else None,
        }
        print(json.dumps(found, ensure_ascii=False))
    elif differing:
        print(f"NOT identical after {trial}. These files differ between {straight} and {broken}:")
        for name in differing:
            print(f"  {name}")
    else:
        print(f"identical, byte for byte, after {trial}:")
        for name, digest in final.items():
            print(f"  {name}\n    sha256 {digest}")
    return 1 if differing else 0


def _command(args: argparse.Namespace, folder: Path) -> list[str]:
    """Return the `heed train` command without --out.

    The user's settings come after the defaults, so they win; only --steps overrides them.
    """
    given = [(option, getattr(args, option[2:].replace("-", "_"))) for option in _DATA]
    given = [(option, value) for option, value in given if value is not None]
    settings = [
        f"train.save_every={max(1, args.steps // 10)}",
        f"train.validate_every={max(1, args.steps // 4)}",
        "train.log_every=1",
    ]
    if not given and args.config is None:
        given = _write_corpus(folder / "data")
        settings += _BUILT_IN_CORPUS_SETTINGS
    words = [*_LAUNCHER, "train", *([str(args.config)] if args.config else [])]
    words += [word for pair in given for word in pair]
    if args.preset or args.config is None:
        words += ["--preset", args.preset or "tiny"]
    return words + [
        word for setting in (*settings, *args.set, f"train.max_steps={args.steps}") for word in ("--set", setting)
    ]


def _write_corpus(folder: Path) -> list[tuple[str, str]]:
    from heed.demo.grammar import corpus

    folder.mkdir()
    made = corpus(train=2_000, valid=20, test=0)
    given = []
    for option, pairs, side in (
        ("--source", made.train, "source"),
        ("--target", made.train, "target"),
        ("--valid-source", made.valid, "source"),
        ("--valid-target", made.valid, "target"),
    ):
        path = folder / option[2:]
        path.write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs), encoding="utf-8")
        given.append((option, str(path)))
    return given


# --- the two runs -----------------------------------------------------------------------------------------


_LAUNCHER = [sys.executable, "-m", "heed"]  # as a user would type it
# Runs in place of `-m heed`: the same, but the process dies with its parent.
_DIES_WITH_PARENT = (
    "import sys; from heed.cli import check_resume, main; check_resume.end_with_parent(); sys.exit(main.main())"
)


def end_with_parent() -> None:
    """Kill this process as soon as the process at the other end of its standard input is gone."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    threading.Thread(target=watch, daemon=True).start()


class _Process:
    """A command that runs in its own process group, and is killed when the `with` block or this process ends."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command, self._log = command, log
        with open(log, "ab") as file:
            self._log_begin = file.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _DIES_WITH_PARENT, *command[len(_LAUNCHER) :]],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def __enter__(self) -> "_Process":
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self) -> bool:
        """Kill the process group with SIGKILL; return whether it was still running."""
        if self._process.poll() is None:
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait() == -signal.SIGKILL

    def runs(self) -> bool:
        """Wait a moment, and return whether the command still runs.

        Raises:
            TrainingError: the command has failed.
        """
        from heed.errors import TrainingError

        time.sleep(0.01)
        code = self._process.poll()
        if code:
            output = self._log.read_bytes()[self._log_begin :].decode(errors="replace").strip()
            raise TrainingError(f"`{' '.join(self._command)}` failed with exit code {code}; its output:\n{output}")
        return code is None


Timeline = list[tuple[float, dict[str, Any]]]  # events, each with its time in seconds since the start


def _train_straight(command: list[str], path: Path, steps: int) -> Timeline:
    """Train without kills, and return the timeline of the run."""
    from heed.cli.progress import with_progress

    began = time.time()

    def steps_as_they_come() -> Iterator[range]:
        done = 0
        with _Process([*command, "--out", str(path)], path.with_suffix(".log")) as process:
            while process.runs():
                now = _reached(_events(path))
                if now > done:
                    yield range(done, now)
                    done = now

    for _ in with_progress(steps_as_they_come(), steps, "straight run"):
        pass
    _say(f"straight run: {steps} steps in {time.time() - began:.0f} s")
    return [(float(event["time"]) - began, event) for event in _events(path)]


def _train_broken(command: list[str], path: Path, timeline: Timeline, moments: list[float]) -> list[Kill]:
    """Train, and kill the run each time it is as far as the straight run was at one of the moments."""
    from heed.cli.progress import with_progress

    kills: list[Kill] = []

    def legs() -> Iterator[list[float]]:
        for moment in moments:
            with _start_or_resume(command, path) as process:
                seen = len(_events(path))
                if not _wait_for(process, path, seen, moment, timeline) or not process.kill():
                    _say("the run ended before the next kill")
                    return
                kills.append(_where(_events(path), seen, timeline))
                _say(f"kill {len(kills)}: {kills[-1].phase}")
            yield [moment]
        with _start_or_resume(command, path) as process:
            while process.runs():
                pass
        yield [0.0]

    for _ in with_progress(legs(), len(moments) + 1, "killed and resumed"):
        pass
    return kills


def _start_or_resume(command: list[str], path: Path) -> _Process:
    """Run the command a user would type after a crash."""
    begun = (path / "config.json").exists()
    words = [*_LAUNCHER, "train", "--resume", str(path)] if begun else [*command, "--out", str(path)]
    return _Process(words, path.with_suffix(".log"))


def _moments(seed: int, n: int, timeline: Timeline) -> list[float]:
    """Draw n moments of the straight run: one in each n-th of its training, except that one in four is at start-up."""
    chance = random.Random(seed)
    start_up = next(at for at, event in timeline if _reached([event]))
    training = timeline[-1][0] - start_up
    return [
        chance.uniform(0, start_up)
        if chance.random() < 0.25
        else start_up + chance.uniform(part, part + 1) / n * training
        for part in range(n)
    ]


def _wait_for(process: _Process, path: Path, seen: int, moment: float, timeline: Timeline) -> bool:
    """Wait until the run is as far as the straight run was at the moment; return whether it still runs then."""
    logged = [(at, _reached([event])) for at, event in timeline if at <= moment]
    since, step = max(logged, key=lambda one: one[1], default=(0.0, 0))  # the last step, and when it was first logged
    while step and _reached(_events(path)[seen:]) < step:
        if not process.runs():
            return False
    end = time.monotonic() + moment - (since if step else 0.0)
    while time.monotonic() < end:
        if not process.runs():
            return False
    return True


def _where(events: list[dict[str, Any]], seen: int, timeline: Timeline) -> Kill:
    """Return what the run was doing when it was killed: the event that the straight run logged next at this point."""
    step = _reached(events)
    if len(events) == seen:
        return Kill(step, "in start-up")
    names = [(event["event"], event.get("step")) for _, event in timeline]
    last = (events[-1]["event"], events[-1].get("step"))
    following = names[names.index(last) + 1][0] if last in names[:-1] else "step"
    doing = {"step": "in an update", "validation": "in a validation", "checkpoint": "in a save"}
    return Kill(step, f"{doing.get(following, 'at the end')} after step {step}")


def _events(path: Path) -> list[dict[str, Any]]:
    """Return the events a run has logged so far, without a last line that is still being written."""
    try:
        content = (path / "events.jsonl").read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in content.split("\n")[:-1]]


def _reached(events: list[dict[str, Any]]) -> int:
    return max((event["step"] for event in events if isinstance(event.get("step"), int)), default=0)


# --- the comparison ---------------------------------------------------------------------------------------


def _compare(one: Path, other: Path) -> tuple[dict[str, str], list[str]]:
    """Return the checksums of the final checkpoint's files, and the names of all files that differ.

    Both runs must have the final checkpoint and the best one. Other checkpoints are compared if both runs have them.
    """
    from heed.durable import checksum

    ours, theirs = (_files(run) for run in (one, other))
    folders = sorted({Path(name).parts[1] for name in ours if name.startswith("checkpoints/step-")})
    last = f"checkpoints/{folders[-1]}/"
    both = {Path(name).parent for name in ours} & {Path(name).parent for name in theirs}
    names = [name for name in sorted(ours.keys() | theirs.keys()) if Path(name).parent in both or name.startswith(last)]
    differing = [name for name in names if ours.get(name) != theirs.get(name)]
    return {name: checksum(content) for name, content in ours.items() if name.startswith(last)}, differing


def _files(run: Path) -> dict[str, bytes]:
    files = [run / "config.json", run / "tokenizer.model", run / "best.json", *(run / "checkpoints").glob("[!.]*/*")]
    return {path.relative_to(run).as_posix(): path.read_bytes() for path in sorted(files) if path.exists()}


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
