"""Lock run folders in real processes."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import heed.lock
from heed.errors import CheckpointError
from heed.lock import FolderLock
from tests.processes import Started

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock")

HOLD = """
import sys
from pathlib import Path
from heed.lock import FolderLock
with FolderLock.acquire(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that locks `tmp_path`; one line makes it release the lock, another one exit."""
    with Started(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def waiting(script: str, folder: Path) -> Iterator[None]:
    """Start a process that has run the script in the folder, and keep it running."""
    script += "; print('ready', flush=True); input()"
    with Started(
        [sys.executable, "-c", script], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield
            assert process.poll() is None
        finally:
            process.kill()


def test_a_held_folder_is_refused_and_the_holder_named(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    assert FolderLock.is_held(tmp_path)
    with pytest.raises(CheckpointError) as caught:
        FolderLock.acquire(tmp_path)
    message = str(caught.value)
    assert str(tmp_path) in message and f"process {holder.pid} on {socket.gethostname()}" in message
    assert FolderLock.is_held(tmp_path)  # the attempt did not take it away


def test_it_is_free_again_when_the_holder_releases(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    assert holder.stdin is not None and holder.stdout is not None
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "released\n"
    assert holder.poll() is None  # released, not ended
    assert not FolderLock.is_held(tmp_path)
    FolderLock.acquire(tmp_path).release()


def test_it_is_free_again_when_the_holder_is_killed(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    assert holder.wait() == -signal.SIGKILL
    assert json.loads((tmp_path / "lock").read_text())["pid"] == holder.pid  # the file still says so
    assert not FolderLock.is_held(tmp_path)
    with FolderLock.acquire(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


def test_the_lock_is_flock_on_the_file_named_lock(tmp_path: Path) -> None:
    """Checked with `flock` itself in another process, as any program might do."""
    probe = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", probe, str(tmp_path / "lock")]
    with FolderLock.acquire(tmp_path):
        refused = subprocess.run(command, capture_output=True, text=True)
        assert "BlockingIOError" in refused.stderr
    subprocess.run(command, check=True)


def test_the_same_process_cannot_have_it_twice(tmp_path: Path) -> None:
    with FolderLock.acquire(tmp_path) as lock:
        with pytest.raises(CheckpointError, match=f"process {os.getpid()}"):
            FolderLock.acquire(tmp_path)
    lock.release()  # a second time does nothing
    assert not FolderLock.is_held(tmp_path)


def test_a_child_started_meanwhile_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = FolderLock.acquire(tmp_path)
    with waiting("pass", tmp_path):
        lock.release()
        assert not FolderLock.is_held(tmp_path)


def test_a_deleted_file_locks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder deletes it after we have opened it and before we lock it: we make a new one, as others would."""
    first = FolderLock.acquire(tmp_path)
    lock, opened = heed.lock._lock, []

    def late(descriptor: int, folder: Path) -> None:
        opened.append(os.fstat(descriptor).st_ino)
        if len(opened) == 1:
            first.delete(tmp_path)
            assert list(tmp_path.iterdir()) == []
        lock(descriptor, folder)

    monkeypatch.setattr(heed.lock, "_lock", late)
    with FolderLock.acquire(tmp_path):
        assert len(opened) == 2 and (tmp_path / "lock").stat().st_ino == opened[1]
        assert FolderLock.is_held(tmp_path)


def test_asking_leaves_no_trace_and_disturbs_nobody(tmp_path: Path) -> None:
    assert not FolderLock.is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []
    FolderLock.acquire(tmp_path).release()
    # `is_held` takes a shared lock for an instant, which other calls of `is_held` must not notice.
    with waiting("import fcntl; file = open('lock'); fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)", tmp_path):
        assert not FolderLock.is_held(tmp_path)


def test_a_lock_file_nobody_can_read_is_still_a_lock(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    (tmp_path / "lock").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match="in use by another process"):
        FolderLock.acquire(tmp_path)
