"""The training loop: steps, validation, saving, resuming, stopping.

Everything the loop goes by is either in the config or in `Progress`, and every update is a pure function of
the weights, the optimizer's state and the step number. So a resumed run is the same run. And every process of
a training goes through the same loop: what only one of them knows, it tells the others (`Workers`).
"""

import math
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.checkpoint import read_tensors
from heed.config import Config, build_config
from heed.data.batch import Batch, make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText, overlap
from heed.data.store import PairStore
from heed.durable import checksum, json_bytes
from heed.errors import TrainingError
from heed.evaluate import CRITERIA, criterion
from heed.kernels.library import library
from heed.lock import FolderLock
from heed.model.build import build_model
from heed.model.interface import SequenceModel
from heed.run import RunFolder, load_weights
from heed.training import begin
from heed.training.collapse import collapse_advice
from heed.training.keeper import Keeper, Text
from heed.training.lanes import n_lanes
from heed.training.learner import NOTHING, Learner
from heed.training.log import Log, Silence
from heed.training.memory import fitting, free_memory, peak_memory, predicted_peak, used_memory
from heed.training.precision import check_precision
from heed.training.progress import Progress
from heed.training.step import StepResult, train_step
from heed.training.stop import Interrupted, StopRequest
from heed.training.tensorboard import check_tensorboard
from heed.training.validate import Validation, validate
from heed.training.workers import Workers, all_workers, is_restart
from heed.wording import counted, gigabytes


@dataclass(frozen=True)
class Outcome:
    """How a training ended."""

    path: Path
    step: int
    reason: str  # "finished", "early" or "interrupted"
    best: dict[str, Any] | None


OnStep = Callable[[int, StepResult], None]


def train(config: Config, out: str | Path, *, on_step: OnStep | None = None, quiet: bool = False) -> Outcome:
    """Train from text files into a new run folder.

    Args:
        on_step: called after each update with its number and result, in the first process only.
        quiet: say nothing on standard error; `events.jsonl` in the run folder has it all.

    Raises:
        ConfigError, DataError, TokenizerError: and nothing is left behind.
        CheckpointError: the folder exists already.
        TrainingError: the loss is no longer a number.
        TypeError: `config` is not a `Config`.
    """
    if not isinstance(config, Config):
        raise TypeError(f'config must be a heed.Config, such as heed.preset("tiny"), not {config!r}')
    config, out = build_config(config), Path(out)
    with all_workers() as workers:
        say = _log(None, config, workers, quiet).say
        with workers.agreeing():  # machines may differ
            check_precision(config.train.precision, workers.device, say)
        if config.train.tensorboard:
            check_tensorboard()
        # Each lane has a sum of its own, so a resume needs as many lanes to round alike.
        config = replace(config, train=replace(config.train, lanes=n_lanes(config, workers)))
        going_on = workers.any(is_restart())[0] and workers.from_leader((out / "config.json").exists())
        lock = None
        with workers.agreeing():
            if workers.leads and not going_on:
                lock = begin.make_run(config, out, workers, say)
        return _go_on(out, workers, going_on, lock, on_step=on_step, quiet=quiet)


def resume(
    out: str | Path,
    *,
    max_steps: int | None = None,
    patience: int | None = None,
    on_step: OnStep | None = None,
    quiet: bool = False,
) -> Outcome:
    """Go on with a training where its newest whole checkpoint stands, for longer than first planned if asked to.

    Nothing else of a run can change: it would be another run. `on_step` and `quiet` are those of `train`.
    """
    longer = {key: n for key, n in (("max_steps", max_steps), ("patience", patience)) if n is not None}
    with all_workers() as workers:
        with workers.agreeing():
            config = RunFolder.open(Path(out)).config
            check_precision(config.train.precision, workers.device, _log(None, config, workers, quiet).say)
        return _go_on(Path(out), workers, restore=True, longer=longer, on_step=on_step, quiet=quiet)


