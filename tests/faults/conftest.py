"""Run small real trainings, and interrupt or damage them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import ENVIRONMENT, letters, settings, write_lines
from tests.processes import Started

ROOT = Path(__file__).parents[2]
# Saved at 2, 3 (validated), 4 and 6; two batches an epoch; old checkpoints are deleted and the last are averaged.
SETTINGS = settings(
    train__max_steps=6,
    train__save_every=2,
    train__validate_every=3,
    train__keep_checkpoints=2,
    train__average_last=2,
    train__log_every=1,
    train__warmup_steps=4,
    decode__beam=1,
)


@dataclass(frozen=True)
class Ended:
    code: int  # negative: the signal it died of
    said: str


class Process:
    """Control a running `heed`."""

    def __init__(self, warm: "Warm", pid: int, said: Path) -> None:
        self._warm, self.pid, self._said = warm, pid, said

    def said(self) -> str:
        return self._said.read_text(encoding="utf-8") if self._said.exists() else ""

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process group. Until `wait`, its number cannot be reused."""
        os.killpg(self.pid, number)

    def go(self) -> None:
        self._warm.order("go", self.pid)

    def wait(self) -> Ended:
        return Ended(self._warm.order("wait", self.pid), self.said())


class Warm:
    """Start the command in processes that have everything imported (see warm.py)."""

    def __init__(self, folder: Path, warm_up: list[str]) -> None:
        self._folder, self._n, self._n_orders = folder, 0, 0
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.warm", json.dumps(warm_up)],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def order(self, *order: object) -> int:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._n_orders += 1
        self._server.stdin.write(json.dumps([self._n_orders, *order]) + "\n")
        self._server.stdin.flush()
        while answer := self._server.stdout.readline():
            number, value = map(int, answer.split())
            if number == self._n_orders:  # else it answers an order of a test that failed before it read the answer
                return value
        raise AssertionError("the warm-up training failed")

    def start(self, *arguments: object, held: bool = False) -> Process:
        self._n += 1
        said = self._folder / f"said-{self._n}"
        return Process(self, self.order("start", [str(word) for word in arguments], str(said), held), said)

    def heed(self, *arguments: object) -> Ended:
        return self.start(*arguments).wait()

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()


@dataclass(frozen=True)
class Training:
    """Describe a small training: the command's arguments without --out, and the uninterrupted run."""

    warm: Warm
    arguments: list[str]
    whole: Path
    seconds: float  # of the uninterrupted run

    def start(self, out: Path, *more: object, held: bool = False) -> Process:
        return self.warm.start(*self.arguments, *more, "--out", out, held=held)

    def train(self, out: Path, *more: object) -> Ended:
        return self.start(out, *more).wait()

    def resume(self, out: Path, *more: object) -> Ended:
        return self.warm.heed("train", "--resume", out, *more)

    def copy(self, out: Path) -> Path:
        shutil.copytree(self.whole, out)
        return out

    def go_on(self, out: Path) -> Ended:
        """Do what a user does after a crash: resume, or start again if there is no run folder yet."""
        return self.resume(out) if (out / "config.json").exists() else self.train(out)

    def assert_finished(self, out: Path) -> None:
        assert_same_run(out, self.whole)


def assert_same_run(one: Path, other: Path) -> None:
    """Check that two runs have identical checkpoints and best.json, and that nothing is left over.

    A stop saves extra checkpoints, so only those that both runs have are compared.
    """
    for run in (one, other):
        assert (hidden := hidden_files(run)) == [], hidden
    ours, theirs = (
        {file.relative_to(run): file.read_bytes() for file in run.rglob("*") if file.is_file()} for run in (one, other)
    )
    last = max(path.parts[1] for path in theirs if path.parts[0] == "checkpoints" and path.parts[1].startswith("step-"))
    differing = [
        str(path) for path in ours.keys() & theirs.keys() if path.name not in LOGS and ours[path] != theirs[path]
    ]
    assert differing == [], differing
    needed = {path for path in theirs if path.parts[0] != "checkpoints" or not path.parts[1] < last}
    assert (missing := needed - ours.keys()) == set(), missing


LOGS = {"events.jsonl", "lock"}


def hidden_files(run: Path) -> list[str]:
    return sorted(str(path.relative_to(run)) for path in run.rglob(".*"))


def events_of(run: Path) -> list[dict[str, object]]:
    """Return the events; every line must be one."""
    lines = (run / "events.jsonl").read_bytes().decode().split("\n")
    assert lines.pop() == ""
    return [json.loads(line, parse_constant=refuse) for line in lines]


