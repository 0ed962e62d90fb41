"""Start processes as from a fresh terminal, and make sure that none outlives its test.

Every process that a test run starts inherits a mark in its environment. The mark identifies it, whatever its session
and parent, so that it can be killed: after each test, at the end of the run, and when the run itself is killed.
Processes are found in /proc, so this works on Linux only; elsewhere nothing is found.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import AnyStr

_NAME = "HEED_TEST_RUN"
_GRACE_SECONDS = 5.0  # for processes that are about to end by themselves
_PR_SET_PDEATHSIG = 1

_strangers: set[int] = set()  # processes known not to have our mark
_guards: list[subprocess.Popen[bytes]] = []


class Started(subprocess.Popen[AnyStr]):
    """A process that is killed, and not waited for, when the `with` block fails."""

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, traceback)


def forget_inherited_signals() -> None:
    """Make this process and all it starts react to signals as if started from a terminal.

    A script's `&` and `nohup` start programs with signals ignored, which everything they start inherits in turn.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(number) == signal.SIG_IGN:
            # Still ignored here, as `nohup` asks; but unlike SIG_IGN, a handler is not inherited.
            signal.signal(number, lambda number, frame: None)


def mark_all_that_start() -> None:
    """Mark every process that this one starts, and make sure that none outlives it."""
    mark = uuid.uuid4().hex
    unmarked = {name: value for name, value in os.environ.items() if name != _NAME}
    os.environ[_NAME] = mark
    if sys.platform == "linux":
        _guards.append(
            subprocess.Popen(
                [sys.executable, __file__, str(os.getpid()), f"{_NAME}={mark}"],
                env=unmarked,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that it survives what kills the test run
            )
        )


def started_here() -> set[int]:
    """Return the living processes that this test run has started."""
    return set(marked(f"{_NAME}={os.environ[_NAME]}", _strangers))


def left_since(before: set[int]) -> list[str]:
    """Kill the processes started since `before` that do not end by themselves; return their command lines."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := started_here() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    named = [f"{pid}: {_command_line(pid)}" for pid in sorted(left)]
    while left:
        _kill(left)
        time.sleep(0.02)
        left = started_here() - before
    return named


def all_left() -> list[str]:
    """Kill everything that this test run has started."""
    _strangers.clear()  # the number may have been reused since
    return left_since(set())


def marked(mark: str, strangers: set[int] | None = None) -> dict[int, list[str]]:
    """Return the processes with a mark (`NAME=value`) in their environment, and their environments.

    Processes in `strangers` are skipped; others without the mark are added to it.
    """
    strangers = set() if strangers is None else strangers
    found = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdigit() and int(name) not in strangers:
            with contextlib.suppress(OSError):  # it has ended, or is not ours
                words = Path(f"/proc/{name}/environ").read_bytes().decode(errors="replace").split("\0")
                if mark in words:
                    found[int(name)] = words
                else:
                    strangers.add(int(name))
    return found


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "has ended"


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _guard(parent: int, mark: str) -> None:
    """Wait until the test run has ended, in whatever way, and kill its remaining processes."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)
    if os.getppid() == parent:  # it had not ended before the watch began
        signal.sigwait([signal.SIGUSR1])
    while left := set(marked(mark)):
        _kill(left)
        time.sleep(0.02)


if __name__ == "__main__":
    _guard(int(sys.argv[1]), sys.argv[2])
