"""The models of the lab: run folders by number, their checkpoints loaded when they are asked for."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from heed.box import FOLDER
from heed.engines.pytorch import PyTorchEngine, open_pytorch
from heed.errors import CheckpointError, DataError, DecodeError, HeedError
from heed.follow.runs import state_of
from heed.inside.inspection import one_core_if_small, pairs_that_fit, roles_of
from heed.inside.roles import Roles
from heed.inside.sample import boxed_pairs, read_pairs, validation_files
from heed.model.build import model_class
from heed.model.transformer import Transformer
from heed.run import RunFolder
from heed.settings import read_run_config

_MAX_LOADED = 4
_SAMPLE_PAIRS = 100  # to name the heads by


@dataclass
class Opened:
    """A checkpoint that is loaded."""

    name: str  # of the model, for people
    path: Path
    checkpoint: str  # the name of its folder
    engine: PyTorchEngine
    roles: Roles | None = field(default=None, repr=False)  # None: not measured, or not yet


class Models:
    """The run folders that the lab was started with. Only the worker calls `open` and `measure_roles`."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Take run folders, which need not have a checkpoint yet.

        Raises:
            CheckpointError: one is no run folder.
        """
        for path in paths:
            RunFolder.check(path)
        self.paths = list(paths)
        self._loaded: OrderedDict[tuple[int, str], Opened] = OrderedDict()
        self._n_cores = torch.get_num_threads()

    def path(self, number: int) -> Path:
        """Return the folder of a model.

        Raises:
            DecodeError: there is no such model.
        """
        if not 0 <= number < len(self.paths):
            raise DecodeError(f"model {number}: the lab has {len(self.paths)}, from 0; reload the page")
        return self.paths[number]

    def open(self, number: int, checkpoint: str) -> Opened:
        """Load a checkpoint: "best", "last" or a folder's name.

        Raises:
            CheckpointError: the run was deleted, or has no such checkpoint.
            ConfigError: the run is of a kind that this version does not know.
        """
        path = self.path(number)
        check_exists(path)
        folder = RunFolder.open(path).checkpoint_path(checkpoint).name
        key = number, folder
        if key not in self._loaded:
            self._loaded[key] = Opened(name_of(path), path, folder, open_pytorch([path], folder, int8=False))
            while len(self._loaded) > _MAX_LOADED:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(key)
        opened = self._loaded[key]
        torch.set_num_threads(self._n_cores)
        one_core_if_small(opened.engine.models[0])
        return opened

    def measure_roles(self, opened: Opened) -> None:
        """Name the heads by what they do on the run's validation text, if it can be read."""
        if not isinstance(opened.engine.models[0], Transformer):
            return
        path = Path(opened.path)
        try:
            files = validation_files(path)
            sample = read_pairs(*files, _SAMPLE_PAIRS) if files else boxed_pairs(path, _SAMPLE_PAIRS)
        except (DataError, CheckpointError, OSError):
            return
        if pairs := pairs_that_fit(opened.engine, sample):
            name = ", ".join(files) if files else "sentences of heed demo"
            opened.roles = roles_of(opened.engine, pairs, name, lambda n: None)

    def described(self) -> list[dict[str, Any]]:
        """Return what the page lists: each run, its checkpoints and its state, or what is wrong with it."""
        return [_described(path) for path in self.paths]


def name_of(path: Path) -> str:
    """Return what a model is called: a run by its folder, one in the box by its name."""
    return path.name if path.parent == FOLDER else str(path)


def check_exists(path: Path) -> None:
    """Check that a run is still there.

    Raises:
        CheckpointError: it is not.
    """
    if not path.exists():
        raise CheckpointError(
            f"{path}: was deleted while the lab was open; restore the folder, or start the lab with another one"
        )


def _described(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name_of(path), "problem": "", "checkpoints": [], "state": "deleted", "shape": None}
    try:
        check_exists(path)
        state = state_of(path)
        found |= {"state": state.state, "step": state.step, "max_steps": state.max_steps}
        config = read_run_config(path)
        model = config.model
        if issubclass(model_class(model), Transformer):  # else there is nothing to switch
            found["shape"] = {"encoder": model.encoder_layers, "decoder": model.decoder_layers, "h": model.h}
        found["search"] = {"beam": config.decode.beam, "alpha": config.decode.alpha}
        found["checkpoints"] = _checkpoints(path)
        if not found["checkpoints"]:
            found["problem"] = f"{path}: has no checkpoint yet; the page shows it as soon as there is one"
    except HeedError as error:
        found["problem"] = str(error)
    except OSError as error:
        found["problem"] = f"{path}: cannot be read ({error.strerror})"
    return found


def _checkpoints(path: Path) -> list[str]:
    """Return the names of a run's checkpoints that can be loaded, oldest first."""
    folders = (path / "checkpoints").glob("[!.]*")
    return sorted(
        (one.name for one in folders if one.is_dir() and not one.name.startswith("damaged-")),
        key=lambda name: (name.rpartition("-")[2], name),
    )
