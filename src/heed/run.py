"""A run folder: everything a training leaves behind and a translator needs.

config.json                     the resolved config; `heed train config.json` repeats the run
tokenizer.model                 the sentencepiece model
data/                           the encoded corpus, unless it was prepared elsewhere
events.jsonl                    one JSON object for everything that happened
best.json                       which checkpoint to translate with, and its validation scores
checkpoints/step-00000500/      weights, optimizer and counters at a step
checkpoints/average-00000600/   mean weights of the last checkpoints (section 6.1)
shortlist/                      which target symbols are plausible for which source symbols (heed shortlist)
lock                            held by the process that trains
"""

import os
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from heed.checkpoint import read_manifest, read_tensors, verify_checkpoint, write_checkpoint
from heed.config import Config, config_from_dict
from heed.durable import checksum, delete_folder, read_json, write_file, write_json
from heed.errors import CheckpointError, DamageError
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer

# What may change when a run goes on: the rest would make it another run. Where text lies may change too; what is in
# it may not, and has checksums.
MAY_CHANGE = {"train.max_steps", "train.patience"}

_STEP = re.compile(r"step-(\d+)$")


class RunFolder:
    """One run folder, made by `create` or `open`."""

    def __init__(self, path: Path, config: Config, tokenizer: Tokenizer) -> None:
        self.path, self.config, self.tokenizer = path, config, tokenizer

    @staticmethod
    def refuse_existing(path: Path) -> None:
        """Nothing is ever trained over."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise CheckpointError(
                f"{path}: exists already. To go on with that run: heed train --resume {path}. "
                "To begin a new one, give another folder to --out (or remove this one)"
            )

    @classmethod
    def create(cls, path: Path, config: Config, tokenizer: Tokenizer) -> "RunFolder":
        """Everything but the corpus."""
        try:
            (path / "checkpoints").mkdir(parents=True)
            write_file(path / "tokenizer.model", tokenizer.model)
            write_json(path / "config.json", config.to_dict())
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be written ({error.strerror})") from error
        return cls(path, config, tokenizer)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """
        Raises:
            CheckpointError: not a run folder, or a damaged one.
        """
        if not path.is_dir():
            raise CheckpointError(f"{path}: no such run folder; check the name, or make one with `heed train`")
        if not (path / "config.json").exists():
            raise CheckpointError(
                f"{path}: not a run folder (it has no config.json); name the folder given to heed train --out"
            )
        config = config_from_dict(read_json(path / "config.json"), str(path / "config.json"))
        return cls(path, config, Tokenizer.load(path / "tokenizer.model"))

    def change_config(self, config: Config) -> None:
        write_json(self.path / "config.json", config.to_dict())
        self.config = config

    @property
    def data_path(self) -> Path:
        """The encoded corpus."""
        return Path(self.config.data.prepared) if self.config.data.prepared else self.path / "data"

    @property
    def shortlist_path(self) -> Path:
        """Which symbols are plausible, if `heed shortlist` was asked for it."""
        return self.path / "shortlist"

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    def steps(self) -> list[int]:
        """The steps there are checkpoints of, in order."""
        found = (_STEP.match(folder.name) for folder in (self.path / "checkpoints").glob("step-*"))
        return sorted(int(match[1]) for match in found if match)

    def step_path(self, step: int) -> Path:
        return self.path / "checkpoints" / f"step-{step:08d}"

    def save_step(self, step: int, tensors: dict[str, dict[str, Tensor]], info: dict[str, Any]) -> None:
        """Written, and read again to be sure: older checkpoints are deleted after this."""
        write_checkpoint(self.step_path(step), tensors, {"step": step, **info, **self._fingerprint()})
        verify_checkpoint(self.step_path(step))

    def set_aside(self, step: int) -> None:
        """Get a damaged checkpoint out of the way, for people to look at."""
        path = self.step_path(step)
        aside = path.with_name(f"damaged-{path.name}")
        shutil.rmtree(aside, ignore_errors=True)
        os.rename(path, aside)

    def save_weights(self, name: str, weights: dict[str, Tensor], info: dict[str, Any]) -> Path:
        """Weights that are no step's own, such as a mean, as a checkpoint to translate with."""
        path = self.path / "checkpoints" / name
        write_checkpoint(path, {"model": weights}, {**info, **self._fingerprint()})
        return path

    def delete_steps(self, steps: set[int]) -> None:
        for step in steps:
            delete_folder(self.step_path(step))

    def set_best(self, best: dict[str, Any]) -> None:
        """`best["checkpoint"]` is the name of a folder in `checkpoints`; the rest is for people."""
        write_json(self.path / "best.json", best)

    def forget_best(self) -> None:
        (self.path / "best.json").unlink(missing_ok=True)

    def best(self) -> dict[str, Any] | None:
        path = self.path / "best.json"
        if not path.exists():
            return None
        best = read_json(path)
        if not isinstance(best.get("checkpoint"), str):
            raise DamageError(f"{path}: damaged (it names no checkpoint)")
        return best

    def checkpoint_path(self, which: str = "best") -> Path:
        """A checkpoint by name: "best", "last", or a folder's name such as "step-00000500"."""
        if which == "best" and (best := self.best()) is not None:
            which = best["checkpoint"]
        if which in ("best", "last"):
            if not self.steps():
                raise CheckpointError(f"{self.path}: has no checkpoint yet; `heed train --resume {self.path}` goes on")
            return self.step_path(self.steps()[-1])
        path = self.path / "checkpoints" / which
        if not path.is_dir():
            there = sorted(folder.name for folder in (self.path / "checkpoints").glob("[!.]*"))
            names = f"there are: best, last, {', '.join(there)}" if there else "there are none"
            raise CheckpointError(f'{self.path}: no checkpoint "{which}"; {names}')
        return path

    def load_model(self, which: str = "best") -> Transformer:
        """The model with the weights of one checkpoint, ready to translate."""
        path = self.checkpoint_path(which)
        self.check_fingerprint(path)
        model = Transformer(self.config.model, len(self.tokenizer))
        load_weights(model, read_tensors(path, "model"), str(path))
        return model.eval()

    def check_fingerprint(self, path: Path) -> None:
        """Weights mean nothing with another vocabulary, and little in a model of another build."""
        manifest, own = read_manifest(path), self._fingerprint()
        if manifest.get("tokenizer") != own["tokenizer"]:
            raise CheckpointError(
                f"{path}: was trained with another vocabulary than {self.path / 'tokenizer.model'}; "
                "put back the file that belongs to this run"
            )
        if manifest.get("model") != own["model"]:
            then = manifest.get("model") or {}
            other = [f"{key} = {then.get(key)}" for key, value in own["model"].items() if then.get(key) != value]
            raise CheckpointError(
                f"{path}: does not fit {self.path / 'config.json'}: it was trained with model {', '.join(other)}; "
                "put back the file that belongs to this run"
            )

    def check_same_run(self, path: Path) -> None:
        """Going on with other settings would quietly be another run."""
        then, now = (_flat(config) for config in (read_manifest(path).get("config", {}), self.config.to_dict()))
        changed = [
            f"{key} was {then[key]!r} and is now {now[key]!r}"
            for key in then.keys() & now.keys()
            if then[key] != now[key] and key not in MAY_CHANGE and not key.startswith("data.")
        ]
        if changed:
            raise CheckpointError(
                f"{self.path / 'config.json'}: changed since {path.name} was saved: {'; '.join(sorted(changed))}. "
                "Put back what it was, or begin a new run: heed train config.json --out ANOTHER"
            )
        self.check_fingerprint(path)

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "tokenizer": checksum(self.tokenizer.model),
            "model": asdict(self.config.model),
        }


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{section}.{key}": v
        for section, values in config.items()
        if isinstance(values, dict)
        for key, v in values.items()
    }


def load_weights(model: Transformer, weights: dict[str, Tensor], name: str) -> None:
    """Put weights into a model they must fit."""
    own = model.state_dict()
    if weights.keys() != own.keys():
        odd = sorted(weights.keys() ^ own.keys())
        raise CheckpointError(f"{name}: does not fit its config.json: {len(odd)} other weights, such as {odd[0]}")
    for key, tensor in weights.items():
        if tensor.shape != own[key].shape:
            raise CheckpointError(
                f"{name}: does not fit its config.json and vocabulary: {key} is {tuple(tensor.shape)}, "
                f"they ask for {tuple(own[key].shape)}"
            )
    model.load_state_dict(weights)
