"""Damage files: each is detected and named, and the run falls back to an older checkpoint or is refused."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from heed.checkpoint import read_tensors
from heed.durable import write_manifest
from heed.kernels.library import library
from tests.cli.conftest import COMMAND, ENVIRONMENT, write_lines
from tests.faults.conftest import Training, arguments, assert_same_run, hidden_files

LAST, BEFORE = "step-00000004", "step-00000002"


@pytest.fixture(scope="module")
def whole(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train an uninterrupted run with checkpoints of steps 2, 4 and 6."""
    path = tmp_path_factory.mktemp("whole") / "run"
    ended = training.train(path, "--set", "train.keep_checkpoints=3")
    assert ended.code == 0, ended.said
    return path


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of that run as it was after step 4, except for a newer best.json."""
    run = shutil.copytree(whole, tmp_path / "run")
    for name in ("step-00000006", "average-00000006"):
        shutil.rmtree(run / "checkpoints" / name)
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == [BEFORE, LAST]
    return run


def contents(run: Path) -> dict[str, bytes]:
    """Return all files but the log and the lock."""
    files = (path for path in run.rglob("*") if path.is_file() and path.name not in ("events.jsonl", "lock"))
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def flip(path: Path, share: float, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[min(int(share * len(content)), len(content) - 1)] ^= 1 << bit
    path.write_bytes(content)


def cut(path: Path, share: float) -> None:
    os.truncate(path, min(int(share * path.stat().st_size), path.stat().st_size - 1))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: cut(path, 0.0),
    "half": lambda path: cut(path, 0.5),
    "a byte short": lambda path: cut(path, 1.0),
    "a byte longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "deleted": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    **{
        f"bit flipped at {share}": lambda path, share=share: flip(path, share, 0)
        for share in (0.0, 0.03, 0.4, 0.8, 1.0)
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors"])
def test_a_damaged_checkpoint_falls_back_to_an_older_one(
    training: Training, run: Path, whole: Path, name: str, damage: str
) -> None:
    DAMAGES[damage](run / "checkpoints" / LAST / name)
    damaged = {path.name for path in (run / "checkpoints" / LAST).iterdir()}
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    warning = next(line for line in ended.said.splitlines() if line.startswith("warning: "))
    assert f"{LAST}/{name}" in warning and warning.endswith("falling back to step 2")
    assert {
        path.name for path in (run / "checkpoints" / f"damaged-{LAST}").iterdir()
    } == damaged  # for the user to look at
    assert_same_run(run, whole)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_changes_nothing(training: Training, run: Path, whole: Path, damage: str) -> None:
    """The run falls back as well, unless only white space is missing."""
    path = run / "checkpoints" / LAST / "manifest.json"
    meant = json.loads(path.read_bytes())
    DAMAGES[damage](path)
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    if damage not in ("a byte short", "a byte longer", "bit flipped at 1.0") or LAST in ended.said:
        assert f"{LAST}/manifest.json" in ended.said and "falling back to step 2" in ended.said
    assert json.loads((run / "checkpoints" / LAST / "manifest.json").read_bytes()) == meant
    files = {name for name, content in contents(run).items() if content != contents(whole).get(name)}
    assert {name for name in files if "damaged-" not in name} - {f"checkpoints/{LAST}/manifest.json"} == set()


@pytest.mark.parametrize("bit", [0, 1, 4])
def test_no_flipped_bit_of_the_manifest_makes_it_another_run(
    training: Training, run: Path, whole: Path, bit: int
) -> None:
    """A flipped bit in a counter, score or setting may still be valid JSON. A few places; the slow test has more."""
    flipped_manifests(training, run, whole, bit, 307)


@pytest.mark.slow
@pytest.mark.parametrize("bit", range(8))
def test_no_flipped_bit_at_all(training: Training, run: Path, whole: Path, bit: int) -> None:
    flipped_manifests(training, run, whole, bit, 7)


def flipped_manifests(training: Training, run: Path, whole: Path, bit: int, every: int) -> None:
    original = shutil.copytree(run, run.with_name("original"))
    manifest = run / "checkpoints" / LAST / "manifest.json"
    for at in range(7 * bit, manifest.stat().st_size - 3, every):  # not the white space at the end
        content = bytearray(manifest.read_bytes())
        content[at] ^= 1 << bit
        manifest.write_bytes(content)
        ended = training.resume(run)
        here = f"byte {at}: {bytes(content[max(0, at - 20) : at + 20])!r}\n{ended.said}"
        assert "Traceback" not in ended.said, here
        assert ended.code == 0 and "falling back to step 2" in ended.said, here
        assert_same_run(run, whole)
        shutil.rmtree(run)
        shutil.copytree(original, run)


def test_another_format_is_refused_and_nothing_touched(training: Training, run: Path) -> None:
    """It is not damaged: a newer heed may have written it, and can read it."""
    folder = run / "checkpoints" / LAST
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["checksum"]
    write_manifest(folder, {**manifest, "format": 99})
    before = contents(run)
    ended = training.resume(run)
    assert ended.code == 1
    assert (
        f"{LAST}: has format 99, but this heed reads format 2 and {manifest['format']}; use the version" in ended.said
    )
    assert "falling back" not in ended.said
    assert contents(run) == before


def test_when_all_are_damaged_it_says_what_to_do(training: Training, run: Path) -> None:
    for step in (LAST, BEFORE):
        flip(run / "checkpoints" / step / "model.safetensors", 0.5, 3)
    before = contents(run)
    ended = training.resume(run)
    assert ended.code == 1
    assert "no checkpoint is intact" in ended.said and "Traceback" not in ended.said
    assert LAST in ended.said and BEFORE in ended.said
    assert f"heed train {run}/config.json --out" in ended.said
    assert contents(run) == before


def test_two_damaged_ones_fall_back_to_an_older_one(training: Training, whole: Path, tmp_path: Path) -> None:
    run = shutil.copytree(whole, tmp_path / "run")
    for step in ("step-00000006", LAST):
        (run / "checkpoints" / step / "model.safetensors").unlink()
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert ended.said.count("falling back to step 2") == 2
    assert_same_run(run, whole)


def test_checkpoints_that_were_deleted_are_missed(training: Training, run: Path) -> None:
    """The run must not silently start again at step 0."""
    for step in (LAST, BEFORE):
        shutil.rmtree(run / "checkpoints" / step)
    before = contents(run)
    ended = training.resume(run)
    assert ended.code == 1, ended.said
    assert f"{run}: its checkpoints are gone: events.jsonl records one at step 6" in ended.said
    assert f"heed train {run}/config.json --out NEW_FOLDER" in ended.said
    assert contents(run) == before


@pytest.mark.parametrize("name", [".step-00000005.new", ".step-00000003.deleted", ".average-00000006.new"])
def test_leftovers_of_a_crash_are_cleared_away(training: Training, run: Path, whole: Path, name: str) -> None:
    shutil.copytree(run / "checkpoints" / BEFORE, run / "checkpoints" / name)
    (run / "checkpoints" / name / "manifest.json").unlink()
    (run / ".best.json.new").write_bytes(b"{")
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert hidden_files(run) == []
    assert_same_run(run, whole)


def test_killed_between_two_renames_the_old_one_is_put_back(training: Training, run: Path, whole: Path) -> None:
    os.rename(run / "checkpoints" / LAST, run / "checkpoints" / f".{LAST}.old")
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert "resuming at step 4" in ended.said
    assert_same_run(run, whole)


def test_a_damaged_corpus_is_refused_and_made_again(training: Training, run: Path, whole: Path) -> None:
    for path in sorted((run / "data").iterdir()):
        if path.stat().st_size == 0:
            continue
        content = path.read_bytes()
        flip(path, 0.5, 0)
        ended = training.resume(run)
        assert ended.code == 1, ended.said
        assert str(path) in ended.said and f"delete the folder {run / 'data'}" in ended.said
        path.write_bytes(content)
    shutil.rmtree(run / "data")
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert_same_run(run, whole)


def test_a_rotten_older_checkpoint_is_left_out_of_the_average(training: Training, run: Path, whole: Path) -> None:
    """The newest is intact, so the weights are the same; the log names what could not be averaged."""
    training.resume(run)
    shutil.rmtree(run / "checkpoints" / "average-00000006")
    flip(run / "checkpoints" / LAST / "model.safetensors", 0.5, 1)
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    assert any(line.startswith("warning: ") and LAST in line and "average" in line for line in ended.said.splitlines())
    last = "checkpoints/step-00000006/model.safetensors"
    assert (run / last).read_bytes() == (whole / last).read_bytes()
    assert json.loads((run / "best.json").read_bytes())["checkpoint"] == "step-00000006"


# --- best.json, events.jsonl -------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff\xfe", b"{}", b'{"checkpoint": "step-00000099"}'])
def test_a_damaged_best_json_is_written_anew(training: Training, run: Path, whole: Path, content: bytes | None) -> None:
    """By a run that resumes, and by one that has finished."""
    for _ in range(2):
        if content is None:
            (run / "best.json").unlink()
        else:
            (run / "best.json").write_bytes(content)
        ended = training.resume(run)
        assert ended.code == 0, ended.said
        assert_same_run(run, whole)


def test_a_line_of_events_cut_in_half_spoils_no_other(training: Training, run: Path) -> None:
    path = run / "events.jsonl"
    os.truncate(path, path.stat().st_size - 20)
    half = path.read_bytes().split(b"\n")[-1]
    ended = training.resume(run)
    assert ended.code == 0, ended.said
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert all(json.loads(line) for line in lines if line not in (half, b""))


# --- another run -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("train.seed", 5),
        ("train.batch_tokens", 500),
        ("train.label_smoothing", 0.0),
        ("train.learning_rate_factor", 0.31),
        ("train.save_every", 3),
        ("train.validate_every", 2),
        ("model.dropout", 0.2),
        ("decode.beam", 2),
        ("text.vocab_size", 301),
    ],
)
def test_a_changed_setting_is_refused_by_name(training: Training, run: Path, key: str, value: object) -> None:
    path = run / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    section, name = key.split(".")
    was = config[section][name]
    assert was != value
    config[section][name] = value
    del config["checksum"]
    path.write_text(json.dumps(config), encoding="utf-8")
    before = contents(run)
    ended = training.resume(run)
    assert ended.code == 1, ended.said
    assert key in ended.said and str(was) in ended.said and str(value) in ended.said
    assert contents(run) == before


def test_a_config_changed_before_the_first_checkpoint_is_refused(training: Training, run: Path) -> None:
    """There is no checkpoint yet to compare it with."""
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").mkdir()
    (run / "events.jsonl").unlink()
    path = run / "config.json"
    path.write_text(path.read_text().replace('"dropout": 0.1', '"dropout": 0.2'))
    ended = training.resume(run)
    assert ended.code == 1, ended.said
    assert f"{path}: damaged or edited: its checksum is wrong; restore the old content" in ended.said


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]"])
def test_a_damaged_config_is_refused(training: Training, run: Path, content: bytes | None) -> None:
    if content is None:
        (run / "config.json").unlink()
    else:
        (run / "config.json").write_bytes(content)
    ended = training.resume(run)
    assert ended.code == 1
    assert f"{run}" in ended.said and "config.json" in ended.said and "Traceback" not in ended.said


@pytest.mark.parametrize("damage", ["emptied", "half", "deleted", "bit flipped at 0.4", "bit flipped at 0.8"])
def test_a_changed_vocabulary_is_refused(training: Training, run: Path, damage: str) -> None:
    DAMAGES[damage](run / "tokenizer.model")
    before = contents(run)
    ended = training.resume(run)
    assert ended.code == 1, ended.said
    assert "tokenizer.model" in ended.said and "Traceback" not in ended.said
    assert contents(run) == before


TEXT_CHANGES: dict[str, Callable[[list[str]], list[str]]] = {
    "one letter": lambda lines: [lines[0][:-1] + ("b" if lines[0][-1] == "a" else "a"), *lines[1:]],
    "two lines swapped": lambda lines: [lines[1], lines[0], *lines[2:]],
    "a line more": lambda lines: [*lines, "a b"],
}


@pytest.mark.parametrize("change", TEXT_CHANGES)
@pytest.mark.parametrize("name", ["train.src", "train.tgt", "valid.src", "valid.tgt"])
def test_changed_text_is_refused_by_name(
    training: Training, corpus: Path, tmp_path: Path, name: str, change: str
) -> None:
    own = shutil.copytree(corpus, tmp_path / "text")
    run = tmp_path / "run"
    words = [*arguments(own), *training.arguments[len(arguments(own)) :], "--set", "train.max_steps=2"]
    assert training.warm.heed(*words, "--out", run).code == 0
    path = own / name
    lines = path.read_text(encoding="utf-8").splitlines()
    changed = TEXT_CHANGES[change](lines)
    assert changed != lines
    write_lines(path, changed)
    before = contents(run)
    ended = training.resume(run)
    assert ended.code == 1, ended.said
    assert name in ended.said
    assert contents(run) == before


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("OMP_NUM_THREADS", "2", "threads 1 → 2"), ("HEED_KERNELS", "off", "C kernels on → off")],
)
def test_other_arithmetic_is_said_and_drops_the_same(
    run: Path, whole: Path, variable: str, value: str, said: str
) -> None:
    """Only the rounding of sums differs: the dropout masks are the same."""
    if variable == "HEED_KERNELS" and library() is None:
        pytest.skip("needs a C compiler")
    done = subprocess.run(
        [COMMAND, "train", "--resume", run], env={**ENVIRONMENT, variable: value}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"warning: environment changed ({said})" in done.stderr
    assert json.loads((run / "config.json").read_text())["model"]["dropout"] > 0
    ours, theirs = (read_tensors(path / "checkpoints" / "step-00000006", "model") for path in (run, whole))
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, rtol=0, atol=5e-6, msg=lambda why, name=name: f"{name}: {why}")


def test_clocks_make_no_difference(training: Training, run: Path, whole: Path, corpus: Path) -> None:
    """Files may be from the future or from long ago: only their content counts."""
    flip(run / "checkpoints" / LAST / "model.safetensors", 0.7, 5)
    text = list(corpus.iterdir())
    times = {path: path.stat().st_mtime_ns for path in text}
    try:
        for n, path in enumerate([*sorted(run.rglob("*")), *text]):
            moment = 4_000_000_000 if n % 2 else 1_000
            os.utime(path, (moment, moment))
        ended = training.resume(run)
    finally:
        for path, moment in times.items():
            os.utime(path, ns=(moment, moment))
    assert ended.code == 0, ended.said
    assert "falling back to step 2" in ended.said
    assert_same_run(run, whole)


# --- a folder that may not be written to -------------------------------------------------------------------


@pytest.fixture
def read_only(run: Path) -> Iterator[Path]:
    """Mount the run read-only: permissions would not stop root."""
    steps = [["mount", "--bind", run, run], ["mount", "-o", "remount,bind,ro", run, run]]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True) if shutil.which("mount") else None
        if done is None or done.returncode:
            subprocess.run(["umount", run], capture_output=True)
            pytest.skip(f"may not mount here: {done.stderr.strip() if done else 'no mount command'}")
    yield run
    subprocess.run(["umount", run], check=True)


def test_a_read_only_run_is_refused(training: Training, read_only: Path) -> None:
    before = contents(read_only)
    ended = training.resume(read_only)
    assert ended.code == 1
    assert str(read_only) in ended.said and "Read-only file system" in ended.said and "Traceback" not in ended.said
    assert contents(read_only) == before
