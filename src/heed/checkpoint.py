"""Folders of weights that are either whole or not there.

A folder is written beside its place, every file flushed to the disk, a manifest with each file's checksum
last, and then renamed into place; one that was there before is renamed out of the way first, then deleted.
So a crash leaves a whole folder or none in that place, never half of one.
Only safetensors and JSON: loading a checkpoint never runs code.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from heed.errors import CheckpointError

FORMAT = 1  # of run folders; raised when an older heed could not read a newer one's
MANIFEST = "manifest.json"


def write_file(path: Path, content: bytes) -> None:
    """Replace a file's content in one go."""
    beside = path.with_name(f".{path.name}.new")
    _write_through(beside, content)
    os.replace(beside, path)
    _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    write_file(path, _json_bytes(value))


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a run folder."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing; the run folder is not whole") from None
    except ValueError as error:
        raise CheckpointError(f"{path}: damaged ({error})") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: damaged (not a JSON object)")
    return value


def write_checkpoint(path: Path, tensors: Mapping[str, Mapping[str, Tensor]], info: Mapping[str, Any]) -> None:
    """Write `tensors` (a safetensors file for each name) and `info` as the folder `path`."""
    beside, before = path.with_name(f".{path.name}.new"), path.with_name(f".{path.name}.old")
    for leftover in (beside, before):
        shutil.rmtree(leftover, ignore_errors=True)
    beside.mkdir(parents=True)
    files = {}
    for name, group in tensors.items():
        content = save({key: tensor.contiguous() for key, tensor in group.items()})
        _write_through(beside / f"{name}.safetensors", content)
        files[f"{name}.safetensors"] = hashlib.sha256(content).hexdigest()
    _write_through(beside / MANIFEST, _json_bytes({"format": FORMAT, **info, "sha256": files}))
    _sync_folder(beside)
    if path.exists():  # only if the same step was saved before
        os.rename(path, before)
    os.rename(beside, path)
    _sync_folder(path.parent)
    shutil.rmtree(before, ignore_errors=True)


def read_manifest(path: Path) -> dict[str, Any]:
    """The info a checkpoint was written with.

    Raises:
        CheckpointError: there is none, or it is of another format version.
    """
    if not path.is_dir():
        raise CheckpointError(f"{path}: no such checkpoint")
    manifest = read_json(path / MANIFEST)
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"{path}: has format {manifest.get('format')}, this heed reads format {FORMAT}; "
            "use the version of heed that wrote it (see CHANGELOG.md)"
        )
    return manifest


def read_tensors(path: Path, name: str) -> dict[str, Tensor]:
    """One group of a checkpoint's tensors, after its checksum was found right.

    Raises:
        CheckpointError: the file is missing, cut short or changed by so much as a bit.
    """
    file = path / f"{name}.safetensors"
    checksums = read_manifest(path).get("sha256")
    if not isinstance(checksums, dict):
        raise CheckpointError(f"{path / MANIFEST}: damaged (it has no checksums)")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{file}: missing; the checkpoint is not whole") from None
    if hashlib.sha256(content).hexdigest() != checksums.get(file.name):
        raise CheckpointError(f"{file}: damaged: its checksum is not the one in {MANIFEST}")
    try:
        return load(content)
    except SafetensorError as error:
        raise CheckpointError(f"{file}: damaged ({error})") from None


def average(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Section 6.1: the mean of several checkpoints' weights, summed in float64."""
    mean = {}
    for key, first in states[0].items():
        total = sum((state[key].to(torch.float64) for state in states), torch.zeros_like(first, dtype=torch.float64))
        mean[key] = (total / len(states)).to(first.dtype)
    return mean


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _write_through(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
