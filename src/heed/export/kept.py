"""The exports a run folder keeps for CTranslate2, in export/ctranslate2-float32 and export/ctranslate2-int8."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from heed.config import config_from_dict
from heed.durable import MANIFEST, checksum, new_folder_alone, read_json, read_manifest, write_manifest
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
    config = config_from_dict(read_json(path / "config.json"), str(path / "config.json"))
    tokenizer = Tokenizer.load(path / "tokenizer.model")
    origin = {
        "weights": read_json(weights / MANIFEST).get("sha256", {}).get("model.safetensors"),
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
    found = path / "checkpoints" / str(name)
    if (path / "config.json").exists() and (found / MANIFEST).exists():
        return found
    from heed.run import RunFolder

    return RunFolder.open(path).checkpoint_path(which)


def _is_whole(folder: Path, origin: dict[str, Any]) -> bool:
    try:
        manifest = read_manifest(folder, FORMAT, "")
        return bool(manifest["origin"] == origin and manifest["sha256"] == _checksums(folder, manifest["sha256"]))
    except (CheckpointError, FileNotFoundError):
        return False


def _checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: checksum((folder / name).read_bytes()) for name in names}


def _make(folder: Path, path: Path, checkpoint: str, origin: dict[str, Any], int8: bool) -> None:
    from heed.export.ctranslate2 import write_ctranslate2
    from heed.run import RunFolder

    run = RunFolder.open(path)
    model = run.load_model(checkpoint)
    with new_folder_alone(folder, replacing=True) as (new, lock):
        weights = str(run.checkpoint_path(checkpoint))
        write_ctranslate2(new, model, run.tokenizer, run.config.decode, int8, weights)
        names = sorted(file.name for file in new.iterdir() if file.name != LOCK)
        write_manifest(new, {"format": FORMAT, "origin": origin, "sha256": _checksums(new, names)})
    lock.release()
