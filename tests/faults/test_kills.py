"""Kill -9 a training at random moments, again and again, until it is done."""

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, ENVIRONMENT
from tests.faults.conftest import Training, assert_same_run, events_of


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_random_moments(training: Training, seed: int, tmp_path: Path) -> None:
    """Make five successful kills in each of six runs."""
    killed_at_random(training, training.whole, [], 5, 0.8 * training.seconds, seed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_kills(training: Training, tmp_path: Path) -> None:
    """Kill longer trainings, with more to interrupt."""
    long = ["--set", "train.max_steps=60", "--set", "train.save_every=4", "--set", "train.validate_every=10"]
    began = time.monotonic()
    ended = training.train(tmp_path / "whole", *long)
    assert ended.code == 0, ended.said
    seconds = time.monotonic() - began
    killed_at_random(training, tmp_path / "whole", long, 200, 0.5 * seconds, 17, tmp_path)


def killed_at_random(
    training: Training, whole: Path, more: list[str], n: int, seconds: float, seed: int, folder: Path
) -> None:
    """Kill trainings until `n` kills have hit, resuming each until it is done."""
    chance, run, finished = random.Random(seed), folder / "run", 0
    phases: list[str] = []
    while len(phases) < n:
        words = ["--resume", run] if (run / "config.json").exists() else [*training.arguments[1:], *more, "--out", run]
        before = told_by(run)
        process = training.warm.start("train", *words)
        time.sleep(chance.uniform(0, seconds))
        process.send(signal.SIGKILL)
        ended = process.wait()
        if ended.code == 0:  # it finished first: start another
            assert_same_run(run, whole)
            shutil.rmtree(run)
            finished += 1
            continue
        assert ended.code == -signal.SIGKILL, ended.said
        phases.append(phase_of(run, before))
    ended = training.resume(run) if (run / "config.json").exists() else training.train(run, *more)
    assert ended.code == 0, ended.said
    assert_same_run(run, whole)
    counts = {phase: phases.count(phase) for phase in sorted(set(phases))}
    print(f"{n} kills hit a living process, in {finished + 1} runs: {counts}")


def told_by(run: Path) -> int:
    return len(events_of(run)) if (run / "events.jsonl").exists() else 0


def phase_of(run: Path, before: int) -> str:
    """Return the last event of the process."""
    return f"after {events_of(run)[-1]['event']}" if told_by(run) > before else "start-up"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_kills_of_the_real_command(training: Training, tmp_path: Path) -> None:
    """Kill newly started processes, from their first instruction to their last."""
    chance, kills, finished = random.Random(17), 0, 0
    began = time.monotonic()
    run = tmp_path / "run-0"
    subprocess.run([COMMAND, *training.arguments, "--out", run], env=ENVIRONMENT, check=True, capture_output=True)
    training.assert_finished(run)
    seconds = time.monotonic() - began
    phases: dict[str, int] = {}
    while kills < 200 or finished == 0:
        run = tmp_path / f"run-{finished + 1}"
        words = ["train", "--resume", run] if (run / "config.json").exists() else [*training.arguments, "--out", run]
        before = told_by(run)
        process = subprocess.Popen(
            [COMMAND, *map(str, words)], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        # Start-up takes most of the time; most kills should come later.
        moment = chance.uniform(0.0, 1.1) if chance.random() < 0.3 else chance.uniform(0.6, 1.1)
        try:
            said = process.communicate(timeout=moment * seconds)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[1]
        if process.returncode == 0:
            training.assert_finished(run)
            finished += 1
            continue
        assert process.returncode == -signal.SIGKILL, said
        kills += 1
        phase = phase_of(run, before)
        phases[phase] = phases.get(phase, 0) + 1
    if run.exists():
        ended = training.go_on(run)
        assert ended.code == 0, ended.said
        assert_same_run(run, training.whole)
        finished += 1
    print(f"{kills} kills hit a living process, in {finished} runs: {phases}")
