"""Checkpoints: folders of weights with checksums. Only safetensors and JSON: loading one never runs code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from heed.durable import MANIFEST, checksum, json_bytes, new_folder, read_json, write_through
from heed.errors import CheckpointError

FORMAT = 1  # of run folders; raised when an older heed could not read a newer one's


def write_checkpoint(path: Path, tensors: Mapping[str, Mapping[str, Tensor]], info: Mapping[str, Any]) -> None:
    """Write `tensors` (a safetensors file for each name) and `info` as the folder `path`."""
    with new_folder(path) as folder:
        checksums = {}
        for name, group in tensors.items():
            content = save({key: tensor.contiguous() for key, tensor in group.items()})
            checksums[f"{name}.safetensors"] = write_through(folder / f"{name}.safetensors", content)
        write_through(folder / MANIFEST, json_bytes({"format": FORMAT, **info, "sha256": checksums}))


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
    if checksum(content) != checksums.get(file.name):
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
