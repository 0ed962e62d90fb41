"""Checkpoints in the course of a training: what is saved when, kept for how long, and taken up again after a crash.

A full disk does not stop a training: it goes on, says so, and tries again. A damaged checkpoint does not end a run:
the newest whole one is taken. The first process alone writes; the others are told.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from heed.checkpoint import average, read_all_tensors, read_manifest, read_tensors, verify_checkpoint
from heed.durable import tidy
from heed.errors import CheckpointError, DamageError, TrainingError
from heed.run import RunFolder
from heed.training.learner import Learner
from heed.training.log import Log
from heed.training.progress import Progress
from heed.training.stop import StopRequest
from heed.training.validate import Validation

_RETRY_AFTER = 60.0  # seconds after a save that failed
_LAST_TRIES, _LAST_WAIT = 60, 10.0  # the last checkpoint is tried for ten minutes


class Keeper:
    """Saves and restores one run."""

    def __init__(self, run: RunFolder, learner: Learner, log: Log, stop: StopRequest, identity: dict[str, str]) -> None:
        """`identity` are the checksums of the texts: a checkpoint belongs to them."""
        self._run, self._learner, self._log, self._stop, self._identity = run, learner, log, stop, identity
        self._workers = learner.workers
        self._retry_at: float | None = None

    # --- saving -------------------------------------------------------------------------------------------

    @property
    def retry_is_due(self) -> bool:
        """In the first process: is it time to try again what failed?"""
        return self._retry_at is not None and time.monotonic() >= self._retry_at

    def save(self, progress: Progress) -> bool:
        """A checkpoint of the present step, unless there is one that says the same. False: it could not be written."""
        path = self._run.step_path(progress.step)
        if self._workers.from_leader(path.exists() and read_manifest(path)["state"] == asdict(progress)):
            return True
        tensors = self._learner.state()  # all processes bring their shares
        failure = ""
        if self._workers.leads:
            try:
                info = {"state": asdict(progress), "config": self._run.config.to_dict(), **self._identity}
                self._run.save_step(progress.step, tensors, info)
            except (OSError, DamageError) as error:
                failure = getattr(error, "strerror", None) or str(error)
        failure = self._workers.from_leader(failure)
        if failure:
            self._retry_at = time.monotonic() + _RETRY_AFTER
            self._log.warn(
                f"could not save step {progress.step:,}: {failure}; training goes on, next try in "
                f"{_RETRY_AFTER:.0f} s. Make room in {self._run.path}"
            )
            return False
        self._retry_at = None
        self._log.event("checkpoint", step=progress.step)
        self.delete_old()
        return True

    def save_at_last(self, progress: Progress) -> None:
        """The same when there is no more training to go on with: try for a while, unless asked to stop.

        Raises:
            TrainingError: there is still no room.
        """
        for _ in range(_LAST_TRIES):
            if self.save(progress):
                return
            if self._workers.any(self._stop.asked)[0]:
                break
            time.sleep(_LAST_WAIT)
        steps = self._run.steps()
        saved = f"the last checkpoint is that of step {steps[-1]:,}" if steps else "there is no checkpoint"
        raise TrainingError(f"step {progress.step:,} could not be saved in {self._run.path}; {saved}")

    def delete_old(self) -> None:
        """Keep the newest regular checkpoints (they are averaged), the very newest, and the best."""
        if not self._workers.leads:
            return
        steps, best = self._run.steps(), self._run.best()
        keep = {*self.regular_steps()[-self._run.config.train.keep_checkpoints :], *steps[-2:]}
        keep |= {step for step in steps if best is not None and best["checkpoint"] == self._run.step_path(step).name}
        self._run.delete_steps(set(steps) - keep)

    def regular_steps(self) -> list[int]:
        config = self._run.config.train
        return [step for step in self._run.steps() if step % config.save_every == 0 or step == config.max_steps]

    # --- the best -----------------------------------------------------------------------------------------

    def set_best(self, path: Path, step: int, found: Validation | None) -> None:
        if self._workers.leads:
            scores = {} if found is None else {"bleu": found.bleu, "perplexity": found.perplexity}
            self._attempt(lambda: self._run.set_best(path.name, {"step": step, **scores}), "best.json")
            self.delete_old()

    def save_mean(self, steps: list[int]) -> Path | None:
        """Section 6.1: the mean of these steps' weights."""
        return self._save_weights(
            f"average-{steps[-1]:08d}",
            lambda: average([read_tensors(self._run.step_path(step), "model") for step in steps]),
            {"step": steps[-1], "averaged": steps},
        )

    def save_running_mean(self, step: int) -> Path | None:
        weights = self._learner.state()["mean"]
        return self._save_weights(f"ema-{step:08d}", lambda: weights, {"step": step})

    def _save_weights(self, name: str, make: Callable[[], dict[str, Tensor]], info: dict[str, Any]) -> Path | None:
        saved = False
        if self._workers.leads:
            saved = self._attempt(lambda: self._run.save_weights(name, make(), info), name)
        return self._run.path / "checkpoints" / name if self._workers.from_leader(saved) else None

    def _attempt(self, write: Callable[[], object], what: str) -> bool:
        try:
            write()
        except (OSError, DamageError) as error:
            self._log.warn(f"could not write {what}: {getattr(error, 'strerror', None) or error}")
            return False
        return True

    # --- going on -----------------------------------------------------------------------------------------

    def restore(self) -> Progress:
        """Take up the newest whole checkpoint; without any, begin at the beginning.

        Raises:
            CheckpointError: the run's text or settings have changed, or no checkpoint is whole.
        """
        if self._workers.leads:
            tidy(self._run.path / "checkpoints")
            tidy(self._run.path)
        step = self._workers.from_leader(self._newest_whole() if self._workers.leads else None)
        if step is None:
            self._log.event("resume", "no checkpoint yet: beginning at step 0", step=0)
            if self._workers.leads:
                self._run.forget_best()
            return Progress()
        path = self._run.step_path(step)
        self._learner.load(read_all_tensors(path), str(path))
        progress = Progress(**read_manifest(path)["state"])
        # best.json may be older or newer than the checkpoint.
        if progress.best is not None:
            self.set_best(self._run.step_path(progress.best_step), progress.best_step, progress.best)
        elif self._workers.leads:
            self._run.forget_best()
        self._log.event("resume", f"going on at step {progress.step:,}", step=progress.step)
        return progress

    def _newest_whole(self) -> int | None:
        steps = self._run.steps()
        faults = []
        for step in reversed(steps):
            path = self._run.step_path(step)
            try:
                verify_checkpoint(path)
                self._check_identity(path)
            except DamageError as error:
                faults.append((step, error))
                continue
            for damaged, fault in faults:
                self._log.warn(f"{fault}; going back to step {step:,}")
                self._run.set_aside(damaged)
            return step
        if faults:
            raise CheckpointError(
                f"{self._run.path}: no checkpoint is whole: {'; '.join(str(fault) for _, fault in faults)}. "
                f"Put one back from a copy, or train anew: heed train {self._run.path}/config.json --out ANOTHER"
            )
        return None

    def _check_identity(self, path: Path) -> None:
        self._run.check_same_run(path)
        manifest = read_manifest(path)
        for what, checksum in self._identity.items():
            if manifest.get(what, checksum) != checksum:
                raise CheckpointError(
                    f"{self._run.path}: the {what} text is not the one this run was begun with; put back the old text "
                    "to go on, or begin a new run with the new one"
                )
