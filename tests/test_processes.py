"""Kill real test runs, started as background jobs of a script, and check that their processes end."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.data.corpora import is_running
from tests.processes import Started

ROOT = Path(__file__).parents[1]
TESTS = """
import signal, subprocess, sys, time
from pathlib import Path

def start():
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    Path(__file__).with_name("pid").write_text(str(process.pid))
    return process

def test_signals_end_what_a_test_starts():
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1):
        process = start()
        process.send_signal(number)
        assert process.wait(10) == -number

def test_that_leaves_a_process():
    start()

def test_that_is_killed():
    start()
    time.sleep(300)
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def a_test_run(folder: Path, *options: str) -> Started[str]:
    """Run a few tests with the project's set-up, as a background job of a script."""
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "/dev/null"]
    ignoring = ["sh", "-c", "trap '' INT HUP TERM USR1; exec \"$@\"", "sh"]
    return Started(
        [*ignoring, *command, "--rootdir", str(folder), *options, str(folder / "test_some.py")],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_process_left_behind_is_ended_and_told_of(tmp_path: Path) -> None:
    with a_test_run(tmp_path, "-k", "not killed") as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "2 passed, 1 deselected, 1 error" in said
    pid = (tmp_path / "pid").read_text()
    assert "this test has left processes behind" in said and f"{pid}: sleep 300" in said
    assert not is_running(int(pid))


def test_nothing_outlives_a_test_run_that_is_killed(tmp_path: Path) -> None:
    with a_test_run(tmp_path, "-k", "killed") as process:
        while not ((tmp_path / "pid").exists() and (pid := (tmp_path / "pid").read_text())):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 60
        while is_running(int(pid)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