def _go_on(
    out: Path,
    workers: Workers,
    restore: bool,
    lock: FolderLock | None = None,
    longer: dict[str, int] | None = None,
    on_step: OnStep | None = None,
    quiet: bool = False,
) -> Outcome:
    """Train in a run folder that is there, in all processes."""
    done = None
    try:
        with workers.agreeing():
            if workers.leads:
                begun = RunFolder.open(out)
                lock = lock or FolderLock.acquire(out)
                done = _outcome_without_validation(begun) if restore and not longer else None
                if done is None:
                    begin.remake_corpus(begun)
        if (done := workers.from_leader(done)) is not None:
            return done
        with workers.agreeing():  # a file may be missing on one of many machines
            run = RunFolder.open(out)
            if longer:
                run.config = build_config(run.config, ("resume", {"train": longer}))
            if restore:
                run.check_newest()
            store, valid = begin.open_corpus(run), begin.read_own_validation(run)
        log = _log(run.events_path, run.config, workers, quiet)
        return _Training(run, store, valid, workers, log, on_step).go_on(restore)
    finally:
        if lock is not None:
            lock.release()


def _outcome_without_validation(run: RunFolder) -> Outcome | None:
    """How a run ended whose validation text is gone, which it no longer needs; None if there is more to do."""
    missing, end = begin.missing_validation(run.config), run.ending()
    if not missing or end is None:
        return None
    log = Log(None, run.config.train.max_steps)
    log.say(f"{run.path} has ended already, at step {end['step']:,}: there is nothing to do ({missing})")
    return Outcome(run.path, end["step"], str(end.get("reason")), run.best())


