"""Run the peers as processes that take turns."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).parent


class PeerError(Exception):
    """A peer exited instead of answering."""


@dataclass(frozen=True)
class Peer:
    name: str
    environment: str  # "" is the driver's own, which has heed
    script: str
    arguments: tuple[str, ...] = ()


@dataclass
class Process:
    """A running peer and its answers: for each task, the rounds that count."""

    peer: Peer
    popen: subprocess.Popen[str]
    log: Path
    answers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failure: str = ""

    def ask(self, task: str) -> None:
        assert self.popen.stdin
        try:
            self.popen.stdin.write(task + "\n")
            self.popen.stdin.flush()
        except BrokenPipeError:
            pass  # `answer` reports why

    def answer(self) -> dict[str, Any]:
        assert self.popen.stdout
        line = self.popen.stdout.readline()
        if not line:
            said = self.log.read_text(encoding="utf-8", errors="replace").strip()
            raise PeerError(f"{self.peer.name} ended with exit code {self.popen.wait()}:\n{said[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)  # its own session, so only its own processes
        except ProcessLookupError:
            pass
        with suppress(BrokenPipeError), self.popen:  # closes the pipes and waits
            pass


class Running:
    """All peers of a run. A peer that fails takes no further part, and the table says so."""

    def __init__(
        self, peers: list[Peer], pythons: dict[Peer, Path], job: Path, folder: Path, keep_freed_memory: bool = False
    ) -> None:
        self.processes: list[Process] = []
        self._peers, self._pythons, self._job, self._folder = peers, pythons, job, folder
        self._environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
        if keep_freed_memory:  # glibc's, as heed.allocator sets them
            self._environment |= {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1"}

    def __enter__(self) -> "Running":
        for number, peer in enumerate(self._peers):
            log = self._folder / f"peer-{number}.log"
            with open(log, "w", encoding="utf-8") as written:
                popen = subprocess.Popen(
                    [self._pythons.get(peer, sys.executable), HERE / peer.script, self._job, *peer.arguments],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=written,
                    text=True,
                    cwd=self._folder,
                    env=self._environment,
                    start_new_session=True,
                )
            self.processes.append(Process(peer, popen, log))
            self._keep(self.processes[-1], "getting ready", None)  # one at a time, because they share the cores
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self.processes:
            process.end()

    def turn(self, title: str, task: str = "", warm_up: bool = False) -> None:
        """Let each peer compute in turn."""
        for process in self.processes:
            if not process.failure:
                process.ask(task)
                self._keep(process, title, None if warm_up else task)

    def of(self, name: str) -> Process:
        return next(process for process in self.processes if process.peer.name == name)

    def _keep(self, process: Process, title: str, task: str | None) -> None:
        began = time.perf_counter()
        try:
            answer = process.answer()
        except PeerError as error:
            process.failure = str(error)
            print(process.failure, file=sys.stderr)
            return
        print(f"{title}: {process.peer.name}, {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
        if task is not None:
            process.answers.setdefault(task, []).append(answer)
