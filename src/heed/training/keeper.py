"""Checkpoints in the course of a training: what is saved when, kept for how long, and taken up again after a crash.

A full disk does not stop a training: it goes on, says so, and tries again. A damaged checkpoint does not end a run:
the newest whole one is taken. The first process alone writes; the others are told.
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
from heed.durable import tidy
from heed.errors import CheckpointError, ConfigError, DamageError, TrainingError
from heed.kernels.library import library
from heed.run import RunFolder
from heed.training.learner import Learner
from heed.training.log import Log
from heed.training.progress import Progress
from heed.training.stop import Interrupted, StopRequest
from heed.training.validate import Validation

# Seconds before the next tries to write what could not be written: some troubles pass in an instant,
_AT_ONCE = (0.05, 0.2)
# others take a while.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_AT_LAST = 600.0  # for so long, when there is no more training to go on with
_GONE = "the run folder is gone: deleted, moved, or replaced by another"


@dataclass(frozen=True)
class Text:
    name: str
    checksum: str


class Keeper:
    """Saves and restores one run."""

    def __init__(self, run: RunFolder, learner: Learner, log: Log, stop: StopRequest, texts: dict[str, Text]) -> None:
        """A checkpoint belongs to these texts."""
        self._run, self._learner, self._log, self._stop, self._texts = run, learner, log, stop, texts
        self._workers = learner.workers
        self._wait, self._retry_at = _FIRST_WAIT, float("inf")
        self.best: dict[str, Any] | None = None  # what best.json says, or should say
        self._best_is_written = True
        self._at_last = False  # there is no more training to go on with
        # Held open, so that its number is not given to another folder should this one be deleted.
        self._folder = os.open(run.path, os.O_RDONLY) if self._workers.leads else None
        self._gone_is_said = False

    def close(self) -> None:
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    # --- saving -------------------------------------------------------------------------------------------

    @property
    def retry_is_due(self) -> bool:
        """In the first process: is it time to try again what failed?"""
        return time.monotonic() >= self._retry_at

    def save(self, progress: Progress) -> bool:
        """A checkpoint of the present step, unless there is one that says the same. False: it could not be written."""
        if self._workers.from_leader(self._is_saved(progress)):
            return self._write_best()
        tensors = self._learner.state()  # all processes bring their shares
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
        """A checkpoint of the present step, which is the best up to now."""
        if not self.save(progress):
            return False
        self.set_best(self._run.step_path(progress.step).name, progress.step, found)
        return True

    def save_at_last(self, progress: Progress) -> None:
        """The same when there is no more training to go on with: try for a while.

        Raises:
            Interrupted: somebody asks to stop trying.
            TrainingError: there is still no room.
        """
        if self._patiently(lambda: self.save(progress)):
            return
        raise self.cannot_save(progress)

    def cannot_save(self, progress: Progress) -> TrainingError:
        if self._is_gone():
            return TrainingError(
                f"{self._run.path}: {_GONE}, so step {progress.step:,} and all since are not saved. If it was moved, "
                f"go on from its newest checkpoint where it is now: heed train --resume FOLDER. If it was deleted, "
                "the run is lost but for copies; train again"
            )
        steps = self._run.steps()
        saved = f"what is saved is step {steps[-1]:,}" if steps else "nothing is saved"
        return TrainingError(
            f"step {progress.step:,} could not be saved in {self._run.path}; {saved}. Make room, then: "
            f"heed train --resume {self._run.path}"
        )

    def delete_old(self) -> None:
        """Keep the newest regular checkpoints (they are averaged), the very newest, and the best."""
        if not self._workers.leads:
            return
        best = None if self.best is None else self.best["checkpoint"]
        try:
            steps = self._run.steps()
            keep = {*self.regular_steps()[-self._run.config.train.keep_checkpoints :], *steps[-2:]}
            self._run.delete_steps({s for s in steps if s not in keep and self._run.step_path(s).name != best})
        except OSError as error:
            self._log.warn(f"could not delete an old checkpoint: {error.strerror}; it stays in {self._run.path}")

    def regular_steps(self) -> list[int]:
        config = self._run.config.train
        return [step for step in self._run.steps() if step % config.save_every == 0 or step == config.max_steps]

    # --- the best -----------------------------------------------------------------------------------------

    def set_best(self, name: str, step: int, found: Validation | None) -> None:
        """Which checkpoint to translate with, from now on."""
        scores = {} if found is None else {"metric": self._run.config.train.metric, **found.scores}
        self.best, self._best_is_written = {"checkpoint": name, "step": step, **scores}, False
        self._write_best()
        self.delete_old()

    def save_mean(self, steps: list[int]) -> str | None:
        """Section 6.1: the mean of these steps' weights. None: it could not be made."""
        return self._save_weights(
            f"average-{steps[-1]:08d}",
            lambda: average(read_tensors(self._run.step_path(step), "model") for step in steps),
            {"step": steps[-1], "averaged": steps},
        )

    def save_running_mean(self, step: int) -> str | None:
        weights = self._learner.state()["mean"]
        return self._save_weights(f"ema-{step:08d}", lambda: weights, {"step": step})

    def finish(self) -> None:
        """Write what is still to be written."""
        if not self._patiently(self._write_best):
            if self._is_gone():
                raise TrainingError(f"{self._run.path}: {_GONE}, so what was trained is lost but for copies of it")
            raise TrainingError(f"{self._run.path / 'best.json'} could not be written; make room, and resume")

    def _save_weights(self, name: str, make: Callable[[], dict[str, Tensor]], info: dict[str, Any]) -> str | None:
        weights: dict[str, Tensor] = {}
        fault = ""
        if self._workers.leads:
            try:
                weights = make()
            except DamageError as error:
                fault = str(error)
        if fault := self._workers.from_leader(fault):
            self._log.warn(f"{name} is not made: {fault}")
            return None
        return (
            name
            if self._patiently(lambda: self._write(lambda: self._run.save_weights(name, weights, info), name))
            else None
        )

    def _write_best(self) -> bool:
        best = self.best
        if best is None or self._best_is_written:
            return True
        self._best_is_written = self._write(lambda: self._run.set_best(best), "best.json")
        return self._best_is_written

    # --- writing, and trying again ------------------------------------------------------------------------

    def _write(self, write: Callable[[], object], what: str) -> bool:
        """Let the first process write something; all learn whether it could."""
        failure = ""
        for wait in (*_AT_ONCE, None) if self._workers.leads else ():
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
            self._wait, self._retry_at = _FIRST_WAIT, float("inf")
            return True
        meanwhile = "waiting" if self._at_last else "training goes on"
        advice = f"Put back {self._run.path}" if failure == _GONE else f"Make room in {self._run.path}"
        self._log.warn(f"could not save {what}: {failure}; {meanwhile}, next try in {self._wait:.0f} s. {advice}")
        self._retry_at = time.monotonic() + self._wait
        self._wait = min(2 * self._wait, _LONGEST_WAIT)
        return False

    def _patiently(self, attempt: Callable[[], bool]) -> bool:
        """Try until it works, for as long as it makes sense."""
        self._at_last, deadline = True, time.monotonic() + _AT_LAST
        while not attempt():
            wait = max(0.0, self._retry_at - time.monotonic())
            in_vain = self._is_gone() or time.monotonic() + wait > deadline
            asked, too_late = self._workers.any(self._stop.asked, in_vain)
            if asked:
                raise Interrupted
            if too_late:
                return False
            time.sleep(wait)
        return True

    def warn_if_gone(self) -> None:
        """Say it at once when the run folder is taken away, and not only at the next save."""
        gone = self._is_gone()
        if gone and not self._gone_is_said:
            self._log.warn(
                f"{self._run.path}: {_GONE}. Training goes on, but nothing can be saved; put the folder back, or stop"
            )
        self._gone_is_said = gone

    def _is_gone(self) -> bool:
        """In the first process: has the folder, or what makes it a run, been taken away?"""
        if self._folder is None:
            return False
        try:
            same = os.path.samestat(os.stat(self._run.path), os.fstat(self._folder))
            return not (same and (self._run.path / "config.json").exists())
        except OSError:
            return True

    # --- going on -----------------------------------------------------------------------------------------

    def restore(self) -> Progress:
        """Take up the newest whole checkpoint; without any, begin at the beginning.

        Raises:
            CheckpointError: the run's text or settings have changed, or no checkpoint is whole.
        """
        newest = None
        with self._workers.agreeing():
            if self._workers.leads:
                tidy(self._run.path / "checkpoints")
                newest = self._newest_whole()
                if newest is not None and newest > self._run.config.train.max_steps:
                    raise ConfigError(
                        f"train.max_steps = {self._run.config.train.max_steps}, but {self._run.path} is at step "
                        f"{newest}; set it higher, or leave it out"
                    )
        step = self._workers.from_leader(newest)
        if step is None:
            self._log.event("resume", "no checkpoint yet: beginning at step 0", step=0)
            progress = Progress()
        else:
            path = self._run.step_path(step)
            self._learner.load(read_all_tensors(path), str(path))
            manifest = read_manifest(path)
            progress = _progress(manifest.get("state"), step, path)
            self._log.event("resume", f"going on at step {progress.step:,}", step=progress.step)
            machine = manifest.get("machine")
            self._compare_machines(machine if isinstance(machine, dict) else {})
        # best.json may be older or newer than the checkpoint, or damaged.
        best = self._run.step_path(progress.best_step)
        if progress.best is not None and self._workers.from_leader(best.exists()):
            self.set_best(best.name, progress.best_step, progress.best)
        else:
            with self._workers.agreeing():
                if self._workers.leads:
                    self._run.forget_best()
        return progress

    def _is_saved(self, progress: Progress) -> bool:
        path = self._run.step_path(progress.step)
        try:
            return path.exists() and Progress.from_state(read_manifest(path).get("state", {})) == progress
        except CheckpointError:  # to be written again
            return False

    def _newest_whole(self) -> int | None:
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
                self._log.warn(f"{fault}; going back to step {step:,}")
                self._run.set_aside(damaged)
            return step
        if faults:
            raise CheckpointError(
                f"{self._run.path}: no checkpoint is whole: {'; '.join(str(fault) for _, fault in faults)}. "
                f"Put one back from a copy, or train anew: heed train {self._run.path}/config.json --out ANOTHER"
            )
        saved = [event.get("step") for event in self._run.events() if event.get("event") == "checkpoint"]
        if saved:
            raise CheckpointError(
                f"{self._run.path}: its checkpoints are gone: {self._run.events_path.name} tells of one at step "
                f"{saved[-1]}, but {self._run.path / 'checkpoints'} has none. Put them back from a copy, or train "
                f"anew: heed train {self._run.path}/config.json --out ANOTHER"
            )
        return None

    def _check_identity(self, path: Path) -> None:
        self._run.check_same_run(path)
        manifest = read_manifest(path)
        for what, text in self._texts.items():
            if manifest.get(what) != text.checksum:
                raise CheckpointError(
                    f"{text.name}: not the {what} text {self._run.path} was begun with; put back the old text "
                    "to go on, or begin a new run with the new one"
                )

    def _machine(self) -> dict[str, Any]:
        """What the rounding of sums depends on."""
        on_cpu = self._workers.device.type == "cpu"
        return {
            "heed": heed.__version__,
            "torch": torch.__version__,
            "device": self._workers.device.type,
            "processor": processor.name() if on_cpu else torch.cuda.get_device_name(),
            "C kernels": "on" if library() is not None else "off",
            "threads": torch.get_num_threads(),
            "processes": self._workers.size,
        }

    def _compare_machines(self, then: dict[str, Any]) -> None:
        now = self._machine()
        if "C kernels" not in then and self._run.config.model.dropout:
            self._log.warn(
                "this run was begun by a version that drew dropout masks in another way: training continues with the "
                "same batches and new masks, so not bit for bit"
            )
        changed = [f"{key} {then[key]} → {now[key]}" for key in now if key in then and then[key] != now[key]]
        if changed:
            self._log.warn(
                f"environment changed ({', '.join(changed)}): training continues with the same batches and dropout "
                "masks, but sums are rounded differently, so not bit for bit"
            )


def _progress(state: object, step: int, path: Path) -> Progress:
    """
    Raises:
        CheckpointError: the checkpoint does not say where the training stood.
    """
    try:
        progress = Progress.from_state(state)  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError):
        progress = None
    numbers = [(f.default, getattr(progress, f.name, None)) for f in fields(Progress)]
    fits = all(isinstance(found, int | float) for default, found in numbers if isinstance(default, int | float))
    if progress is None or progress.step != step or not fits:
        raise CheckpointError(f"{path}: its manifest does not say where the training stood; put it back from a copy")
    return progress