def refuse(constant: str) -> object:
    raise AssertionError(f"{constant} is no JSON")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    train = letters(1, 120)
    for name, lines in (("train", train), ("valid", [line for line in letters(2, 20) if line not in train][:4])):
        write_lines(folder / f"{name}.src", lines)
        write_lines(folder / f"{name}.tgt", [line[::-1] for line in lines])
    return folder


def arguments(corpus: Path) -> list[str]:
    sides = [("--source", "train.src"), ("--target", "train.tgt")]
    sides += [("--valid-source", "valid.src"), ("--valid-target", "valid.tgt")]
    return ["train", *(str(word) for option, name in sides for word in (option, corpus / name)), "--preset", "tiny"]


@pytest.fixture(scope="session")
def training(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Training]:
    folder = tmp_path_factory.mktemp("warm")
    command = [*arguments(corpus), *SETTINGS]
    warm = Warm(folder, [*command, "--out", str(folder / "warm")])
    # Pass the vocabulary: learning it in each of hundreds of trainings would test nothing more.
    command += ["--set", f"text.tokenizer={folder / 'warm' / 'tokenizer.model'}"]
    warm.heed("--version")
    began = time.monotonic()
    ended = warm.heed(*command, "--out", folder / "whole")
    assert ended.code == 0, ended.said
    yield Training(warm, command, folder / "whole", time.monotonic() - began)
    warm.close()


# --- system calls -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """Describe the `nth` system call of a kind that a process makes."""

    kind: str
    nth: int
    line: str

    def __str__(self) -> str:
        return f"{self.kind} number {self.nth}: {self.line}"


CHANGING = (
    "open openat creat write pwrite64 writev pwritev pwritev2 truncate ftruncate fallocate copy_file_range sendfile "
    "fsync fdatasync sync_file_range rename renameat renameat2 mkdir mkdirat unlink unlinkat rmdir link linkat symlink "
    "symlinkat"
).split()


def under_strace(process: Process, log: Path, *options: str) -> Ended:
    """Let a held process run under strace."""
    command = ["strace", "-f", "-y", "-s", "0", "-o", str(log), *options, "-p", str(process.pid)]
    with Started(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        assert "attached" in (first := strace.stderr.readline()), first
        process.go()
        ended = process.wait()
        strace.stderr.read()
    return ended


def changes_of(process: Process, run: Path, log: Path) -> list[Call]:
    """Return all system calls by which a held process changes (or flushes) a run folder or its name, in order."""
    ended = under_strace(process, log, "-e", "trace=" + ",".join(CHANGING))
    assert ended.code == 0, ended.said
    counts: dict[str, int] = {}
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if call := re.match(r"\d+ +(\w+)\((.*)", line):
            kind = call[1]
            counts[kind] = counts.get(kind, 0) + 1
            if re.search(rf'{run.parent}(>\)|/({run.name}|\.{run.name}\.\w+)[/>"])', call[2]) and (
                kind != "openat" or "O_CREAT" in call[2]
            ):
                found.append(Call(kind, counts[kind], call[2]))
    return found


@pytest.fixture(scope="session")
def strace(training: Training, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip the test if processes cannot be traced."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (apt install strace)")
    log = tmp_path_factory.mktemp("strace") / "log"
    process = training.warm.start("--version", held=True)
    probe = subprocess.run(
        ["timeout", "1", "strace", "-o", log, "-p", str(process.pid)], stderr=subprocess.PIPE, text=True
    )
    process.go()
    process.wait()
    if "attached" not in probe.stderr:
        pytest.skip(f"this system lets no process trace another: {probe.stderr.strip()}")


@pytest.fixture(scope="session")
def calls(training: Training, strace: None, tmp_path_factory: pytest.TempPathFactory) -> list[Call]:
    """Return every call by which the small training changes its run folder."""
    folder = tmp_path_factory.mktemp("calls")
    found = changes_of(training.start(folder / "run", held=True), folder / "run", folder / "log")
    # At least the four saves, two deletions, two writes of best.json, and the average.
    assert len(found) >= 90
    assert {"openat", "write", "fsync", "rename", "mkdir", "unlinkat", "rmdir"} <= {call.kind for call in found}
    return found


def find(calls: list[Call], kind: str, text: str) -> Call:
    return next(call for call in calls if call.kind == kind and text in call.line)


def inject(call: Call, effect: str, times: int = 1) -> list[str]:
    """Return the options of strace to inject an effect, such as `error=ENOSPC`, into `times` calls from this one on."""
    when = f"{call.nth}..{call.nth + times - 1}"
    return ["-e", f"trace={call.kind}", "-e", f"inject={call.kind}:{effect}:when={when}"]
