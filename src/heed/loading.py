"""Open models: run folders or names in the box to a translator, with the engine that fits."""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from heed.box import default_model, find_model
from heed.engines import NAMES
from heed.engines.searching import Engine
from heed.errors import ConfigError, DecodeError
from heed.translator import Translator
from heed.wording import TORCH_IS_MISSING

if TYPE_CHECKING:
    from heed.confidence.calibration import Calibration


def load(
    *paths: str | Path,
    checkpoint: str = "best",
    int8: bool = False,
    bfloat16: bool = False,
    engine: str | None = None,
) -> Translator:
    """Load the model of a run folder; several folders with the same vocabulary make an ensemble.

    Args:
        paths: run folders, or names of models in the box (`heed models`), such as "en-de". None: the default of the
            box, English to German. A folder of that name comes before the box.
        checkpoint: "best" (by validation), "last", or a folder below `checkpoints/`.
        int8: search with 8-bit weights: faster, slightly less accurate.
        bfloat16: search with 16-bit weights: half the memory, more accurate than 8 bits. It needs the engine "native"
            and a processor with AVX512-BF16 or AMX.
        engine: "native" is heed's own search in C, which does not import torch, and "torch" the same with PyTorch.
            Default: "native" if there is a C compiler and it implements the model, otherwise "torch".

    Raises:
        ConfigError: there is no such engine, or it does not support this.
        CheckpointError: a folder is missing or damaged.
        DecodeError: the folders have different vocabularies.
        TypeError: an argument has the wrong type.
    """
    for path in paths:
        if not isinstance(path, (str, PathLike)):
            raise TypeError(f'load takes folders one by one, as in load("runs/x", "runs/y"), not {path!r}')
    if not isinstance(checkpoint, str):
        raise TypeError(f'checkpoint must be "best", "last" or a name such as "step-00000500", not {checkpoint!r}')
    if engine not in (None, *NAMES):
        raise ConfigError(_no_such_engine(engine))
    folders = [find_model(path) for path in paths] or [default_model()]
    if bfloat16 and (reason := _reason_not_bfloat16(folders, int8, engine)) is not None:
        raise ConfigError(f"bfloat16 weights (--bfloat16, bfloat16=True) {reason}")
    engine = default_engine(folders) if engine is None else engine
    if engine == "native":
        from heed.engines.native import open_native

        opened: Engine = open_native(folders, checkpoint, "bfloat16" if bfloat16 else "int8" if int8 else "float32")
    else:
        if find_spec("torch") is None:
            raise ConfigError(TORCH_IS_MISSING)
        from heed.engines.pytorch import open_pytorch

        opened = open_pytorch(folders, checkpoint, int8)
    return Translator(opened, partial(_read_calibration, folders, checkpoint))


def _no_such_engine(name: object) -> str:
    if name == "ctranslate2":
        return (
            "there is no engine 'ctranslate2' any more; leave it out for heed's own search, the default (to use the "
            "model in CTranslate2 itself: heed export --to ctranslate2)"
        )
    return f"there is no engine {name!r}; there are: {', '.join(NAMES)}"


def _reason_not_bfloat16(folders: Sequence[Path], int8: bool, engine: str | None) -> str | None:
    """Return why these options do not go with bfloat16 weights, and what to do; None: they do.

    Raises:
        CheckpointError: a folder is missing or damaged.
    """
    from heed.engines.native import reason_not_supported

    if int8:
        return "and 8-bit weights (--int8, int8=True) exclude each other; leave out one of the two"
    if engine not in (None, "native"):
        return f"need the engine native, not {engine}; leave out the one or the other"
    if (reason := reason_not_supported(folders)) is not None:
        return f"need the engine native, but {reason}; leave them out"
    return None


def default_engine(folders: Sequence[Path]) -> str:
    """Return the name of the engine for the models of these run folders.

    Raises:
        CheckpointError: a folder is missing or damaged.
        ConfigError: they need PyTorch, which is not installed.
    """
    from heed.engines.native import reason_not_supported

    if (reason := reason_not_supported(folders)) is None:
        return "native"
    if find_spec("torch") is None:
        raise ConfigError(f"{reason}, so this needs PyTorch, which is not installed: pip install 'heed[train]'")
    return "torch"


def _read_calibration(folders: list[Path], checkpoint: str) -> "Calibration":
    from heed.run import RunFolder

    if len(folders) > 1:
        raise DecodeError(
            f"confidence is calibrated for one model, but this is an ensemble of {len(folders)}; load one run folder"
        )
    return RunFolder.open(folders[0]).calibration(checkpoint)
