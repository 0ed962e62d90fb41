import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch
from torch import Tensor

from heed.checkpoint import FORMAT, average, read_manifest, read_tensors, write_checkpoint
from heed.durable import MANIFEST, read_json, write_file, write_manifest
from heed.errors import CheckpointError


def weights(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(3, 5, generator=generator) for name in ("one.weight", "two.weight")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "step-00000010"
    write_checkpoint(path, {"model": weights(), "optimizer": {"step": torch.tensor(10.0)}}, {"step": 10, "x": "ü"})
    return path


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def test_what_is_written_is_read(folder: Path) -> None:
    assert equal(read_tensors(folder, "model"), weights())
    assert read_tensors(folder, "optimizer")["step"].item() == 10.0
    manifest = read_manifest(folder)
    assert (manifest["format"], manifest["step"], manifest["x"]) == (FORMAT, 10, "ü")


def test_the_files_are_plain_safetensors_and_json(folder: Path) -> None:
    assert sorted(file.name for file in folder.iterdir()) == [MANIFEST, "model.safetensors", "optimizer.safetensors"]
    plain = safetensors.numpy.load_file(folder / "model.safetensors")
    assert all(np.array_equal(plain[key], tensor.numpy()) for key, tensor in weights().items())
    assert isinstance(json.loads((folder / MANIFEST).read_text(encoding="utf-8")), dict)


def test_views_and_slices_are_written_as_they_look(tmp_path: Path) -> None:
    tensor = torch.arange(12.0).view(3, 4)
    write_checkpoint(tmp_path / "x", {"model": {"turned": tensor.T, "part": tensor[:, 1]}}, {})
    read = read_tensors(tmp_path / "x", "model")
    assert equal(read, {"turned": tensor.T, "part": tensor[:, 1]})


# --- damage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 7, 8, 40, -60, -1])
@pytest.mark.parametrize("bit", [0, 7])
def test_one_flipped_bit_is_noticed(folder: Path, at: int, bit: int) -> None:
    file = folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << bit
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged: its checksum"):
        read_tensors(folder, "model")


@pytest.mark.parametrize("kept", [0, 1, 100, -1])
def test_a_cut_file_is_noticed(folder: Path, kept: int) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged"):
        read_tensors(folder, "model")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors: missing; the checkpoint is incomplete"):
        read_tensors(folder, "model")
    (folder / MANIFEST).unlink()
    with pytest.raises(CheckpointError, match=r"manifest\.json: missing"):
        read_tensors(folder, "optimizer")
    with pytest.raises(CheckpointError, match="absent: no such checkpoint"):
        read_manifest(folder.parent / "absent")


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", f'{{"format": {FORMAT}}}', f'{{"format": {FORMAT}, "sha256": 5}}']
)
def test_a_damaged_manifest_is_named(folder: Path, content: str) -> None:
    (folder / MANIFEST).write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"manifest\.json: damaged"):
        read_tensors(folder, "model")


def test_a_file_the_manifest_does_not_know_is_not_trusted(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
    with pytest.raises(CheckpointError, match=r"other\.safetensors: damaged"):
        read_tensors(folder, "other")


@pytest.mark.parametrize("version", [FORMAT + 1, 0, None, "1"])
def test_another_format_is_refused_before_anything_is_read(folder: Path, version: object) -> None:
    write_manifest(folder, {**read_manifest(folder), "format": version})
    (folder / "model.safetensors").write_bytes(b"of a format not yet invented")
    with pytest.raises(CheckpointError, match=f"has format {version}, but this heed reads format 2 and 3; .*CHANGELOG"):
        read_tensors(folder, "model")


def test_any_bit_flipped_in_the_manifest_is_found(folder: Path) -> None:
    content = (folder / MANIFEST).read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        (folder / MANIFEST).write_bytes(damaged)
        try:
            found = read_manifest(folder)
        except CheckpointError:
            continue
        # Only white space at the end of a line may change.
        (folder / MANIFEST).write_bytes(content)
        assert found == read_manifest(folder)


@pytest.mark.parametrize("content", [b"", b"\xff", b"nonsense", b"[1]"])
def test_json_that_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "best.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"best\.json: damaged"):
        read_json(tmp_path / "best.json")


# --- whole or not there -----------------------------------------------------------------------------------


class Crash(BaseException):
    """Raised to simulate a crash of the machine."""


def test_a_checkpoint_is_replaced(folder: Path) -> None:
    write_checkpoint(folder, {"model": weights(1)}, {"step": 10})
    assert equal(read_tensors(folder, "model"), weights(1))
    assert not (folder / "optimizer.safetensors").exists()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize("call", ["fsync", "rename", "rmtree", "unlink", "rmdir"])
def test_a_crash_anywhere_leaves_a_whole_checkpoint_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, replaces: bool
) -> None:
    """Die at the n-th call of each system function that writing goes through, for every n."""
    for n in range(100):
        path = tmp_path / str(n) / "step-00000010"
        path.parent.mkdir()
        if replaces:
            write_checkpoint(path, {"model": weights(0)}, {"step": 10})
        calls = 0
        home = shutil if call == "rmtree" else os
        original = getattr(home, call)

        def dying(*args, original=original, at=n, **kwargs):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            if calls > at:
                raise Crash
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(home, call, dying)
            try:
                write_checkpoint(path, {"model": weights(1)}, {"step": 10})
                survived = True
            except Crash:
                survived = False
        if path.exists():
            read = read_tensors(path, "model")
            assert equal(read, weights(1)) or (replaces and not survived and equal(read, weights(0)))
        else:
            assert not survived
        write_checkpoint(path, {"model": weights(2)}, {"step": 10})  # leftovers do not prevent another attempt
        assert equal(read_tensors(path, "model"), weights(2))
        assert [left.name for left in path.parent.iterdir()] == [path.name]
        if survived:
            return
    raise AssertionError("never got through")


def test_a_file_is_replaced_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "best.json"
    write_file(path, b"old")

    def crash(*args: object) -> None:
        raise Crash

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, crash)
            with pytest.raises(Crash):
                write_file(path, b"new content")
        assert path.read_bytes() == b"old"
    write_file(path, b"new content")
    assert path.read_bytes() == b"new content"
    assert [left.name for left in tmp_path.iterdir()] == ["best.json"]


# --- averaging --------------------------------------------------------------------------------------------


def test_the_average_is_the_one_a_loop_finds() -> None:
    states = [weights(seed) for seed in range(5)]
    found = average(states)
    assert found.keys() == states[0].keys()
    for key, tensor in found.items():
        expected = np.zeros((3, 5))
        for row in range(3):
            for column in range(5):
                for state in states:
                    expected[row, column] += float(state[key][row, column])
                expected[row, column] /= 5
        assert tensor.dtype == torch.float32
        assert np.array_equal(tensor.numpy(), expected.astype(np.float32))


def test_the_average_is_summed_in_double_precision() -> None:
    states = [{"w": torch.tensor([value])} for value in (16777216.0, 1.0, 1.0)]
    # float32 cannot hold 2^24 + 1, so a float32 sum would give 2^24 / 3.
    assert average(states)["w"].item() == np.float32(16777218 / 3)


def test_the_average_of_one_is_itself_and_changes_nothing() -> None:
    state = weights()
    assert equal(average([state]), weights())
    average([state, weights(1)])
    assert equal(state, weights())
