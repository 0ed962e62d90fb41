"""A peer's side of the run: it computes when it is told to, and sleeps meanwhile. Standard library only.

On standard input a line is a task ("" for the only one a peer has); the answer is a line of JSON. What the software
itself prints goes to standard error, which the driver keeps.
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
        """Give an answer, and sleep until the next task. With the last one, the process ends."""
        answer["memory"] = _peak_memory()
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()
        task = sys.stdin.readline()
        if not task:
            os._exit(0)  # without the last validation and checkpoint of a training software
        return task.strip()


class UpdateTurns(Turns):
    """Turns of some updates each. `before_update` is called between two updates, wherever a training has that place."""

    def __init__(self, per_round: int) -> None:
        super().__init__()
        self._per_round = per_round
        self._updates = self._tokens = 0
        self._began = 0.0

    def before_update(self, n_tokens: int) -> None:
        """`n_tokens` are the target tokens of the batch that comes now, the end symbol counted, padding not."""
        if self._updates % self._per_round == 0:
            seconds = time.perf_counter() - self._began
            self.wait(**({"seconds": seconds, "tokens": self._tokens} if self._updates else {}))
            self._tokens = 0
            self._began = time.perf_counter()
        self._updates += 1
        self._tokens += n_tokens


def _peak_memory() -> int:
    """Bytes this program has had at most. (getrusage would also count what the driver had when it started us.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def read_job() -> dict[str, Any]:
    """What the driver wrote for all peers."""
    job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    return job
