"""Checkpoints: folders of weights with checksums. Only safetensors and JSON: loading one never runs code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from heed import durable
from heed.durable import MANIFEST, checksum, new_folder, write_manifest, write_through
from heed.errors import CheckpointError, DamageError

FORMAT = 2  # of run folders; raised when an older heed could not read a newer one's


def write_checkpoint(path: Path, tensors: Mapping[str, Mapping[str, Tensor]], info: Mapping[str, Any]) -> None:
    """Write `tensors` (a safetensors file for each name) and `info` as the folder `path`."""
    with new_folder(path) as folder:
        checksums = {}
        for name, group in tensors.items():
            content = save({key: tensor.contiguous() for key, tensor in group.items()})
            checksums[f"{name}.safetensors"] = write_through(folder / f"{name}.safetensors", content)
        write_manifest(folder, {"format": FORMAT, **info, "sha256": checksums})


def read_manifest(path: Path) -> dict[str, Any]:
    """The info a checkpoint was written with.

    Raises:
        CheckpointError: there is none, or it is of another format version.
        DamageError: it is not what was written.
    """
    if not path.is_dir():
        raise CheckpointError(f"{path}: no such checkpoint")
    return durable.read_manifest(path, FORMAT, "use the version of heed that wrote it (see CHANGELOG.md)")


def read_tensors(path: Path, name: str) -> dict[str, Tensor]:
    """One group of a checkpoint's tensors, after its checksum was found right.

    Raises:
        DamageError: the file is missing, cut short or changed by so much as a bit.
    """
    content = _read_checked(path, f"{name}.safetensors", _checksums(path))
    try:
        return load(content)
    except SafetensorError as error:
        raise DamageError(f"{path / name}.safetensors: damaged ({error})") from None


def read_all_tensors(path: Path) -> dict[str, dict[str, Tensor]]:
    """All groups."""
    return {Path(file).stem: read_tensors(path, Path(file).stem) for file in _checksums(path)}


def verify_checkpoint(path: Path) -> None:
    """
    Raises:
        DamageError: a file of it is not what was written.
    """
    checksums = _checksums(path)
    for name in checksums:
        _read_checked(path, name, checksums)


def average(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Section 6.1: the mean of several checkpoints' weights, summed in float64."""
    mean = {}
    for key, first in states[0].items():
        total = sum((state[key].to(torch.float64) for state in states), torch.zeros_like(first, dtype=torch.float64))
        mean[key] = (total / len(states)).to(first.dtype)
    return mean


def _checksums(path: Path) -> dict[str, str]:
    found = read_manifest(path).get("sha256")
    if not isinstance(found, dict):
        raise DamageError(f"{path / MANIFEST}: damaged (it has no checksums)")
    return found


def _read_checked(path: Path, name: str, checksums: dict[str, str]) -> bytes:
    try:
        content = (path / name).read_bytes()
    except FileNotFoundError:
        raise DamageError(f"{path / name}: missing; the checkpoint is not whole") from None
    except OSError as error:
        raise DamageError(f"{path / name}: cannot be read ({error.strerror})") from None
    if checksum(content) != checksums.get(name):
        raise DamageError(f"{path / name}: damaged: its checksum is not the one in {MANIFEST}")
    return content
