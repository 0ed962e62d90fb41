"""Read and write checkpoints: folders of safetensors and JSON files with checksums. Loading one never runs code.

Weights are read as tensors, or without torch as arrays, one at a time.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed import durable
from heed.durable import (
    MANIFEST,
    checksum,
    is_plain_name,
    new_folder,
    open_file,
    read_file,
    write_manifest,
    write_through,
)
from heed.errors import CheckpointError, DamageError
from heed.model.stored import SCALE, restored

if TYPE_CHECKING:
    from torch import Tensor

_DTYPES = {  # the names that PyTorch and safetensors give them
    "torch.float64": "F64",
    "torch.float32": "F32",
    "torch.bfloat16": "BF16",
    "torch.float16": "F16",
    "torch.int64": "I64",
    "torch.int32": "I32",
    "torch.int8": "I8",
    "torch.uint8": "U8",
    "torch.bool": "BOOL",
}
_NAMES = {short: name for name, short in _DTYPES.items()}
_ARRAY_DTYPES: dict[str, np.dtype[Any]] = {
    "torch.float32": np.dtype("<f4"),
    "torch.int8": np.dtype("i1"),
}  # those of weights
FORMAT = 3  # of run folders; increased whenever older versions of heed could no longer read them
READABLE_FORMATS = (2, FORMAT)  # 2: config.json and best.json had no checksum
_SUFFIX = ".safetensors"
_MAX_HEADER_BYTES = 100_000_000  # the limit of safetensors itself


def write_checkpoint(path: Path, tensors: "Mapping[str, Mapping[str, Tensor]]", info: Mapping[str, Any]) -> None:
    """Write a checkpoint folder: a safetensors file for each group of tensors, and a manifest with `info`."""
    with new_folder(path, replacing=True) as folder:
        checksums = {}
        for name, group in tensors.items():
            file = folder / f"{name}.safetensors"
            checksums[file.name] = write_through(file, _safetensors(group))
        write_manifest(folder, {"format": FORMAT, **info, "sha256": checksums})


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a checkpoint.

    Raises:
        CheckpointError: there is no such checkpoint, or it has another format version.
        DamageError: the manifest is not what was written.
    """
    if not path.is_dir():
        raise CheckpointError(f"{path}: no such checkpoint")
    return durable.read_manifest(path, READABLE_FORMATS, "use the version of heed that wrote it (see CHANGELOG.md)")


