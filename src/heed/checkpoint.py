"""Checkpoints: folders of weights with checksums. Only safetensors and JSON: loading one never runs code."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from heed import durable
from heed.durable import MANIFEST, checksum, new_folder, write_manifest, write_through
from heed.errors import CheckpointError, DamageError

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
FORMAT = 2  # of run folders; raised when an older heed could not read a newer one's


def write_checkpoint(path: Path, tensors: Mapping[str, Mapping[str, Tensor]], info: Mapping[str, Any]) -> None:
    """Write `tensors` (a safetensors file for each name) and `info` as the folder `path`."""
    with new_folder(path, replacing=True) as folder:
        checksums = {}
        for name, group in tensors.items():
            file = folder / f"{name}.safetensors"
            checksums[file.name] = write_through(file, _safetensors(group))
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
    for name, claimed in checksums.items():
        with _reading(path / name), open(path / name, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != claimed:
                raise _damaged(path / name)


def average(states: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Section 6.1: the mean of several checkpoints' weights, summed in float64, one after the other."""
    totals: dict[str, Tensor] = {}
    n_states = 0
    for state in states:
        n_states += 1
        for key, tensor in state.items():
            totals[key] = tensor.double() + totals.get(key, 0.0)
    return {key: (total / n_states).to(state[key].dtype) for key, total in totals.items()}


def _checksums(path: Path) -> dict[str, str]:
    found = read_manifest(path).get("sha256")
    if not isinstance(found, dict):
        raise DamageError(f"{path / MANIFEST}: damaged (it has no checksums)")
    return found


def _read_checked(path: Path, name: str, checksums: dict[str, str]) -> bytes:
    with _reading(path / name):
        content = (path / name).read_bytes()
    if checksum(content) != checksums.get(name):
        raise _damaged(path / name)
    return content


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DamageError(f"{file}: missing; the checkpoint is not whole") from None
    except OSError as error:
        raise DamageError(f"{file}: cannot be read ({error.strerror})") from None


def _damaged(file: Path) -> DamageError:
    return DamageError(f"{file}: damaged: its checksum is not the one in {MANIFEST}")


def _safetensors(tensors: Mapping[str, Tensor]) -> Iterator[Any]:
    """The safetensors format, one tensor after the other: the library would first copy all of them into one string."""
    # Wide numbers first, for alignment; then by name: the same tensors are the same bytes, in whatever order they come.
    tensors = dict(sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header: dict[str, Any] = {}
    end = 0
    for key, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[key] = {"dtype": _DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for tensor in tensors.values():
        yield tensor.detach().contiguous().view(-1).view(torch.uint8).numpy()
