"""Check that only the first of several processes writes, holds the lock and prints."""

import json
import re
from pathlib import Path

import pytest

from heed.lock import FolderLock
from tests.distributed.conftest import LONG, SLOW_SHARDED, Training, wait_for_step
from tests.distributed.strace import attach, skip_without_strace

CHANGING = (
    "open,openat,creat,write,pwrite64,writev,truncate,ftruncate,fallocate,fsync,fdatasync,flock,rename,renameat,"
    "renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,chmod,fchmod,utimensat"
)


def changes(log: Path, run: Path) -> list[str]:
    """Return the calls that change a run folder or its parent, or open a file there for writing."""
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        call = re.match(r"\d+ +(\w+)\((.*)", line)
        if call is None or not re.search(rf'{run.parent}/\.?{run.name}[/.>"]', call[2]):
            continue
        if call[1] in ("open", "openat") and not re.search("O_CREAT|O_WRONLY|O_RDWR|O_TRUNC", call[2]):
            continue
        found.append(line)
    return found


@pytest.mark.parametrize("kind", [[], SLOW_SHARDED], ids=["ddp", "sharded"])
def test_the_second_process_writes_nothing(training: Training, tmp_path: Path, kind: list[str]) -> None:
    skip_without_strace()
    run, gate, logs = tmp_path / "run", tmp_path / "gate", [tmp_path / f"strace-{rank}" for rank in (0, 1)]
    mean = ["--set", "train.ema_decay=0.9", "--set", "train.tensorboard=true"]
    group = training.start(2, run, *kind, *mean, each=[{"HEED_TEST_GATE": str(gate)}] * 2)
    tracers = [attach(pid, log, "-e", f"trace={CHANGING}") for pid, log in zip(group.pids, logs, strict=True)]
    gate.touch()
    ended = group.wait()
    for tracer in tracers:
        tracer.communicate()
    assert ended.codes == [0, 0], ended.said
    assert changes(logs[1], run) == []
    assert len(changes(logs[0], run)) > 50  # so such calls are visible
    assert "openat" in logs[1].read_text()


def test_the_first_holds_the_lock_and_speaks(training: Training, tmp_path: Path) -> None:
    run = tmp_path / "run"
    group = training.start(2, run, *LONG)
    wait_for_step(run, 2, group)
    assert FolderLock.is_held(run)
    assert json.loads((run / "lock").read_text())["pid"] == group.pids[0]
    ended = group.wait()
    assert ended.codes == [0, 0] and not FolderLock.is_held(run)
    assert ended.said[1] == ""
    said = ended.said[0].splitlines()
    assert len([line for line in said if line.startswith("step 7/40 ")]) == 1
    assert len([line for line in said if line.startswith("done after 40 steps")]) == 1


def test_a_folder_in_use_is_refused(training: Training, tmp_path: Path) -> None:
    run = tmp_path / "run"
    longer = ["--set", "train.max_steps=400", "--set", "train.patience=0"]  # than the second one takes to start
    group = training.start(2, run, *LONG, *longer)
    wait_for_step(run, 1, group)
    ended = training.server.start(2, "train", "--resume", run).wait(30)
    assert 0 not in ended.codes
    assert "".join(ended.said).count(f"in use by process {group.pids[0]} on") == 1
    assert group.wait().codes == [0, 0]
