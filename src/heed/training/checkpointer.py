"""Save checkpoints during training, delete old ones, and restore the newest intact one after a crash.

A full disk does not stop a training: it warns, continues, and tries again. A damaged checkpoint does not end a run:
the newest intact one is used. Only the first process writes; the others learn whether it succeeded.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import heed
from heed import processor
from heed.checkpoint import average, read_all_tensors, read_manifest, read_tensors, verify_checkpoint
from heed.durable import remove_leftovers
from heed.errors import CheckpointError, ConfigError, DamageError, TrainingError
from heed.kernels.library import library
from heed.run import RunFolder
from heed.training.learner import Learner
from heed.training.log import Log
from heed.training.precision import products_by
from heed.training.progress import Progress
from heed.training.stop import Interrupted, StopRequest
from heed.training.validate import Validation

# A failed write is first retried after these pauses, because some failures are momentary.
_QUICK_RETRY_SECONDS = (0.05, 0.2)
# Training then continues, and later retries wait this long, doubling each time.
_MIN_RETRY_SECONDS, _MAX_RETRY_SECONDS = 1.0, 60.0
_FINAL_SAVE_SECONDS = 600.0  # how long to retry once there is nothing left to train
_GONE = "the run folder is gone: deleted, moved, or replaced by another"


@dataclass(frozen=True)
class Text:
    """Identify a text that a run depends on."""

    name: str
    checksum: str


class Checkpointer:
    """Save and restore one run."""

    def __init__(self, run: RunFolder, learner: Learner, log: Log, stop: StopRequest, texts: dict[str, Text]) -> None:
        """Open the run folder; `texts` are those a checkpoint must have been trained and validated on."""
        self._run, self._learner, self._log, self._stop, self._texts = run, learner, log, stop, texts
        self._workers = learner.workers
        self._retry_seconds, self._retry_at = _MIN_RETRY_SECONDS, float("inf")
        self.best: dict[str, Any] | None = None  # what best.json should contain
        self._best_is_written = True
        self._is_final = False  # there is nothing left to train
        # Keep the folder open, so that its inode number is not reused if it is deleted.
        self._folder = os.open(run.path, os.O_RDONLY) if self._workers.leads else None
        self._warned_gone = False

    def close(self) -> None:
        """Close the run folder."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    # --- saving -------------------------------------------------------------------------------------------

    @property
    def retry_is_due(self) -> bool:
        """Return whether it is time to retry a failed write; only the first process knows."""
        return time.monotonic() >= self._retry_at

    def save(self, progress: Progress) -> bool:
        """Save a checkpoint of the current step unless there is one; return whether that succeeded."""
        if self._workers.from_leader(self._is_saved(progress)):
            return self._write_best()
        tensors = self._learner.state()  # a collective operation if the model is sharded
        info = {
            "state": asdict(progress),
            "config": self._run.config.to_dict(),
            "machine": self._machine(),
            **{what: text.checksum for what, text in self._texts.items()},
        }
        if not self._write(lambda: self._run.save_step(progress.step, tensors, info), f"step {progress.step:,}"):
            return False
        self._log.event("checkpoint", step=progress.step)
        saved = self._write_best()
        self.delete_old()
        return saved

    def save_best(self, progress: Progress, found: Validation) -> bool:
        """Save a checkpoint of the current step, the best so far; return whether that succeeded."""
        if not self.save(progress):
            return False
        self.set_best(self._run.step_path(progress.step).name, progress.step, found)
        return True

    def save_final(self, progress: Progress) -> None:
        """Save a checkpoint when there is nothing left to train, and retry until a deadline.

        Raises:
            Interrupted: a stop was requested.
            TrainingError: the checkpoint still could not be written.
        """
        if self._retry_until_deadline(lambda: self.save(progress)):
            return
        raise self.cannot_save(progress)

    def cannot_save(self, progress: Progress) -> TrainingError:
        """Return the error to raise when a step could not be saved."""
        if self._is_gone():
            return TrainingError(
                f"{self._run.path}: {_GONE}, so step {progress.step:,} could not be saved. If the folder was moved, "
                "resume from its newest checkpoint: heed train --resume NEW_PATH. If it was deleted, restore it from "
                "a backup or train again"
            )
        steps = self._run.steps()
        saved = f"the newest checkpoint is step {steps[-1]:,}" if steps else "there is no checkpoint"
        return TrainingError(
            f"step {progress.step:,} could not be saved in {self._run.path}; {saved}. Free some disk space, then run: "
            f"heed train --resume {self._run.path}"
        )

    def delete_old(self) -> None:
        """Delete all checkpoints but the newest regular ones (to average), the two newest of any kind, and the best."""
        if not self._workers.leads:
            return
        best = None if self.best is None else self.best["checkpoint"]
        try:
            steps = self._run.steps()
            keep = {*self.regular_steps()[-self._run.config.train.keep_checkpoints :], *steps[-2:]}
            self._run.delete_steps({s for s in steps if s not in keep and self._run.step_path(s).name != best})
        except OSError as error:
            self._log.warn(f"could not delete an old checkpoint in {self._run.path}: {error.strerror}")

    def regular_steps(self) -> list[int]:
        """Return the steps of the checkpoints saved by `train.save_every`, and of the last one."""
        config = self._run.config.train
        return [step for step in self._run.steps() if step % config.save_every == 0 or step == config.max_steps]

    # --- the best -----------------------------------------------------------------------------------------

    def set_best(self, name: str, step: int, found: Validation | None) -> None:
        """Make a checkpoint the one to translate with."""
        scores = {} if found is None else {"metric": self._run.config.train.metric, **found.scores}
        self.best, self._best_is_written = {"checkpoint": name, "step": step, **scores}, False
        self._write_best()
        self.delete_old()

    def save_average(self, steps: list[int]) -> str | None:
        """Save the average of these steps' weights (section 6.1); return its name, or None if that failed."""
        return self._save_weights(
            f"average-{steps[-1]:08d}",
            lambda: average(read_tensors(self._run.step_path(step), "model") for step in steps),
            {"step": steps[-1], "averaged": steps},
        )

    def save_running_average(self, step: int) -> str | None:
        """Save the running average of the weights; return its name, or None if that failed."""
        weights = self._learner.state()["mean"]
        return self._save_weights(f"ema-{step:08d}", lambda: weights, {"step": step})

    def finish(self) -> None:
        """Write best.json if an earlier attempt failed."""
        if not self._retry_until_deadline(self._write_best):
            if self._is_gone():
                raise TrainingError(
                    f"{self._run.path}: {_GONE}, so the model could not be saved. If the folder was moved, resume "
                    "there: heed train --resume NEW_PATH"
                )
            raise TrainingError(
                f"{self._run.path / 'best.json'} could not be written; free some disk space, then run: "
                f"heed train --resume {self._run.path}"
            )

    def _save_weights(self, name: str, make: Callable[[], dict[str, Tensor]], info: dict[str, Any]) -> str | None:
        weights: dict[str, Tensor] = {}
        fault = ""
        if self._workers.leads:
            try:
                weights = make()
            except DamageError as error:
                fault = str(error)
        if fault := self._workers.from_leader(fault):
            self._log.warn(f"{name} was not created: {fault}")
            return None

        def write() -> bool:
            return self._write(lambda: self._run.save_weights(name, weights, info), name)

        return name if self._retry_until_deadline(write) else None

    def _write_best(self) -> bool:
        best = self.best
        if best is None or self._best_is_written:
            return True
        self._best_is_written = self._write(lambda: self._run.set_best(best), "best.json")
        return self._best_is_written

    # --- writing with retries -----------------------------------------------------------------------------

    def _write(self, write: Callable[[], object], what: str) -> bool:
        """Let the first process write something; return in all processes whether it succeeded."""
        failure = ""
        for wait in (*_QUICK_RETRY_SECONDS, None) if self._workers.leads else ():
            if self._is_gone():
                failure = _GONE
                break
            try:
                write()
                failure = ""
                break
            except (OSError, DamageError) as error:
                failure = str(getattr(error, "strerror", None) or error)
            if wait is not None:
                time.sleep(wait)
        failure = self._workers.from_leader(failure)
        if not failure:
            self._retry_seconds, self._retry_at = _MIN_RETRY_SECONDS, float("inf")
            return True
        meanwhile = "waiting" if self._is_final else "training continues"
        advice = f"Restore {self._run.path}" if failure == _GONE else f"Check that {self._run.path} has free space"
        self._log.warn(
            f"could not save {what}: {failure}; {meanwhile}, next attempt in {self._retry_seconds:.0f} s. {advice}"
        )
        self._retry_at = time.monotonic() + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, _MAX_RETRY_SECONDS)
        return False

    def _retry_until_deadline(self, attempt: Callable[[], bool]) -> bool:
        """Call `attempt` until it succeeds or the deadline passes; return whether it succeeded."""
        self._is_final, deadline = True, time.monotonic() + _FINAL_SAVE_SECONDS
        while not attempt():
            wait = max(0.0, self._retry_at - time.monotonic())
            give_up = self._is_gone() or time.monotonic() + wait > deadline
            stop, give_up = self._workers.any(self._stop.asked, give_up)
            if stop:
                raise Interrupted
            if give_up:
                return False
            time.sleep(wait)
        return True

    def warn_if_gone(self) -> None:
        """Warn as soon as the run folder disappears, not only at the next save."""
        gone = self._is_gone()
        if gone and not self._warned_gone:
            self._log.warn(
                f"{self._run.path}: {_GONE}. Training continues, but nothing can be saved: restore the folder, or stop"
            )
        self._warned_gone = gone

    def _is_gone(self) -> bool:
        """Return whether the run folder or its config.json is gone; only the first process looks."""
        if self._folder is None:
            return False
        try:
            same = os.path.samestat(os.stat(self._run.path), os.fstat(self._folder))
            return not (same and (self._run.path / "config.json").exists())
        except OSError:
            return True

    # --- resuming -----------------------------------------------------------------------------------------

    def restore(self) -> Progress:
        """Load the newest intact checkpoint; without any checkpoint, start at step 0.

        Raises:
            CheckpointError: the run's text or settings have changed, or no checkpoint is intact.
            ConfigError: the run is already beyond `train.max_steps`.
        """
        newest = None
        with self._workers.failing_together():
            if self._workers.leads:
                remove_leftovers(self._run.path / "checkpoints")
                newest = self._newest_intact()
                if newest is not None and newest > self._run.config.train.max_steps:
                    raise ConfigError(
                        f"train.max_steps = {self._run.config.train.max_steps}, but {self._run.path} is already at "
                        f"step {newest}; set a higher value, or drop the setting"
                    )
        step = self._workers.from_leader(newest)
        if step is None:
            self._log.event("resume", "no checkpoint yet: starting at step 0", step=0)
            progress = Progress()
        else:
            path = self._run.step_path(step)
            self._learner.load(read_all_tensors(path), str(path))
            manifest = read_manifest(path)
            progress = _progress(manifest.get("state"), step, path)
            self._log.event("resume", f"resuming at step {progress.step:,}", step=progress.step)
            machine = manifest.get("machine")
            self._compare_machines(machine if isinstance(machine, dict) else {})
        # best.json may be older or newer than the checkpoint, or damaged, so write it again.
        best = self._run.step_path(progress.best_step)
        if progress.best is not None and self._workers.from_leader(best.exists()):
            self.set_best(best.name, progress.best_step, progress.best)
        else:
            with self._workers.failing_together():
                if self._workers.leads:
                    self._run.forget_best()
        return progress

    def _is_saved(self, progress: Progress) -> bool:
        path = self._run.step_path(progress.step)
        try:
            return path.exists() and Progress.from_state(read_manifest(path).get("state", {})) == progress
        except CheckpointError:  # damaged: write it again
            return False

    def _newest_intact(self) -> int | None:
        """Return the step of the newest intact checkpoint, after quarantining the damaged ones above it."""
        faults: list[tuple[int, DamageError]] = []
        for step in reversed(self._run.steps()):
            path = self._run.step_path(step)
            try:
                verify_checkpoint(path)
            except DamageError as error:
                faults.append((step, error))
                continue
            self._check_identity(path)
            for damaged, fault in faults:
                self._log.warn(f"{fault}; falling back to step {step:,}")
                self._run.quarantine(damaged)
            return step
        if faults:
            raise CheckpointError(
                f"{self._run.path}: no checkpoint is intact: {'; '.join(str(fault) for _, fault in faults)}. "
                f"Restore one from a backup, or train again: heed train {self._run.path}/config.json --out NEW_FOLDER"
            )
        saved = [event.get("step") for event in self._run.events() if event.get("event") == "checkpoint"]
        if saved:
            raise CheckpointError(
                f"{self._run.path}: its checkpoints are gone: {self._run.events_path.name} records one at step "
                f"{saved[-1]}, but {self._run.path / 'checkpoints'} has none. Restore them from a backup, or train "
                f"again: heed train {self._run.path}/config.json --out NEW_FOLDER"
            )
        return None

    def _check_identity(self, path: Path) -> None:
        """Refuse a checkpoint of other settings or other text."""
        self._run.check_same_run(path)
        manifest = read_manifest(path)
        for what, text in self._texts.items():
            if manifest.get(what) != text.checksum:
                raise CheckpointError(
                    f"{text.name}: not the {what} text that {self._run.path} started with; restore the old text "
                    "to resume, or start a new run with the new text"
                )

    def _machine(self) -> dict[str, Any]:
        """Return everything outside the run that rounding depends on."""
        on_cpu, train = self._workers.device.type == "cpu", self._run.config.train
        by = {"bfloat16 products": products_by(train.precision, self._workers.device, train.compile)}
        return {
            "heed": heed.__version__,
            "torch": torch.__version__,
            "device": self._workers.device.type,
            "processor": processor.name() if on_cpu else torch.cuda.get_device_name(),
            "C kernels": "on" if library() is not None else "off",
            "threads": torch.get_num_threads(),
            "processes": self._workers.size,
            **(by if on_cpu and train.precision == "bfloat16" else {}),
        }

    def _compare_machines(self, then: dict[str, Any]) -> None:
        now = self._machine()
        # Before there were tiles (AMX), a run did not record this.
        then = {"bfloat16 products": "AVX512-BF16" if then.get("C kernels") == "on" else "PyTorch", **then}
        if "C kernels" not in then and self._run.config.model.dropout:
            self._log.warn(
                "this run was started by a version that drew dropout masks differently: training continues with the "
                "same batches but other masks, so this resume is not bit-exact"
            )
        changed = [f"{key} {then[key]} → {now[key]}" for key in now if key in then and then[key] != now[key]]
        if changed:
            self._log.warn(
                f"environment changed ({', '.join(changed)}): training continues with the same batches and dropout "
                "masks, but sums round differently, so this resume is not bit-exact"
            )


def _progress(state: object, step: int, path: Path) -> Progress:
    """Read the progress that a checkpoint's manifest holds.

    Raises:
        CheckpointError: it holds none, or that of another step.
    """
    try:
        progress = Progress.from_state(state)  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError):
        progress = None
    numbers = [(f.default, getattr(progress, f.name, None)) for f in fields(Progress)]
    fits = all(isinstance(found, int | float) for default, found in numbers if isinstance(default, int | float))
    if progress is None or progress.step != step or not fits:
        raise CheckpointError(f"{path}: its manifest has no valid training state; restore it from a backup")
    return progress
