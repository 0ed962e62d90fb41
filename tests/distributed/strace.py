"""Trace the system calls of a running process."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import Started


def attach(pid: int, log: Path, *options: str) -> "subprocess.Popen[str]":
    """Attach strace to a process and everything it starts."""
    command = ["strace", "-f", "-y", "-s", "0", "-o", str(log), *options, "-p", str(pid)]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    first = tracer.stderr.readline()
    assert "attached" in first, first
    return tracer


def skip_without_strace() -> None:
    """Skip the test if processes cannot be traced."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed (apt install strace)")
    with Started([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        probe = subprocess.run(
            ["timeout", "1", "strace", "-o", "/dev/null", "-p", str(process.pid)], stderr=subprocess.PIPE, text=True
        )
        process.kill()
    if "attached" not in probe.stderr:
        pytest.skip(f"this system lets no process trace another: {probe.stderr.strip()}")