class _Training:
    """One run, in the making."""

    def __init__(
        self,
        run: RunFolder,
        store: PairStore,
        valid: begin.Pairs,
        workers: Workers,
        log: Log,
        on_step: OnStep | None,
    ) -> None:
        config = run.config
        self.run, self.config, self.store, self.workers = run, config, store, workers
        self.valid = [pair for pair in valid if self._fits(pair)]
        self.n_long_valid = len(valid) - len(self.valid)
        self.criterion = criterion(config.train.metric, [target for _, target in valid])
        lengths = store.source.lengths, store.target.lengths
        self.plan = BatchPlan(*lengths, config.train.batch_tokens, config.train.seed, config.model.max_length)
        self.log, self.on_step = log, on_step
        self.stop = StopRequest()
        self.learner = Learner(config, len(run.tokenizer), workers)
        self.n_parameters = sum(parameter.numel() for parameter in self.learner.model.parameters())
        texts = {
            "training": Text(self._text_names(), store.checksum),
            "validation": Text(_valid_names(config), checksum(json_bytes(valid))),
        }
        self.keeper = Keeper(run, self.learner, self.log, self.stop, texts)
        self.progress = Progress()

    # --- what happens -------------------------------------------------------------------------------------

    def go_on(self, restore: bool) -> Outcome:
        """Train until the end, an early stop, or a request to stop."""
        with self.stop.listening():
            try:
                if restore:
                    self._restore()
                self._announce()
                self._fit_memory()
                reason = self._train()
                self._finish(reason)
            except Interrupted:
                reason = "interrupted"
                if self.progress.step and not self.keeper.save(self.progress):
                    raise self.keeper.cannot_save(self.progress) from None
                self.log.event(
                    "interrupted",
                    f"stopped and saved at step {self.progress.step:,}\n"
                    f"go on with: {self._command()} train --resume {self.run.path}",
                    step=self.progress.step,
                )
            finally:
                self.log.close()
                self.keeper.close()
        return Outcome(self.run.path, self.progress.step, reason, self.keeper.best)

    def _restore(self) -> None:
        self.progress = self.keeper.restore()
        if self.progress.step == self.config.train.max_steps:
            self.log.say(f"it has made all its steps; for more: --set train.max_steps={2 * self.progress.step}")
        with self.workers.agreeing():
            if self.workers.leads and self.config != RunFolder.open(self.run.path).config:
                self.run.change_config(self.config)  # for longer than it says

    def _train(self) -> str:
        """All the steps there are to make; returns why they ended."""
        config = self.config.train
        self.learner.model.train()
        while True:
            self._validate_if_due()
            if self._is_due(config.save_every):
                self.keeper.save(self.progress)
            if config.patience and self.progress.validations_since_best >= config.patience:
                return "early"
            if self.progress.step >= config.max_steps:
                return "finished"
            self.keeper.warn_if_gone()
            stop, retry = self.workers.any(self.stop.asked, self.keeper.retry_is_due)
            if stop:
                raise Interrupted
            if retry:
                self.keeper.save(self.progress)
            self._update()

    def _update(self) -> None:
        step = self.progress.step + 1
        epoch, index = divmod(self.progress.step, len(self.plan))
        pairs = self.plan.batch(epoch, index)
        n_tokens = int(self.store.target.lengths[pairs].sum())
        result = train_step(self.learner, self._micro_batches(pairs), n_tokens, step, self._stop_asked)
        if result.applied or result.overflowed:
            self.progress = replace(self.progress, step=step, bad_batches=0)
        else:
            self._leave_out(step, pairs)
        self.log.step(step, result, self.config.train.log_every)
        if self.on_step is not None and self.workers.leads:
            self.on_step(step, result)

    def _micro_batches(self, pairs: NDArray[np.integer[Any]]) -> list[Batch]:
        """This process's share of a batch, in as many portions as every other process's."""
        tokens, size = self.config.train.micro_batch_tokens, self.workers.size
        shares = [list(self.plan.micro_batches(pairs[rank::size], tokens)) for rank in range(size)]
        mine, most = shares[self.workers.rank], max(map(len, shares))
        return [make_batch(self.store, part) for part in mine] + [NOTHING] * (most - len(mine))

    def _leave_out(self, step: int, pairs: NDArray[np.integer[Any]]) -> None:
        """Loss or gradient of an update are not finite: nothing was changed by it; a few in a row are too many."""
        lines = sorted(self.store.lines[pairs].tolist())
        self.progress = replace(self.progress, step=step, bad_batches=self.progress.bad_batches + 1)
        named = f"lines {', '.join(map(str, lines[:10]))}{' ...' if len(lines) > 10 else ''} of {self._text_names()}"
        most = self.config.train.skip_bad_batches
        self.log.event(
            "skipped",
            f"warning: loss or gradient of step {step:,} are not finite, so it was left out "
            f"({self.progress.bad_batches} in a row); its batch is made of {named}",
            step=step,
            lines=lines,
        )
        if self.progress.bad_batches > most:
            raise TrainingError(
                f"the last {self.progress.bad_batches} updates are not finite, more than "
                f"train.skip_bad_batches = {most}; look at {named} (all are listed in {self.run.events_path}), "
                "or begin again with a lower train.learning_rate_factor. The checkpoints are whole"
            )

    def _stop_asked(self) -> bool:
        return self.workers.any(self.stop.asked)[0]

    def _is_due(self, every: int) -> bool:
        step = self.progress.step
        return step > 0 and (step % every == 0 or step == self.config.train.max_steps)

    # --- validation ---------------------------------------------------------------------------------------

    def _validate_if_due(self) -> None:
        step = self.progress.step
        if not (self._is_due(self.config.train.validate_every) and self.valid and self.progress.validated_step < step):
            return
        found = self._validate(self.learner.plain_model(), f"step {step:,}")
        if not found.better_than(self.progress.best, self.criterion):
            since_best = self.progress.validations_since_best + 1
            self.progress = replace(self.progress, validated_step=step, validations_since_best=since_best)
            return
        before = self.progress
        self.progress = replace(
            before, validated_step=step, best_step=step, best_scores=found.scores, validations_since_best=0
        )
        if step == self.config.train.max_steps:
            self.keeper.save_at_last(self.progress)
        if not self.keeper.save_best(self.progress, found):  # what is not kept cannot be the best
            self.progress = replace(before, validated_step=step, validations_since_best=0)

    def _validate(self, model: SequenceModel, name: str) -> Validation:
        self.log.validating()
        began = time.monotonic()
        found = validate(
            model,
            self.run.tokenizer,
            self.valid,
            self.config.decode,
            self.criterion,
            self.workers,
            lambda: self.stop.asked,
        )
        seconds = time.monotonic() - began
        self.log.pause(seconds)
        samples = "".join(
            f"\n    source       {one.source}"
            f"\n    translation  {textwrap.shorten(one.translation, 200, placeholder=' ...')}"
            f"\n    reference    {one.reference}"
            for one in found.samples
        )
        scores = ", ".join(f"{CRITERIA[key].label} {CRITERIA[key].shown(value)}" for key, value in found.scores.items())
        self.log.event(
            "validation",
            f"validation at {name}: {scores}{samples}",
            step=self.progress.step,
            of=name,
            **{key: value if math.isfinite(value) else None for key, value in found.scores.items()},
            samples=[asdict(one) for one in found.samples],
            seconds=round(seconds, 2),
        )
        # The first validation may come so early that the model has learnt nothing yet.
        is_early = self.progress.best is None and self.progress.step < self.config.train.warmup_steps
        if found.collapse and not is_early:
            self.log.warn("\n".join((*found.collapse, collapse_advice(self.config))))
        return found

    # --- the end ------------------------------------------------------------------------------------------

    def _finish(self, reason: str) -> None:
        config, step = self.config.train, self.progress.step
        self.keeper.save_at_last(self.progress)
        if reason == "early":
            self.log.event(
                "early_stop",
                f"stopping early: {counted(config.patience, 'validation')} without a better {self.criterion.label} "
                "(train.patience)",
                step=step,
            )
        self._try_means()
        self.keeper.finish()
        best = self.keeper.best or {}
        by = self.criterion
        if self.valid and not best:
            raise TrainingError(
                "no validation had a finite perplexity, so there is no model to translate with; begin again with a "
                f"lower train.learning_rate_factor (it was {config.learning_rate_factor:g})"
            )
        scores = f" (validation {by.label} {by.shown(best[by.key])})" if by.key in best else ""
        self.log.event(
            "end",
            f"done after {counted(step, 'step')}; "
            f"translations will use {best.get('checkpoint', 'the last step')}{scores}\n"
            f"next: {self._next(best)}",
            step=step,
            reason=reason,
            best=best,
            peak_memory=peak_memory(self.workers.device),
        )

    def _next(self, best: dict[str, Any]) -> str:
        if best.get("perplexity", 0) > len(self.run.tokenizer):
            return "see docs/learning.md: this model is worse than guessing"
        return f"heed translate --model {self.run.path} < input.txt > output.txt"

    def _try_means(self) -> None:
        """Section 6.1: the mean of the last checkpoints competes with the best one, and so does a running mean."""
        config, step = self.config.train, self.progress.step
        steps = self.workers.from_leader(self.keeper.regular_steps()[-config.average_last :])
        enough = config.average_last > 1 and len(steps) > 1
        if not self.valid:  # nothing to judge by: the mean, if there are enough for it
            enough = enough and len(steps) == config.average_last
            name = self.keeper.save_mean(steps) if enough else None
            self.keeper.set_best(name or self.run.step_path(step).name, step, None)
            return
        best = self.progress.best
        candidates = []
        if enough:
            candidates.append((self.keeper.save_mean(steps), f"the average of steps {', '.join(map(str, steps))}"))
        if config.ema_decay:
            candidates.append((self.keeper.save_running_mean(step), "the running mean of the weights"))
        for name, what in candidates:
            if name is None:  # it could not be made, and that was said
                continue
            path = self.run.checkpoint_path(name)
            model = build_model(self.config.model, len(self.run.tokenizer)).to(self.workers.device)
            load_weights(model, read_tensors(path, "model"), str(path))
            found = self._validate(model, what)
            if found.better_than(best, self.criterion):
                best = found
                self.keeper.set_best(name, step, found)

    # --- saying -------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        config, store = self.config, self.store
        self.log.event(
            "start",
            f"{config.preset}: {self.n_parameters / 1e6:.1f} M parameters, vocabulary {len(self.run.tokenizer):,}; "
            f"{counted(len(store) - self.plan.n_long, 'pair')} in {counted(len(self.plan), 'batch', 'batches')} "
            "an epoch; "
            f"run folder {self.run.path}",
            step=self.progress.step,
            max_steps=config.train.max_steps,
            parameters=self.n_parameters,
            vocabulary=len(self.run.tokenizer),
            pairs=len(store) - self.plan.n_long,
            batches_per_epoch=len(self.plan),
            processes=self.workers.size,
            metric=self.criterion.key,
        )
        if self.progress.step == 0 and (advice := begin.few_pairs(config.preset, len(store))):
            self.log.say(advice)
        if self.workers.device.type == "cpu" and library() is None:
            self.log.say(
                "without the C kernels (no compiler such as gcc, or HEED_KERNELS=off): slower by a quarter or so"
            )
        left_out = [
            f"{counted(count, 'pair')} {what} ({'line' if count == 1 else 'lines'} "
            f"{', '.join(map(str, lines))}{', ...' if count > len(lines) else ''})"
            for count, lines, what in (
                (len(store.blank_lines), store.blank_lines[:3].tolist(), "with a blank side"),
                (
                    self.plan.n_long,
                    store.lines[self.plan.long_pairs(3)].tolist(),
                    f"longer than {config.model.max_length} pieces (model.max_length)",
                ),
            )
            if count
        ]
        if left_out:
            self.log.warn(f"not trained on: {'; '.join(left_out)}")
        if self.n_long_valid:
            self.log.warn(
                f"not validated on: {counted(self.n_long_valid, 'pair')} longer than {config.model.max_length} pieces"
            )
        if self.progress.step == 0 and self.valid and config.data.train_source and self.workers.leads:
            shared = overlap(ParallelText(config.data.train_source, config.data.train_target), self.valid)
            if shared:
                self.log.warn(
                    f"{shared:,} of {len(self.valid):,} validation pairs stand in the training text too: "
                    "validation scores will be too good. Take them out of one of the two"
                )

    def _fit_memory(self) -> None:
        """Say what will be needed; if that is more than there is, compute updates in smaller portions."""
        device, size = self.workers.device, self.workers.size
        now, free = used_memory(device), free_memory(device)
        wanted = self.config.train.micro_batch_tokens
        room = sys.maxsize if free is None else free // self.workers.n_here
        sizes = self.n_parameters, len(self.run.tokenizer), size, now
        fitted = fitting(self.config, *sizes, room)
        smallest = min(self.workers.gather(fitted.train.micro_batch_tokens))
        self.config = replace(self.config, train=replace(self.config.train, micro_batch_tokens=smallest))
        peak = predicted_peak(self.config, *sizes)
        there = "" if free is None else f" ({gigabytes(free)} free)"
        self.log.event(
            "memory",
            f"memory: about {gigabytes(peak)} at the most{there}",
            step=self.progress.step,
            predicted=peak,
            free=free,
        )
        fitting_tokens = self.config.train.micro_batch_tokens
        if fitting_tokens == wanted:
            return
        # Sums of other portions round differently, so a resume on another day uses the same ones.
        with self.workers.agreeing():
            if self.progress.step == 0 and self.workers.leads:
                self.run.change_config(self.config)
        also = "" if self.progress.step == 0 else "; sums are rounded differently, so this resume is not bit-exact"
        self.log.warn(
            f"{wanted:,} tokens at a time would not fit into memory: train.micro_batch_tokens is now "
            f"{fitting_tokens:,}. An update sees the same {self.config.train.batch_tokens:,} tokens, "
            f"by gradient accumulation{also}"
        )

    def _command(self) -> str:
        return "heed" if self.workers.size == 1 else "torchrun (as before) -m heed"

    def _text_names(self) -> str:
        return " and ".join(text.path for text in self.store.texts)

    def _fits(self, pair: tuple[str, str]) -> bool:
        return all(len(ids) <= self.config.model.max_length for ids in self.run.tokenizer.encode_ids(pair))


def _valid_names(config: Config) -> str:
    given = [path for path in (config.data.valid_source, config.data.valid_target) if path]
    return " and ".join(given) or "data.valid_source, which is empty"


def _log(events_path: Path | None, config: Config, workers: Workers, quiet: bool) -> Log:
    """Only the first process says anything, and nothing if it is to be quiet."""
    if not workers.leads:
        return Log(None, config.train.max_steps, Silence())
    stream = Silence() if quiet else None
    return Log(events_path, config.train.max_steps, stream, tensorboard=config.train.tensorboard)
