"""The exports a run folder keeps for CTranslate2, in export/ctranslate2-float32 and export/ctranslate2-int8."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heed.config import read_run_config
from heed.durable import (
    MANIFEST,
    checksum,
    is_plain_name,
    new_folder_alone,
    read_file,
    read_json,
    read_manifest,
    write_manifest,
)
from heed.errors import CheckpointError
from heed.export.engine import Engine
from heed.lock import NAME as LOCK
from heed.text.tokenizer import Tokenizer

FORMAT = 1  # of those folders


def open_engine(path: Path, checkpoint: str = "best", int8: bool = False) -> Engine:
    """The engine of a run folder. Its export is made on first use, and again when what it was made from has changed.

    Torch is loaded only to make one. `int8`: with weights of 8 bits.

    Raises:
        CheckpointError: the run folder is missing or damaged, or another process is making the export.
        DecodeError: the weights are not finite.
    """
    weights = checkpoint_path(path, checkpoint)
    config = read_run_config(path)
    tokenizer = Tokenizer.load(path / "tokenizer.model")
    made_of = read_json(weights / MANIFEST).get("sha256")
    origin = {
        "weights": made_of.get("model.safetensors") if isinstance(made_of, dict) else None,
        "tokenizer": checksum(tokenizer.model),
        "model": asdict(config.model),
        "extra_length": config.decode.extra_length,
    }
    folder = path / "export" / f"ctranslate2-{'int8' if int8 else 'float32'}"
    if not _is_whole(folder, origin):
        _make(folder, path, weights.name, origin, int8)
    return Engine(folder, config, tokenizer, int8, str(weights))


def checkpoint_path(path: Path, which: str) -> Path:
    """Where the weights are: quickly in the usual case, else from `RunFolder`, which also knows what is wrong.

    Raises:
        CheckpointError: there is no such thing.
    """
    best = path / "best.json"
    name = read_json(best).get("checkpoint") if which == "best" and best.exists() else which
    if isinstance(name, str) and is_plain_name(name) and (path / "config.json").exists():
        found = path / "checkpoints" / name
        if (found / MANIFEST).exists():
            return found
    from heed.run import RunFolder

    return RunFolder.open(path).checkpoint_path(which)


def _is_whole(folder: Path, origin: dict[str, Any]) -> bool:
    try:
        manifest = read_manifest(folder, (FORMAT,), "")
        claimed = manifest.get("sha256")
        if manifest.get("origin") != origin or not isinstance(claimed, dict) or not all(map(is_plain_name, claimed)):
            return False
        return claimed == _checksums(folder, claimed)
    except (CheckpointError, OSError):
        return False


def _checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: checksum(read_file(folder / name)) for name in names}


def _make(folder: Path, path: Path, checkpoint: str, origin: dict[str, Any], int8: bool) -> None:
    from heed.export.ctranslate2 import write_ctranslate2
    from heed.run import RunFolder

    run = RunFolder.open(path)
    model = run.load_model(checkpoint)
    try:
        with new_folder_alone(folder, replacing=True) as (new, lock):
            weights = str(run.checkpoint_path(checkpoint))
            write_ctranslate2(new, model, run.tokenizer, run.config.decode, int8, weights)
            names = sorted(file.name for file in new.iterdir() if file.name != LOCK)
            write_manifest(new, {"format": FORMAT, "origin": origin, "sha256": _checksums(new, names)})
        lock.release()
    except OSError as error:
        raise CheckpointError(f"{folder.parent}: cannot be written ({error.strerror})") from error
