"""Train in several processes: forked quickly as `torchrun` would start them, or started by the real `torchrun`.

No process outlives its test: forked ones are killed by their number, and those of `torchrun`, which starts each in
its own session, are found by a mark in their environment.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
import torch

from heed.checkpoint import read_all_tensors
from tests.cli.conftest import ENVIRONMENT, letters, settings, write_lines
from tests.distributed.warm import RUNNING
from tests.processes import marked

T = TypeVar("T")
Whole = Callable[..., Path]

ROOT = Path(__file__).parents[2]
LIMIT = 60.0  # seconds; a training takes a few, so only a hang lasts that long
_MARK = "HEED_TEST_MARK"

# Several unequal micro-batches in each process, saved at 2, 4 and 6, validated at 3 and 6.
CHANGES = dict(
    model__max_length=12,
    train__max_steps=6,
    train__batch_tokens=500,
    train__micro_batch_tokens=60,
    train__save_every=2,
    train__validate_every=3,
    train__keep_checkpoints=5,
    train__average_last=2,
    train__log_every=1,
    train__warmup_steps=4,
    decode__beam=2,
)
EXACT = {"HEED_TEST_FLOAT64": "1"}
PLAIN = ["--set", "model.dropout=0"]
SHARDED = ["--set", "train.sharded=true"]
SLOW_SHARDED = pytest.param(SHARDED, marks=pytest.mark.slow)
LONG = [
    *("--set", "train.max_steps=40", "--set", "train.save_every=10", "--set", "train.validate_every=20"),
    *("--set", "train.micro_batch_tokens=150"),
]


@dataclass(frozen=True)
class Ended:
    """Hold the exit code and the output of each process."""

    codes: list[int]  # negative: the signal it died of
    said: list[str]


class Group:
    """Control the processes of one training, in order of their rank."""

    def __init__(self, server: "Server", pids: list[int], said: list[Path]) -> None:
        self._server, self.pids, self._said = server, pids, said
        self._codes: dict[int, int] = {}

    def said(self, rank: int = 0) -> str:
        return self._said[rank].read_text(encoding="utf-8") if self._said[rank].exists() else ""

    def send(self, number: signal.Signals, *ranks: int) -> None:
        """Send a signal to these ranks, or to all."""
        for rank in ranks or range(len(self.pids)):
            if self._code(rank) == RUNNING:  # not reaped, so its number is not reused
                os.kill(self.pids[rank], number)

    def has_ended(self) -> bool:
        return self._code(0) != RUNNING

    def wait(self, limit: float = LIMIT) -> Ended:
        deadline = time.monotonic() + limit
        while RUNNING in (codes := [self._code(rank) for rank in range(len(self.pids))]):
            if time.monotonic() > deadline:
                self.kill()
                said = "\n".join(f"--- {rank}: {self.said(rank)[-2000:]}" for rank in range(len(self.pids)))
                raise AssertionError(f"hangs: after {limit:.0f} s the exit codes are {codes}\n{said}")
            time.sleep(0.02)
        return Ended(codes, [self.said(rank) for rank in range(len(self.pids))])

    def kill(self) -> None:
        """Kill all processes, as a power cut would."""
        self.send(signal.SIGKILL)
        while RUNNING in [self._code(rank) for rank in range(len(self.pids))]:
            time.sleep(0.01)

    def _code(self, rank: int) -> int:
        if self._codes.get(rank, RUNNING) == RUNNING:
            self._codes[rank] = self._server.order("poll", self.pids[rank])
        return self._codes[rank]


class Server:
    """Start groups of processes that have everything imported (see warm.py)."""

    def __init__(self, folder: Path, warm_up: list[str]) -> None:
        self._folder, self._n, self.groups = folder, 0, list[Group]()
        with open(folder / "server.log", "wb") as log:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.distributed.warm", json.dumps(warm_up)],
                cwd=ROOT,
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def order(self, *order: object) -> int:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, (self._folder / "server.log").read_text(encoding="utf-8")
        return int(answer)

    def start(self, n: int, *arguments: object, each: list[dict[str, str]] | None = None) -> Group:
        """Start `heed` in n processes; `each` adds to the environment of each."""
        self._n += 1
        said = [self._folder / f"said-{self._n}-{rank}" for rank in range(n)]
        port, pids = free_port(), []
        for rank in range(n):
            environment = {} if n == 1 else torchrun_environment(rank, n, port)
            environment |= each[rank] if each else {}
            words = [str(word) for word in arguments]
            pids.append(self.order("start", environment, words, str(said[rank])))
        self.groups.append(Group(self, pids, said))
        return self.groups[-1]

    def close(self) -> None:
        self._server.kill()
        self._server.communicate()


def torchrun_environment(rank: int, n: int, port: int) -> dict[str, str]:
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n, "MASTER_PORT": port}
    return {"MASTER_ADDR": "127.0.0.1", **{key: str(value) for key, value in numbers.items()}}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Torchrun:
    """Control a real `torchrun` and everything it has started."""

    def __init__(self, said: Path, command: list[str], environment: dict[str, str] | None = None) -> None:
        self._said, self._mark = said, f"{_MARK}={uuid.uuid4().hex}"
        name, value = self._mark.split("=")
        with open(said, "ab") as stream:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**ENVIRONMENT, **(environment or {}), name: value},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def find_worker(self, rank: int) -> int | None:
        """Return the process of a rank, or None."""
        found = [pid for pid, words in marked(self._mark).items() if f"RANK={rank}" in words]
        return os.getsid(found[0]) if found else None  # torchrun starts every process as a session leader

    def worker(self, rank: int) -> int:
        """Wait for the process of a rank, and return it."""
        return wait_for(lambda: self.find_worker(rank), f"process of rank {rank}", self)

    def wait(self, limit: float = 2 * LIMIT) -> int:
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"hangs after {limit:.0f} s\n{self.said()[-3000:]}") from None

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def living(self) -> list[int]:
        return list(marked(self._mark))

    def kill(self) -> None:
        while living := self.living():
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        self.process.wait()


def wait_for(find: Callable[[], T | None], what: str, of: "Group | Torchrun | None" = None, limit: float = LIMIT) -> T:
    """Wait until `find` returns something; fail early if the process `of` ends before."""
    deadline = time.monotonic() + limit
    while not (found := find()):
        if time.monotonic() > deadline or (of is not None and of.has_ended() and not find()):
            raise AssertionError(f"no {what}; {'' if of is None else of.said()}")
        time.sleep(0.01)
    return found


@dataclass(frozen=True)
class Training:
    """Describe a small training: the command's arguments without --out, and ways to run it."""

    server: Server
    arguments: list[str]
    folder: Path

    def start(self, n: int, out: Path, *more: object, each: list[dict[str, str]] | None = None) -> Group:
        return self.server.start(n, *self.arguments, *more, "--out", out, each=each)

    def train(self, n: int, out: Path, *more: object, each: list[dict[str, str]] | None = None) -> Path:
        ended = self.start(n, out, *more, each=each).wait()
        assert ended.codes == [0] * n, ended.said
        return out

    def resume(self, n: int, out: Path, *more: object, each: list[dict[str, str]] | None = None) -> Ended:
        ended = self.server.start(n, "train", "--resume", out, *more, each=each).wait()
        assert ended.codes == [0] * n, ended.said
        return ended


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write letters, and the same reversed."""
    folder = tmp_path_factory.mktemp("corpus")
    train = letters(1, 120)
    for name, lines in (("train", train), ("valid", [line for line in letters(2, 20) if line not in train][:5])):
        write_pairs(folder, name, lines)
    return folder


def write_pairs(folder: Path, name: str, lines: list[str]) -> None:
    write_lines(folder / f"{name}.src", lines)
    write_lines(folder / f"{name}.tgt", [line[::-1] for line in lines])


def texts(folder: Path, *names: str) -> list[str]:
    """Return the options that name the texts of a folder."""
    prefix = {"train": "--", "valid": "--valid-"}
    return [
        str(word)
        for name in names
        for side, suffix in (("source", "src"), ("target", "tgt"))
        for word in (f"{prefix[name]}{side}", folder / f"{name}.{suffix}")
    ]


@pytest.fixture(scope="session")
def _server(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    folder = tmp_path_factory.mktemp("warm")
    warm_up = ["train", *texts(corpus, "train", "valid"), "--preset", "tiny", *settings(**CHANGES)]
    server = Server(folder, [*warm_up, "--out", str(folder / "warm")])
    server.order("ready")
    yield server, folder
    server.close()


@pytest.fixture
def training(_server: tuple[Server, Path], corpus: Path) -> Iterator[Training]:
    server, folder = _server
    yield Training(server, arguments(corpus, folder), folder)
    while server.groups:
        server.groups.pop().kill()


@pytest.fixture(scope="session")
def whole(_server: tuple[Server, Path], corpus: Path) -> Whole:
    """Return a function that trains an uninterrupted run in n processes, once for each kind."""
    server, folder = _server
    made: dict[tuple[object, ...], Path] = {}

    def make(n: int, *more: str, exact: bool = False) -> Path:
        key = (n, exact, *more)
        if key not in made:
            out = folder / f"whole-{len(made)}"
            each = [EXACT] * n if exact else None
            made[key] = Training(server, arguments(corpus, folder), folder).train(n, out, *more, each=each)
        return made[key]

    return make


def arguments(corpus: Path, folder: Path) -> list[str]:
    # Pass the vocabulary: learning it in each training would test nothing more.
    vocabulary = ["--set", f"text.tokenizer={folder / 'warm' / 'tokenizer.model'}"]
    return ["train", *texts(corpus, "train", "valid"), "--preset", "tiny", *settings(**CHANGES), *vocabulary]


@pytest.fixture
def torchrun(tmp_path: Path) -> Iterator[Callable[..., Torchrun]]:
    """Start `torchrun --standalone OPTIONS -m heed ...`."""
    started: list[Torchrun] = []

    def start(n: int, *arguments: object, options: list[str] | None = None, **environment: str) -> Torchrun:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n}"]
        command += [*(options or []), "-m", "heed", *map(str, arguments)]
        started.append(Torchrun(tmp_path / f"torchrun-{len(started)}.log", command, environment))
        return started[-1]

    yield start
    for one in started:
        one.kill()


# --- what a run has come to -------------------------------------------------------------------------------


def state_of(run: Path, step: int) -> dict[str, dict[str, torch.Tensor]]:
    return read_all_tensors(run / "checkpoints" / f"step-{step:08d}")


def same_bytes(one: Path, other: Path, step: int) -> None:
    """Check that weights and optimizer of a step are identical."""
    for name in ("model.safetensors", "optimizer.safetensors"):
        ours, theirs = ((run / "checkpoints" / f"step-{step:08d}" / name).read_bytes() for run in (one, other))
        if ours != theirs:
            group = name.removesuffix(".safetensors")
            found, expected = state_of(one, step)[group], state_of(other, step)[group]
            worst = max(expected, key=lambda key: float((found[key] - expected[key]).abs().max()))
            difference = float((found[worst] - expected[worst]).abs().max())
            raise AssertionError(f"{name} of step {step} differs, most of all {worst}, by {difference:.3g}")


def assert_same_end(one: Path, other: Path) -> None:
    """Check that last step, best.json and average are identical, and that nothing is left over."""
    last = max((other / "checkpoints").glob("step-*")).name
    same_bytes(one, other, int(last.removeprefix("step-")))
    assert (one / "best.json").read_bytes() == (other / "best.json").read_bytes()
    for average in (other / "checkpoints").glob("average-*"):
        ours = one / "checkpoints" / average.name / "model.safetensors"
        assert ours.read_bytes() == (average / "model.safetensors").read_bytes()
    assert (hidden := sorted(map(str, one.rglob(".*")))) == [], hidden


def events_of(run: Path, kind: str | None = None) -> list[dict[str, object]]:
    path = run / "events.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []  # the last may be incomplete
    records = [json.loads(line) for line in lines]
    return [record for record in records if kind in (None, record["event"])]


def wait_for_step(run: Path, step: int, of: Group | Torchrun) -> None:
    wait_for(lambda: any(int(str(one["step"])) >= step for one in events_of(run, "step")), f"step {step}", of)
