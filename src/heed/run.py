"""A run folder: everything a training leaves behind and a translator needs.

config.json                     the resolved config; `heed train config.json` repeats the run
tokenizer.model                 the sentencepiece model
data/                           the encoded corpus, unless it was prepared elsewhere
events.jsonl                    one JSON object for everything that happened
best.json                       which checkpoint to translate with, and its validation scores
checkpoints/step-00000500/      weights, optimizer and counters at a step
checkpoints/average-00000600/   mean weights of the last checkpoints (section 6.1)
lock                            held by the process that trains
"""

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from heed.checkpoint import (
    check_tensors,
    count_tensors,
    read_manifest,
    read_tensors,
    verify_checkpoint,
    write_checkpoint,
)
from heed.config import Config, read_run_config
from heed.durable import MANIFEST, checksum, delete_folder, is_plain_name, read_file, read_json, write_file, write_json
from heed.errors import CheckpointError, DamageError
from heed.model.build import build_model, model_class
from heed.model.interface import SequenceModel
from heed.text.tokenizer import Tokenizer

# What may change when a run goes on: the rest would make it another run. Where text lies may change too; what is in
# it may not, and has checksums.
MAY_CHANGE = {"train.max_steps", "train.patience"}

_ABSENT_IN_OLD_RUNS = {"kind": "transformer"}  # of a checkpoint's manifest: what the model had no choice of then

_STEP = re.compile(r"step-(\d+)$")


class RunFolder:
    """One run folder, made by `create` or `open`."""

    def __init__(self, path: Path, config: Config, tokenizer: Tokenizer) -> None:
        self.path, self.config, self.tokenizer = path, config, tokenizer

    @staticmethod
    def refuse_existing(path: Path) -> None:
        """Nothing is ever trained over."""
        if path.exists() and not path.is_dir():
            raise CheckpointError(f"{path} is a file, not a folder; give the name of a new folder to --out")
        if not path.exists() or not any(path.iterdir()):
            return
        if (path / "config.json").exists():
            raise CheckpointError(
                f"{path}: exists already. To go on with that run: heed train --resume {path}. "
                "To begin a new one, give another folder to --out"
            )
        raise CheckpointError(
            f"{path}: exists already, is not empty and not a run; give the name of a new folder to --out"
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
        cls.check(path)
        config = read_run_config(path)
        return cls(path, config, Tokenizer.load(path / "tokenizer.model"))

    @staticmethod
    def check(path: Path) -> None:
        """
        Raises:
            CheckpointError: not a run folder.
        """
        if not path.is_dir():
            raise CheckpointError(f"{path}: no such run folder; check the name, or make one with `heed train`")
        if not (path / "config.json").exists():
            raise CheckpointError(
                f"{path}: not a run folder (it has no config.json); name the folder given to heed train --out"
            )

    def change_config(self, config: Config) -> None:
        write_json(self.path / "config.json", config.to_dict())
        self.config = config

    @property
    def data_path(self) -> Path:
        """The encoded corpus."""
        return Path(self.config.data.prepared) if self.config.data.prepared else self.path / "data"

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    def events(self) -> list[dict[str, Any]]:
        """Return what events.jsonl tells, as far as its lines are whole."""
        found = []
        try:
            lines = read_file(self.events_path).split(b"\n")
        except OSError:
            return []
        for line in lines:
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):  # a kill may leave half a line
                continue
            if isinstance(event, dict):
                found.append(event)
        return found

    def ending(self) -> dict[str, Any] | None:
        """Return the event by which the run ended, if that was the last that happened and no step is left to make."""
        events = self.events()
        last = events[-1] if events else {}
        all_made = last.get("step") == self.config.train.max_steps
        stopped_early = last.get("reason") == "early" and isinstance(last.get("step"), int)
        return last if last.get("event") == "end" and (all_made or stopped_early) else None

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

    def quarantine(self, step: int) -> None:
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
        best = read_json(path, f"write it anew with: heed train --resume {self.path}")
        if not is_plain_name(best.get("checkpoint")):
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
        if not (is_plain_name(which) and path.is_dir()):
            there = sorted(folder.name for folder in (self.path / "checkpoints").glob("[!.]*"))
            names = f"there are: best, last, {', '.join(there)}" if there else "there are none"
            raise CheckpointError(f'{self.path}: no checkpoint "{which}"; {names}')
        return path

    def load_model(self, which: str = "best") -> SequenceModel:
        """The model with the weights of one checkpoint, ready to translate."""
        path = self.checkpoint_path(which)
        self.check_fingerprint(path)
        self.check_size(path)
        model = build_model(self.config.model, len(self.tokenizer))
        load_weights(model, read_tensors(path, "model"), str(path))
        return model.eval()

    def check_size(self, path: Path) -> None:
        """Refuse weights of another size than the config's model has, before a byte of memory is taken for it."""
        n_tensors, n_numbers = count_tensors(path, "model")
        model = self.config.model
        wanted = model_class(model).count_parameters(model, len(self.tokenizer))
        if n_numbers != wanted or n_tensors < model.encoder_layers + model.decoder_layers:
            raise CheckpointError(
                f"{path}: does not fit {self.path / 'config.json'}: it has {n_numbers:,} weights, a model of "
                f"{model.encoder_layers} and {model.decoder_layers} layers by that file has {wanted:,}; "
                "put back the file that belongs to this run"
            )

    def check_newest(self) -> None:
        """Refuse to resume with other settings than the newest checkpoint's, before a model is built by them.

        Damage is for others to find: an older checkpoint may be whole.
        """
        if steps := self.steps():
            with suppress(DamageError):
                self.check_same_run(self.step_path(steps[-1]))
                self.check_size(self.step_path(steps[-1]))

    def check_fingerprint(self, path: Path) -> None:
        """Weights mean nothing with another vocabulary, and little in a model of another build."""
        manifest, own = read_manifest(path), self._fingerprint()
        if manifest.get("tokenizer") != own["tokenizer"]:
            raise CheckpointError(
                f"{path}: was trained with another vocabulary than {self.path / 'tokenizer.model'}; "
                "put back the file that belongs to this run"
            )
        then = manifest.get("model")
        if not isinstance(then, dict):
            raise DamageError(f"{path / MANIFEST}: damaged (it does not say what model it is of)")
        then = _ABSENT_IN_OLD_RUNS | then
        if then != own["model"]:
            other = [f"{key} = {then.get(key)}" for key, value in own["model"].items() if then.get(key) != value]
            raise CheckpointError(
                f"{path}: does not fit {self.path / 'config.json'}: it was trained with model {', '.join(other)}; "
                "put back the file that belongs to this run"
            )

    def check_same_run(self, path: Path) -> None:
        """Going on with other settings would quietly be another run."""
        saved = read_manifest(path).get("config")
        if not isinstance(saved, dict):
            raise DamageError(f"{path / MANIFEST}: damaged (it has no config)")
        then, now = _flat(saved), _flat(self.config.to_dict())
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


def load_weights(model: SequenceModel, weights: dict[str, Tensor], name: str) -> None:
    """Put weights into a model they must fit."""
    check_tensors(weights, model.state_dict(), name)
    model.load_state_dict(weights)