def read_tensors(path: Path, name: str) -> "dict[str, Tensor]":
    """Return one group of a checkpoint's tensors, after verifying its checksum; 8-bit ones in float32.

    Raises:
        DamageError: the file is missing, truncated or changed.
        CheckpointError: a tensor in 8 bits has no scale for each row.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    content = _read_checked(path, f"{name}{_SUFFIX}", _checksums(path))
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError, RuntimeError) as error:  # or a dtype that torch lacks
        raise DamageError(f"{path / name}{_SUFFIX}: damaged ({error})") from None
    return restored(tensors, f"{path / name}{_SUFFIX}")


def read_all_tensors(path: Path) -> "dict[str, dict[str, Tensor]]":
    """Return all groups of a checkpoint's tensors.

    Raises:
        DamageError: as `read_tensors` does.
    """
    names = [file.removesuffix(_SUFFIX) for file in _checksums(path)]
    return {name: read_tensors(path, name) for name in names}


def count_weights(path: Path, name: str) -> int:
    """Return how many weights a group's tensors have, from the file's header alone and without its checksum.

    The scales of 8-bit weights do not count.

    Raises:
        DamageError: the file is missing, its header cannot be read, or claims more numbers than the file has bytes.
    """
    file = path / f"{name}{_SUFFIX}"
    with _reading(file), open_file(file) as opened:
        n_bytes = os.fstat(opened.fileno()).st_size
        size = int.from_bytes(opened.read(8), "little")
        header = opened.read(min(size, _MAX_HEADER_BYTES))
    try:
        shapes = [entry["shape"] for key, entry in json.loads(header).items() if _is_weight(key)]
        n_weights = sum(math.prod(map(int, shape)) for shape in shapes)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise DamageError(f"{file}: damaged (its header cannot be read)") from None
    if n_weights > n_bytes:
        raise DamageError(f"{file}: damaged (its header claims {n_weights:,} weights in {n_bytes:,} bytes)")
    return n_weights


def _is_weight(key: str) -> bool:
    return key != "__metadata__" and not key.endswith(SCALE)


def verify_checkpoint(path: Path) -> None:
    """Verify the checksums of all files of a checkpoint.

    Raises:
        DamageError: a file is not what was written.
    """
    checksums = _checksums(path)
    for name, claimed in checksums.items():
        with _reading(path / name), open_file(path / name) as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != claimed:
                raise _damaged(path / name)


def check_tensors(found: "Mapping[str, Tensor]", wanted: "Mapping[str, Tensor]", name: str) -> None:
    """Refuse tensors whose names, shapes or dtypes differ from the wanted ones; `name` is the path to show.

    Raises:
        CheckpointError: with the first tensor that does not fit.
    """
    kinds = [{key: Kind.of(one) for key, one in tensors.items()} for tensors in (found, wanted)]
    check_kinds(kinds[0], kinds[1], name)


def check_kinds(found: "Mapping[str, Kind]", wanted: "Mapping[str, Kind]", name: str) -> None:
    """Refuse names, shapes or dtypes that differ from the wanted ones; `name` is the path to show.

    Raises:
        CheckpointError: with the first that does not fit.
    """
    if found.keys() != wanted.keys():
        odd = sorted(found.keys() ^ wanted.keys())
        raise CheckpointError(
            f"{name}: does not fit its config.json: {len(odd)} tensors missing or unknown, such as {odd[0]!r}"
        )
    for key, own in wanted.items():
        if found[key].shape != own.shape:
            raise CheckpointError(
                f"{name}: does not fit its config.json and vocabulary: {key} has shape {found[key].shape}, "
                f"but they need {own.shape}"
            )
        if found[key].dtype != own.dtype:
            raise CheckpointError(f"{name}: {key} has dtype {found[key].dtype}, but must have {own.dtype}")


class Kind(NamedTuple):
    """The shape and dtype of a tensor, the dtype as PyTorch names it."""

    shape: tuple[int, ...]
    dtype: str = "torch.float32"

    @staticmethod
    def of(tensor: "Tensor") -> "Kind":
        return Kind(tuple(tensor.shape), str(tensor.dtype))


class ArrayFile:
    """A safetensors file of weights, read without torch: one array at a time, each byte once."""

    def __init__(self, path: Path, name: str) -> None:
        """Read the header of a group of a checkpoint's tensors.

        Raises:
            DamageError: the file is missing, or is not what was written.
        """
        self._path, self._file = path, path / f"{name}{_SUFFIX}"
        with _reading(self._file), open_file(self._file) as opened:
            n_bytes = os.fstat(opened.fileno()).st_size
            size = opened.read(8)
            self._start = size + opened.read(min(int.from_bytes(size, "little"), _MAX_HEADER_BYTES))
        self._entries: list[tuple[str, Kind]] = []
        try:
            entries = {key: entry for key, entry in json.loads(self._start[8:]).items() if key != "__metadata__"}
            end = 0
            for key, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"][0]):
                kind = Kind(tuple(map(int, entry["shape"])), _NAMES[entry["dtype"]])
                begin, end = end, int(entry["data_offsets"][1])
                dtype = _ARRAY_DTYPES.get(kind.dtype)
                if entry["data_offsets"][0] != begin or (
                    dtype and end - begin != math.prod(kind.shape) * dtype.itemsize
                ):
                    raise ValueError("its arrays are not end to end")
                self._entries.append((key, kind))
            if len(self._start) + end != n_bytes:
                raise ValueError("its size differs from its header's")
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            verify_checkpoint(path)  # says so, if the file was changed since it was written
            raise DamageError(f"{self._file}: damaged ({error})") from None

    def check(self, wanted: Mapping[str, Kind], name: str) -> None:
        """Refuse weights whose names, shapes or dtypes differ from the wanted ones; `name` is the path to show.

        Raises:
            DamageError: the file is not what was written.
            CheckpointError: with the first weight that does not fit.
        """
        try:
            check_kinds(self._kinds(), wanted, name)
        except CheckpointError:
            verify_checkpoint(self._path)
            raise

    def _kinds(self) -> dict[str, Kind]:
        """Return the shape and dtype of each weight; weights in 8 bits as float32, which they stand for."""
        kinds = dict(self._entries)
        for name, kind in self._entries:
            if kind.dtype != "torch.int8":
                continue
            scale = kinds.pop(name + SCALE, None)
            if len(kind.shape) != 2 or scale is None or scale.shape != kind.shape[:1]:
                raise CheckpointError(
                    f"{self._file}: {name} is stored in 8 bits, but without a scale for each of its rows"
                )
            if scale.dtype != "torch.float32":
                raise CheckpointError(
                    f"{self._file}: {name}{SCALE} has dtype {scale.dtype}, but must have torch.float32"
                )
            kinds[name] = Kind(kind.shape)
        return kinds

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the name and content of each array, which must be float32 or int8. Do not use any before the last.

        Raises:
            DamageError: after the last one: the checksum of the file differs.
        """
        claimed = _checksums(self._path).get(self._file.name)
        digest = hashlib.sha256(self._start)
        with _reading(self._file), open_file(self._file) as opened:
            opened.seek(len(self._start))
            for name, kind in self._entries:
                array = np.empty(kind.shape, _ARRAY_DTYPES[kind.dtype])
                content = array.reshape(-1).view(np.uint8).data
                if opened.readinto(content) != array.nbytes:
                    raise _damaged(self._file)
                digest.update(content)
                yield name, array
        if digest.hexdigest() != claimed:
            raise _damaged(self._file)


def average(states: "Iterable[Mapping[str, Tensor]]") -> "dict[str, Tensor]":
    """Return the average of several checkpoints' weights (section 6.1), summed in float64, one after the other."""
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
    for name in found:
        if not (is_plain_name(name) and name.endswith(_SUFFIX)):
            raise DamageError(f"{path / MANIFEST}: damaged (it names a file {name!r})")
    return found


def _read_checked(path: Path, name: str, checksums: dict[str, str]) -> bytes:
    with _reading(path / name):
        content = read_file(path / name)
    if checksum(content) != checksums.get(name):
        raise _damaged(path / name)
    return content


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DamageError(f"{file}: missing; the checkpoint is incomplete") from None
    except OSError as error:
        raise DamageError(f"{file}: cannot be read ({error.strerror})") from None


def _damaged(file: Path) -> DamageError:
    return DamageError(f"{file}: damaged: its checksum differs from {MANIFEST}")


def _safetensors(tensors: "Mapping[str, Tensor]") -> Iterator[Any]:
    """Yield a safetensors file in parts, one tensor at a time; the library would copy all of them into one string."""
    # Sort wide numbers first, for alignment, then by name: the same tensors give the same bytes in any order.
    tensors = dict(sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0])))
    header: dict[str, Any] = {}
    end = 0
    for key, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[key] = {"dtype": _DTYPES[str(tensor.dtype)], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    import torch

    for tensor in tensors.values():
        yield tensor.detach().contiguous().view(-1).view(torch.uint8).numpy()
