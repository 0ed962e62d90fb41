"""CTranslate2 exports of run folders, in the user's cache folder: a run folder may be read-only."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heed.cache import cache_folder
from heed.durable import (
    MANIFEST,
    checksum,
    is_plain_name,
    new_locked_folder,
    read_file,
    read_json,
    read_manifest,
    write_manifest,
)
from heed.engines.ctranslate2 import CTranslate2Engine
from heed.errors import CheckpointError, ConfigError
from heed.lock import NAME as LOCK
from heed.settings import read_run_config
from heed.text.tokenizer import Tokenizer

FORMAT = 1  # of these folders


def open_ctranslate2(paths: Sequence[Path], checkpoint: str = "best", int8: bool = False) -> CTranslate2Engine:
    """Open the export of a run folder, made on first use. Torch is imported only to make one.

    Raises:
        ConfigError: CTranslate2 is not installed, or there is more than one model.
        CheckpointError: the run folder is missing or damaged, or another process is making the export.
        DecodeError: the weights are not finite.
    """
    if find_spec("ctranslate2") is None:
        raise ConfigError("engine ctranslate2: CTranslate2 is not installed (pip install 'heed[ctranslate2]')")
    if len(paths) > 1:
        raise ConfigError(
            "engine ctranslate2: it does not support ensembles; give one model, or use heed's own search, the default"
        )
    path = paths[0]
    weights = checkpoint_path(path, checkpoint)
    config = read_run_config(path)
    tokenizer = Tokenizer.load(path / "tokenizer.model")
    checksums = read_json(weights / MANIFEST).get("sha256")
    origin = {
        "weights": checksums.get("model.safetensors") if isinstance(checksums, dict) else None,
        "tokenizer": checksum(tokenizer.model),
        "model": asdict(config.model),
        "extra_length": config.decode.extra_length,
        "int8": int8,
    }
    name = checksum(json.dumps(origin, sort_keys=True).encode())[:24]
    folder = _exports() / f"ctranslate2-{name}"
    if not _is_intact(folder, origin):
        _export(folder, path, weights.name, origin, int8)
    return CTranslate2Engine(folder, config, tokenizer, int8, str(weights))


def _exports() -> Path:
    """Return the folder of exports; without a cache folder, a temporary one that is removed when this process ends."""
    if (folder := cache_folder()) is not None:
        return folder / "exports"
    temporary = tempfile.mkdtemp(prefix="heed-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def checkpoint_path(path: Path, which: str) -> Path:
    """Return the folder of a checkpoint: by a quick look in the usual case, else by `RunFolder`, which imports torch.

    Raises:
        CheckpointError: there is no such run folder or checkpoint.
    """
    best = path / "best.json"
    name = read_json(best).get("checkpoint") if which == "best" and best.exists() else which
    if isinstance(name, str) and is_plain_name(name) and (path / "config.json").exists():
        found = path / "checkpoints" / name
        if (found / MANIFEST).exists():
            return found
    from heed.run import RunFolder

    return RunFolder.open(path).checkpoint_path(which)


def _is_intact(folder: Path, origin: dict[str, Any]) -> bool:
    """Return whether this is an undamaged export of these weights."""
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


def _export(folder: Path, path: Path, checkpoint: str, origin: dict[str, Any], int8: bool) -> None:
    """Export a checkpoint of the run folder `path` into `folder`.

    Raises:
        CheckpointError: the cache folder cannot be written.
    """
    from heed.export.ctranslate2 import write_ctranslate2
    from heed.run import RunFolder

    run = RunFolder.open(path)
    model = run.load_model(checkpoint)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with new_locked_folder(folder, replacing=True) as (new, lock):
            weights = str(run.checkpoint_path(checkpoint))
            write_ctranslate2(new, model, run.tokenizer, run.config.decode, int8, weights)
            names = sorted(file.name for file in new.iterdir() if file.name != LOCK)
            write_manifest(new, {"format": FORMAT, "origin": origin, "sha256": _checksums(new, names)})
        lock.release()
    except OSError as error:
        raise CheckpointError(
            f"{folder.parent}: cannot be written ({error.strerror}); make it a writable folder, or set XDG_CACHE_HOME"
        ) from error
