"""Start two trainings in one folder."""

import signal
import socket
import time
from pathlib import Path

from tests.faults.conftest import Training, assert_same_run


def test_a_second_training_is_refused_until_the_first_has_gone(training: Training, tmp_path: Path) -> None:
    long = ["--set", "train.max_steps=300", "--set", "train.patience=0"]
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert training.train(whole, *long).code == 0
    first = training.start(run, *long)
    while "step 2/" not in first.said():
        time.sleep(0.01)
    second = training.resume(run)
    assert second.code == 1, second.said
    assert f"process {first.pid} on {socket.gethostname()}" in second.said
    again = training.train(run, *long)
    assert again.code == 1 and str(run) in again.said
    first.send(signal.SIGKILL)
    assert first.wait().code == -signal.SIGKILL  # the first is unaffected
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert_same_run(run, whole)
