"""Kill torchrun before its processes are connected: they exit with a message instead of waiting for ever."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import ENVIRONMENT
from tests.distributed.conftest import Torchrun, Training, free_port, torchrun_environment, wait_for

STARTER = """
import json, subprocess, sys, time
child = subprocess.Popen(json.loads(sys.argv[1]), stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(600)
"""


def has_ended(pid: int) -> bool:
    """Return whether a process is gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("address_book", ["none", "one that nobody else enters"])
def test_a_process_leaves_when_its_parent_is_killed(address_book: str, tmp_path: Path) -> None:
    """The first of two processes, as torchrun would start it, with and without a store that outlives torchrun."""
    port = free_port()
    book = subprocess.Popen([sys.executable, "-c", BOOK, str(port)]) if address_book != "none" else None
    command = [sys.executable, "-m", "heed", "train", "--source", "a.tsv", "--out", str(tmp_path / "run")]
    environment = {**ENVIRONMENT, **torchrun_environment(0, 2, port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    with open(tmp_path / "said", "wb") as said:
        parent = subprocess.Popen(
            [sys.executable, "-c", STARTER, json.dumps(command)],
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
            text=True,
        )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    try:
        if book is not None:  # it waits for a second process, which never starts
            wait_for(lambda: connected(pid, port), "process at the address book")
        parent.kill()
        wait_for(lambda: has_ended(pid), "end of the process")
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        for left in (pid, book.pid if book else pid):
            try:
                os.kill(left, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if book is not None:
            book.wait()
    text = (tmp_path / "said").read_text(encoding="utf-8")
    assert ("torchrun does not answer" if book is None else "is gone, so this process cannot connect") in text
    assert "start" in text and "again" in text and "Traceback" not in text


BOOK = """
import sys, time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), None, True, wait_for_workers=False)
time.sleep(600)
"""


def connected(pid: int, port: int) -> bool:
    """Return whether this process has a connection to the port."""
    tables = (Path(f"/proc/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6"))
    rows = [line.split() for lines in tables for line in lines]
    sockets = {f"socket:[{row[9]}]" for row in rows if int(row[2].rpartition(":")[2], 16) == port}
    try:
        return any(os.readlink(file) in sockets for file in Path(f"/proc/{pid}/fd").iterdir())
    except FileNotFoundError:  # a file has just been closed
        return False


@pytest.mark.slow
def test_torchrun_killed_in_start_up(training: Training, torchrun: Callable[..., Torchrun], tmp_path: Path) -> None:
    started = torchrun(2, *training.arguments, "--out", tmp_path / "run")
    for rank in (0, 1):
        started.worker(rank)
    time.sleep(0.5)
    os.kill(started.process.pid, signal.SIGKILL)
    started.process.wait()
    wait_for(lambda: started.living() == [], "end of all processes")
