"""Close the pipe or the terminal that a training prints to: it must not stop."""

import signal
import subprocess
from pathlib import Path

from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.faults.conftest import Training
from tests.processes import Started


def test_a_reader_who_leaves_stops_no_training(training: Training, tmp_path: Path) -> None:
    """As in `heed train ... 2>&1 | head -1`."""
    run = tmp_path / "run"
    command = [COMMAND, *training.arguments, "--out", run]
    with Started(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
    training.assert_finished(run)


def test_with_nohup_a_closed_terminal_stops_no_training(training: Training, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["nohup", COMMAND, *training.arguments, "--out", run, "--set", "train.max_steps=40"]
    with Started(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"step 2/" in line:
                process.send_signal(signal.SIGHUP)
    assert process.returncode == 0
    assert (run / "checkpoints" / "step-00000040").is_dir()


def test_a_scripts_background_job_saves_when_it_is_interrupted(training: Training, tmp_path: Path) -> None:
    """A script's `&` starts it with SIGINT ignored; a SIGINT sent anyway (torchrun, `kill -INT`) must still count."""
    run = tmp_path / "run"
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    command = [*ignoring, COMMAND, *training.arguments, "--out", run, "--set", "train.max_steps=100000"]
    said = b""
    with Started(
        command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            said += line
            if b"step 2/" in line:
                process.send_signal(signal.SIGINT)
    assert process.returncode == 130, said
    assert b"stopped and saved at step" in said
    assert any((run / "checkpoints").glob("step-*"))
