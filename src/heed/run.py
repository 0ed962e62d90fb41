"""Read and write run folders: everything that training produces and translation needs.

config.json                     the resolved config; `heed train config.json` repeats the run
tokenizer.model                 the sentencepiece model
data/                           the encoded corpus, unless it was prepared elsewhere
events.jsonl                    one JSON object per event
best.json                       which checkpoint to translate with, and its validation scores
confidence.json                 how confident to be in its translations; only after `heed confidence`
checkpoints/step-00000500/      weights, optimizer and counters at a step
checkpoints/average-00000600/   average of the last checkpoints' weights (section 6.1)
lock                            locked by the process that trains

A shipped model (`heed export --to heed`) is a run folder with config.json, tokenizer.model, best.json and one
checkpoint, `checkpoints/shipped`, whose matrices have 8 bits. It translates, but has nothing to resume.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.checkpoint import (
    check_tensors,
    count_weights,
    read_manifest,
    read_tensors,
    verify_checkpoint,
    write_checkpoint,
)
from heed.config import Config
from heed.durable import (
    MANIFEST,
    checksum,
    delete_folder,
    is_plain_name,
    json_bytes,
    read_file,
    read_json,
    write_file,
    write_json,
)
from heed.errors import CheckpointError, DamageError
from heed.model.size import count_parameters
from heed.parsing.tokenizer import load_tokenizer
from heed.settings import read_run_config
from heed.text.tokenizer import Tokenizer

if TYPE_CHECKING:  # a run folder can be opened without torch
    from torch import Tensor

    from heed.confidence.calibration import Calibration
    from heed.model.interface import SequenceModel

# Settings that may change when a run resumes. The paths in [data] may change too, but not the text, which has
# checksums, and not the weights of corpora.
MAY_CHANGE = {"train.max_steps", "train.patience", "train.cooldown_steps"}

# Model settings that manifests of older versions do not have.
_ABSENT_IN_OLD_RUNS = {
    "kind": "transformer",
    "cell": "lstm",
    "kernel_width": 3,
    "dilated": False,
    "attention_window": 0,
}

_STEP = re.compile(r"step-(\d+)$")

INITIAL, SHIPPED = "initial", "shipped"  # names of checkpoints
CONFIDENCE = "confidence.json"


class RunFolder:
    """Give access to one run folder; use `create` or `open` to get one."""

    def __init__(self, path: Path, config: Config, tokenizer: Tokenizer) -> None:
        self.path, self.config, self.tokenizer = path, config, tokenizer

    @staticmethod
    def refuse_existing(path: Path) -> None:
        """Refuse to create a run where something exists: training never overwrites anything.

        Raises:
            CheckpointError: the path exists and is not an empty folder.
        """
        if path.exists() and not path.is_dir():
            raise CheckpointError(f"{path} is a file, not a folder; pass the name of a new folder to --out")
        if not path.exists() or not any(path.iterdir()):
            return
        if (path / "config.json").exists():
            raise CheckpointError(
                f"{path}: already exists. To resume that run: heed train --resume {path}. "
                "To start a new run, pass another folder to --out"
            )
        raise CheckpointError(
            f"{path}: already exists, and is neither empty nor a run folder; pass the name of a new folder to --out"
        )

    @classmethod
    def create(cls, path: Path, config: Config, tokenizer: Tokenizer) -> "RunFolder":
        """Create a run folder with everything but the corpus.

        Raises:
            CheckpointError: it cannot be written.
        """
        try:
            (path / "checkpoints").mkdir(parents=True)
            write_file(path / "tokenizer.model", tokenizer.model)
            write_json(path / "config.json", config.to_dict())
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be written ({error.strerror})") from error
        return cls(path, config, tokenizer)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open an existing run folder.

        Raises:
            CheckpointError: it is not a run folder, or damaged.
        """
        cls.check(path)
        config = read_run_config(path)
        return cls(path, config, load_tokenizer(path / "tokenizer.model", config.text))

    @staticmethod
    def check(path: Path) -> None:
        """Check that this is a run folder.

        Raises:
            CheckpointError: it is not.
        """
        if not path.is_dir():
            raise CheckpointError(f"{path}: no such run folder; check the name, or create one with `heed train`")
        if not (path / "config.json").exists():
            raise CheckpointError(
                f"{path}: not a run folder (it has no config.json); name the folder passed to heed train --out"
            )

    @staticmethod
    def refuse_shipped(path: Path) -> None:
        """Refuse to resume a model that was exported to be shipped.

        Raises:
            CheckpointError: this is one.
        """
        if (path / "checkpoints" / SHIPPED).exists():
            raise CheckpointError(
                f"{path}: a shipped model, with 8-bit weights and no optimizer, cannot be resumed; resume the run it "
                f"was exported from, or start a new run from its weights: --set train.init_from={path}"
            )

    def change_config(self, config: Config) -> None:
        """Replace the run's config, here and in config.json."""
        write_json(self.path / "config.json", config.to_dict())
        self.config = config

    @property
    def data_path(self) -> Path:
        """Return the folder of the encoded corpus."""
        return Path(self.config.data.prepared) if self.config.data.prepared else self.path / "data"

    @property
    def events_path(self) -> Path:
        """Return the file of events."""
        return self.path / "events.jsonl"

    def events(self) -> list[dict[str, Any]]:
        """Return the events in events.jsonl, skipping damaged lines."""
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
        """Return the event that ended the run, if it is the last one and no step is left to make."""
        events = self.events()
        last = events[-1] if events else {}
        all_made = last.get("step") == self.config.train.max_steps
        stopped_early = last.get("reason") == "early" and isinstance(last.get("step"), int)
        return last if last.get("event") == "end" and (all_made or stopped_early) else None

    def steps(self) -> list[int]:
        """Return the steps that have a checkpoint, in order."""
        found = (_STEP.match(folder.name) for folder in (self.path / "checkpoints").glob("step-*"))
        return sorted(int(match[1]) for match in found if match)

    def step_path(self, step: int) -> Path:
        """Return the folder of a step's checkpoint."""
        return self.path / "checkpoints" / f"step-{step:08d}"

    def save_step(self, step: int, tensors: "dict[str, dict[str, Tensor]]", info: dict[str, Any]) -> None:
        """Write a checkpoint and read it back: older ones are deleted after this."""
        write_checkpoint(self.step_path(step), tensors, {"step": step, **info, **self._fingerprint()})
        verify_checkpoint(self.step_path(step))

    def quarantine(self, step: int) -> None:
        """Rename a damaged checkpoint to `damaged-...`, for the user to look at."""
        path = self.step_path(step)
        quarantined = path.with_name(f"damaged-{path.name}")
        shutil.rmtree(quarantined, ignore_errors=True)
        os.rename(path, quarantined)

    def save_weights(self, name: str, weights: "dict[str, Tensor]", info: dict[str, Any]) -> Path:
        """Save weights that belong to no single step, such as an average, as a checkpoint to translate with."""
        path = self.path / "checkpoints" / name
        write_checkpoint(path, {"model": weights}, {**info, **self._fingerprint()})
        return path

    @property
    def initial_path(self) -> Path:
        """The checkpoint with the weights that training started from; only with `train.init_from`."""
        return self.path / "checkpoints" / INITIAL

    def delete_steps(self, steps: set[int]) -> None:
        """Delete the checkpoints of these steps."""
        for step in steps:
            delete_folder(self.step_path(step))

    def set_best(self, best: dict[str, Any]) -> None:
        """Write best.json. `best["checkpoint"]` names a folder in `checkpoints`; the rest is information."""
        write_json(self.path / "best.json", best)

    def forget_best(self) -> None:
        """Delete best.json."""
        (self.path / "best.json").unlink(missing_ok=True)

    def best(self) -> dict[str, Any] | None:
        """Return the content of best.json, or None if there is none.

        Raises:
            DamageError: the file is damaged.
        """
        path = self.path / "best.json"
        if not path.exists():
            return None
        best = read_json(path, f"to write it again: heed train --resume {self.path}")
        if not is_plain_name(best.get("checkpoint")):
            raise DamageError(f"{path}: damaged (it names no checkpoint)")
        return best

    def checkpoint_path(self, which: str = "best") -> Path:
        """Return the folder of a checkpoint: "best", "last", or a folder's name such as "step-00000500".

        The one checkpoint of a shipped model is both the best and the last.

        Raises:
            CheckpointError: there is no such checkpoint.
        """
        if which == "best" and (best := self.best()) is not None:
            which = best["checkpoint"]
        shipped = self.path / "checkpoints" / SHIPPED
        if which in ("best", "last"):
            if self.steps():
                return self.step_path(self.steps()[-1])
            if shipped.is_dir():
                return shipped
            raise CheckpointError(f"{self.path}: has no checkpoint yet; to train: heed train --resume {self.path}")
        path = self.path / "checkpoints" / which
        if not (is_plain_name(which) and path.is_dir()):
            there = sorted(folder.name for folder in (self.path / "checkpoints").glob("[!.]*"))
            names = f"there are: best, last, {', '.join(there)}" if there else "there are none"
            raise CheckpointError(f'{self.path}: no checkpoint "{which}"; {names}')
        return path

    def set_calibration(self, calibration: "Calibration", which: str, info: dict[str, Any]) -> Path:
        """Write confidence.json, which belongs to the weights of one checkpoint, and return its path."""
        path, checkpoint = self.path / CONFIDENCE, self.checkpoint_path(which)
        weights = {"checkpoint": checkpoint.name, "weights": _weights_id(checkpoint)}
        write_json(path, {**calibration.to_dict(), **weights, **info})
        return path

    def calibration(self, which: str = "best") -> "Calibration":
        """Return the content of confidence.json.

        Raises:
            CheckpointError: there is none, or it was fitted for other weights.
            DamageError: the file is damaged.
        """
        from heed.confidence.calibration import Calibration

        path, checkpoint = self.path / CONFIDENCE, self.checkpoint_path(which)
        named = f" --checkpoint {which}" if which != "best" else ""
        advice = f"heed confidence --model {self.path}{named} --source HELD_OUT --reference ITS_TRANSLATION"
        if not path.exists():
            raise CheckpointError(f"{self.path}: its confidence is not calibrated; to do so: {advice}")
        found = read_json(path, f"to fit it again: {advice}")
        try:
            calibration = Calibration.from_dict(found)
        except ValueError as error:
            raise DamageError(f"{path}: damaged ({error}); to fit it again: {advice}") from None
        if found.get("weights") != _weights_id(checkpoint):
            raise CheckpointError(
                f"{path}: was fitted for other weights ({found.get('checkpoint')}) than those of {checkpoint}; "
                f"to fit it again: {advice}"
            )
        return calibration

    def load_model(self, which: str = "best") -> "SequenceModel":
        """Return the model with the weights of one checkpoint, ready to translate.

        Raises:
            CheckpointError: there is no such checkpoint, or it does not fit the run's config or vocabulary.
        """
        from heed.model.build import build_model

        path = self.checkpoint_path(which)
        with self.reading(path):
            self.check_fingerprint(path)
            self.check_size(path)
            model = build_model(self.config.model, self.tokenizer.vocabulary)
            load_weights(model, read_tensors(path, "model"), str(path))
        return model.eval()

    @contextmanager
    def reading(self, checkpoint: Path) -> Iterator[None]:
        """Say what to do next if a checkpoint turns out to be damaged.

        Raises:
            DamageError: it is.
        """
        try:
            yield
        except DamageError as error:
            others = [path.name for path in map(self.step_path, self.steps()) if path != checkpoint]
            other = f", or use another checkpoint: --checkpoint {others[-1]}" if others else ""
            raise DamageError(f"{error}; restore {checkpoint} from a copy{other}") from None

    def check_size(self, path: Path) -> None:
        """Refuse a checkpoint whose size differs from the config's model, before that model is built.

        Raises:
            CheckpointError: the number of weights differs.
        """
        n_weights, model = count_weights(path, "model"), self.config.model
        if model.kind == "transformer":
            wanted = count_parameters(model, self.tokenizer.vocabulary)
        else:
            from heed.model.build import model_class

            wanted = model_class(model).count_parameters(model, self.tokenizer.vocabulary)
        if n_weights != wanted:
            raise CheckpointError(
                f"{path}: does not fit {self.path / 'config.json'}: it has {n_weights:,} weights, but a model with "
                f"these settings has {wanted:,}; restore the file that belongs to this run"
            )

    def check_newest(self) -> None:
        """Refuse to resume with settings other than the newest checkpoint's, before a model is built from them.

        Damage is ignored here, because an older checkpoint may be intact.
        """
        if steps := self.steps():
            with suppress(DamageError):
                self.check_same_run(self.step_path(steps[-1]))
                self.check_size(self.step_path(steps[-1]))

    def check_fingerprint(self, path: Path) -> None:
        """Refuse a checkpoint of another vocabulary or another model.

        Raises:
            CheckpointError: it was trained with another one than this run's.
        """
        manifest, own = read_manifest(path), self._fingerprint()
        if manifest.get("tokenizer") != own["tokenizer"]:
            raise CheckpointError(
                f"{path}: was trained with another vocabulary than {self.path / 'tokenizer.model'}; "
                "restore the file that belongs to this run"
            )
        then = manifest.get("model")
        if not isinstance(then, dict):
            raise DamageError(f"{path / MANIFEST}: damaged (it does not describe its model)")
        then = _ABSENT_IN_OLD_RUNS | then
        if then != own["model"]:
            other = [f"{key} = {then.get(key)}" for key, value in own["model"].items() if then.get(key) != value]
            raise CheckpointError(
                f"{path}: does not fit {self.path / 'config.json'}: it was trained with model {', '.join(other)}; "
                "restore the file that belongs to this run"
            )

    def check_same_run(self, path: Path) -> None:
        """Refuse to resume from a checkpoint of other settings.

        Raises:
            CheckpointError: with every setting that changed.
        """
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
                "Restore the old values, or start a new run: heed train config.json --out NEW_FOLDER"
            )
        self.check_fingerprint(path)

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "tokenizer": checksum(self.tokenizer.model),
            "model": asdict(self.config.model),
        }


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    flat = {
        f"{section}.{key}": v
        for section, values in config.items()
        if isinstance(values, dict)
        for key, v in values.items()
    }
    flat["weight in data.train"] = [text.get("weight") for text in flat.get("data.train", ())] or [1.0]
    return flat


def _weights_id(checkpoint: Path) -> str:
    """Return what identifies the weights of a checkpoint: a checksum of its files' checksums."""
    return checksum(json_bytes(read_manifest(checkpoint).get("sha256")))


def load_weights(model: "SequenceModel", weights: "dict[str, Tensor]", name: str) -> None:
    """Load weights into a model.

    Raises:
        CheckpointError: they do not fit; `name` is the path that the message shows.
    """
    check_tensors(weights, model.state_dict(), name)
    model.load_state_dict(weights)
