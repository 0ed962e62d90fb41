"""`heed runs`, on runs that finished, stopped, died and are running."""

import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from heed.lock import FolderLock

from .conftest import TINY_SETTINGS, Trained, heed, settings, started


def wait_for_step(run: Path, process: subprocess.Popen[bytes], step: int) -> None:
    """Wait until the run has recorded this step."""
    pattern = re.compile(rf'"event": "step", .*"step": {step}\b')
    end = time.monotonic() + 60
    while not ((run / "events.jsonl").exists() and pattern.search((run / "events.jsonl").read_text("utf-8"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def folder(trained: Trained, train_arguments: list[object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """runs/finished, runs/early, and two levels further down interrupted and died."""
    runs = tmp_path_factory.mktemp("here") / "runs"
    shutil.copytree(trained.path, runs / "finished")
    done = heed(
        *train_arguments,
        "--out",
        runs / "early",
        # Its model learns nothing, so the second validation is no better than the first.
        *settings(train__patience=1, train__learning_rate_factor=1e-9, train__max_steps=90),
    )
    assert done.code == 0, done.err
    for name, number in (("interrupted", signal.SIGTERM), ("died", signal.SIGKILL)):
        run = runs / "a" / "b" / name
        words = [*train_arguments, "--out", run, *settings(train__max_steps=100_000)]
        with started(*words, stderr=subprocess.DEVNULL) as process:
            wait_for_step(run, process, 30)
            process.send_signal(number)
            process.communicate(timeout=60)
    return runs


def listed(*arguments: object) -> dict[str, dict[str, object]]:
    done = heed("runs", "--json", *arguments)
    assert done.code == 0, done.err
    return {Path(one["path"]).name: one for one in json.loads(done.out)}


def recorded(run: Path, kind: str) -> list[dict[str, object]]:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text("utf-8").splitlines()]
    return [event for event in events if event["event"] == kind]


def test_every_state_and_its_numbers(folder: Path) -> None:
    found = listed(folder)
    assert {name: one["state"] for name, one in found.items()} == {
        "finished": "finished",
        "early": "stopped early",
        "interrupted": "interrupted",
        "died": "died",
    }
    one = found["finished"]
    assert one["path"] == str(folder / "finished")
    assert one["step"] == one["max_steps"] == TINY_SETTINGS["train.max_steps"]
    assert one["metric"] == "bleu"
    assert one["best"] == one["best_bleu"] == json.loads((folder / "finished" / "best.json").read_text())["bleu"]
    own = [event for event in recorded(folder / "finished", "validation") if str(event["of"]).startswith("step")]
    assert one["valid_perplexity"] == own[-1]["perplexity"]
    assert one["train_perplexity"] == recorded(folder / "finished", "step")[-1]["perplexity"]
    assert one["last_activity"] == recorded(folder / "finished", "end")[-1]["time"]
    assert one["size"] == sum(file.stat().st_size for file in (folder / "finished").rglob("*") if file.is_file())
    assert one["damaged_lines"] == []
    stopped = found["interrupted"]
    assert stopped["step"] == recorded(folder / "a" / "b" / "interrupted", "interrupted")[-1]["step"]
    assert stopped["max_steps"] == 100_000


def test_a_run_is_running_while_its_lock_is_held(folder: Path) -> None:
    run = folder / "a" / "b" / "died"
    with FolderLock.acquire(run):
        assert listed(run)["died"]["state"] == "running"
    assert listed(run)["died"]["state"] == "died"


def test_a_resumed_run_has_a_new_state(folder: Path, tmp_path: Path) -> None:
    """The last event decides the state, and repeated steps count once."""
    shutil.copytree(folder / "finished", tmp_path / "run")
    with open(tmp_path / "run" / "events.jsonl", "a", encoding="utf-8") as events:
        events.write('{"event": "resume", "time": 5.0, "step": 20}\n{"event": "step", "ti')
    one = listed(tmp_path)["run"]
    assert (one["state"], one["step"], one["last_activity"]) == ("died", 20, 5.0)
    assert len(one["damaged_lines"]) == 1  # type: ignore[arg-type]
    assert "skipped 1 damaged line (" in heed("runs", tmp_path).out


def test_the_table(folder: Path) -> None:
    done = heed("runs", folder)
    assert done.code == 0 and done.err == ""
    header, *rows = (re.split(r"\s{2,}", line.strip()) for line in done.lines)
    assert header == ["run", "step", "best", "ppl", "size", "last activity", "state"]
    assert [Path(row[0]).name for row in rows] == ["died", "interrupted", "early", "finished"]  # by folder
    finished = dict(zip(header, rows[-1], strict=True))
    assert finished["run"] == str(folder / "finished")
    assert finished["step"] == "40/40"
    assert finished["best"] == f"BLEU {json.loads((folder / 'finished' / 'best.json').read_text())['bleu']:.2f}"
    assert finished["state"] == "finished"


def test_on_a_terminal_it_fits_and_no_name_is_cut(folder: Path) -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = started("runs", folder, stdout=theirs)
    os.close(theirs)
    seen = b""
    try:
        while block := os.read(ours, 65536):
            seen += block
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    process.communicate(timeout=60)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode()).splitlines()
    assert max(map(len, lines)) <= 80
    names = "".join(line.split("  ")[0] for line in lines).replace(" ", "")
    assert str(folder / "finished") in names


def test_damaged_and_empty_runs_say_why(folder: Path, tmp_path: Path) -> None:
    for name in ("no-config", "bad-config", "no-steps", "no-events", "blank"):
        shutil.copytree(folder / "finished", tmp_path / name)
    (tmp_path / "no-config" / "config.json").unlink()
    (tmp_path / "bad-config" / "config.json").write_text("{")
    (tmp_path / "no-steps" / "config.json").write_text("{}")
    (tmp_path / "no-events" / "events.jsonl").unlink()
    (tmp_path / "blank" / "events.jsonl").write_text("")
    found = {name: (one["state"], str(one["reason"])) for name, one in listed(tmp_path).items()}
    assert found["no-config"][0] == "damaged" and "config.json: missing" in found["no-config"][1]
    assert found["bad-config"][0] == "damaged" and "config.json: damaged" in found["bad-config"][1]
    assert found["no-steps"][0] == "damaged" and "train.max_steps" in found["no-steps"][1]
    assert found["no-events"] == ("damaged", "events.jsonl: missing; the checkpoints are there")
    assert found["blank"] == ("empty", "no event in events.jsonl")
    said = heed("runs", tmp_path).out
    assert f"{tmp_path / 'no-config'}: damaged: config.json: missing" in said


def test_a_run_named_twice_is_listed_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder / "finished")
    assert len(json.loads(heed("runs", "--json", folder, folder / "finished", tmp_path).out)) == 4


def test_no_runs_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / "config.json").write_text("{}")
    done = heed("runs", tmp_path)
    assert (done.code, done.out) == (0, "")
    assert f"no runs in {tmp_path}" in done.err
    assert json.loads(heed("runs", "--json", tmp_path).out) == []
    done = heed("runs", tmp_path / "nowhere")
    assert done.code == 1
    assert f"{tmp_path / 'nowhere'}: no such folder" in done.err
