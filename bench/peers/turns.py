"""The peer's side of a run: compute when told to, otherwise sleep. Standard library only.

A line on standard input is a task ("" if the peer has only one); the answer is a line of JSON. Output of the software
itself goes to standard error, which the driver keeps.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


class Turns:
    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)

    def wait(self, **answer: Any) -> str:
        """Send an answer and sleep until the next task. After the last one, exit."""
        answer["memory"] = _peak_memory()
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()
        task = sys.stdin.readline()
        if not task:
            os._exit(0)  # skips the final validation and checkpoint of a toolkit
        return task.strip()


class UpdateTurns(Turns):
    """Take turns of several updates each. The training calls `before_update` between two updates."""

    def __init__(self, per_round: int) -> None:
        super().__init__()
        self._per_round = per_round
        self._updates = self._tokens = 0
        self._began = 0.0

    def before_update(self, n_tokens: int) -> None:
        """Count `n_tokens`, the target tokens of the next batch, including end tokens but not padding."""
        if self._updates % self._per_round == 0:
            seconds = time.perf_counter() - self._began
            self.wait(**({"seconds": seconds, "tokens": self._tokens} if self._updates else {}))
            self._tokens = 0
            self._began = time.perf_counter()
        self._updates += 1
        self._tokens += n_tokens


def _peak_memory() -> int:
    """Return the peak memory of this process in bytes. (getrusage would include the driver's at the fork.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def read_job() -> dict[str, Any]:
    """Read the job that the driver wrote for all peers."""
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return job
