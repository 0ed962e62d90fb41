"""The training loop: steps, validation, saving, resuming, stopping.

Everything the loop goes by is either in the config or in `Progress`, and every update is a pure function of
the weights, the optimizer's state and the step number. So a resumed run is the same run. And every process of
a training goes through the same loop: what only one of them knows, it tells the others (`Workers`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.config import Config, build_config, read_run_config
from heed.data.augment import augmentation
from heed.data.batch import Batch, batch_of_arrays, make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText, overlap
from heed.data.store import PairStore
from heed.durable import checksum, json_bytes
from heed.errors import TrainingError
from heed.evaluate import criterion
from heed.kernels.library import library
from heed.lock import FolderLock
from heed.model.interface import SequenceModel
from heed.run import RunFolder
from heed.training import begin
from heed.training.averaging import try_means
from heed.training.collapse import collapse_advice
from heed.training.keeper import Keeper, Text
from heed.training.lanes import n_lanes
from heed.training.learner import Learner
from heed.training.log import Log, Silence, lines_of
from heed.training.memory import peak_memory, plan_memory
from heed.training.precision import check_precision
from heed.training.progress import Progress
from heed.training.step import StepResult, train_step
from heed.training.stop import Interrupted, StopRequest
from heed.training.tensorboard import check_tensorboard
from heed.training.validate import Validation, validate
from heed.training.workers import Workers, all_workers, is_restart


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
            RunFolder.check(Path(out))
            config = read_run_config(Path(out))
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
                lock = lock or FolderLock.acquire(out)
        with workers.agreeing():  # a file may be missing on one of many machines
            run = RunFolder.open(out)
            if workers.leads:
                done = _outcome_without_validation(run) if restore and not longer else None
                if done is None:
                    begin.remake_corpus(run)
        if (done := workers.from_leader(done)) is not None:
            return done
        with workers.agreeing():
            written = run.config
            if longer:
                run.config = build_config(run.config, ("resume", {"train": longer}))
            if restore:
                run.check_newest()
            store, valid = begin.open_corpus(run), begin.read_own_validation(run)
        log = _log(run.events_path, run.config, workers, quiet)
        return _Training(run, store, valid, workers, log, on_step).go_on(restore, written)
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
        self.augment = augmentation(config, store, run.tokenizer)
        self.log, self.on_step = log, on_step
        self.stop = StopRequest()
        self.learner = Learner(config, run.tokenizer.vocabulary, workers)
        self.n_parameters = sum(parameter.numel() for parameter in self.learner.model.parameters())
        texts = {
            "training": Text(self._text_names(), store.checksum),
            "validation": Text(_valid_names(config), checksum(json_bytes(valid))),
        }
        self.keeper = Keeper(run, self.learner, self.log, self.stop, texts)
        self.progress = Progress()

    # --- what happens -------------------------------------------------------------------------------------

    def go_on(self, restore: bool, written: Config) -> Outcome:
        """Train until the end, an early stop, or a request to stop. `written`: what config.json says."""
        with self.stop.listening():
            try:
                if restore:
                    self._restore(written)
                self._announce()
                self._fit_memory()
                reason = self._train()
                self._finish(reason)
            except Interrupted:
                reason = "interrupted"
                if self.progress.step and not self.keeper.save(self.progress):
                    raise self.keeper.cannot_save(self.progress) from None
                self.log.interrupted(self.progress.step, self.run.path, self.workers.size)
            finally:
                self.log.close()
                self.keeper.close()
        return Outcome(self.run.path, self.progress.step, reason, self.keeper.best)

    def _restore(self, written: Config) -> None:
        self.progress = self.keeper.restore()
        if self.progress.step == self.config.train.max_steps:
            self.log.say(f"it has made all its steps; for more: --set train.max_steps={2 * self.progress.step}")
        with self.workers.agreeing():
            if self.workers.leads and self.config != written:
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
        micro_batches = self._micro_batches(epoch, pairs)
        if self.augment is not None:  # there may be more tokens than in the store
            (n_tokens,) = map(int, self.workers.sum(sum(batch.n_tokens for batch in micro_batches)))
        result = train_step(self.learner, micro_batches, n_tokens, step, self._stop_asked)
        if result.applied or result.overflowed:
            self.progress = replace(self.progress, step=step, bad_batches=0)
        else:
            self._leave_out(step, pairs)
        self.log.step(step, result, self.config.train.log_every)
        if self.on_step is not None and self.workers.leads:
            self.on_step(step, result)

    def _micro_batches(self, epoch: int, pairs: NDArray[np.integer[Any]]) -> list[Batch]:
        """This process's share of a batch, in as many portions as every other process's."""
        tokens, size = self.config.train.micro_batch_tokens, self.workers.size
        shares = [list(self.plan.micro_batches(pairs[rank::size], tokens)) for rank in range(size)]
        mine, most = shares[self.workers.rank], max(map(len, shares))
        vocabulary = self.run.tokenizer.vocabulary
        if self.augment is None:
            batches = [make_batch(self.store, part, vocabulary) for part in mine]
        else:
            batches = [batch_of_arrays(*self.augment.gather(epoch, part), part, vocabulary) for part in mine]
        return batches + [Batch.empty(vocabulary)] * (most - len(mine))

    def _leave_out(self, step: int, pairs: NDArray[np.integer[Any]]) -> None:
        """Loss or gradient of an update are not finite: nothing was changed by it; a few in a row are too many."""
        lines = sorted(self.store.lines[pairs].tolist())
        self.progress = replace(self.progress, step=step, bad_batches=self.progress.bad_batches + 1)
        self.log.skipped(step, self.progress.bad_batches, lines, self._text_names())
        most = self.config.train.skip_bad_batches
        if self.progress.bad_batches > most:
            raise TrainingError(
                f"the last {self.progress.bad_batches} updates are not finite, more than "
                f"train.skip_bad_batches = {most}; look at {lines_of(lines, self._text_names())} (all are listed in "
                f"{self.run.events_path}), or begin again with a lower train.learning_rate_factor. "
                "The checkpoints are whole"
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
        self.log.validated(found, self.progress.step, name, seconds)
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
            self.log.stopped_early(step, config.patience, self.criterion)
        judge = self._validate if self.valid else None
        try_means(self.run, self.keeper, self.progress, self.workers, judge, self.criterion)
        self.keeper.finish()
        best = self.keeper.best or {}
        if self.valid and not best:
            raise TrainingError(
                "no validation had a finite perplexity, so there is no model to translate with; begin again with a "
                f"lower train.learning_rate_factor (it was {config.learning_rate_factor:g})"
            )
        ends = step, reason, best, self.criterion, self.run.path
        self.log.ended(*ends, len(self.run.tokenizer), peak_memory(self.workers.device))

    # --- saying -------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        config, store, plan = self.config, self.store, self.plan
        self.log.started(
            config,
            self.run.path,
            step=self.progress.step,
            parameters=self.n_parameters,
            vocabulary=len(self.run.tokenizer),
            pairs=len(store) - plan.n_long,
            batches_per_epoch=len(plan),
            processes=self.workers.size,
            metric=self.criterion.key,
        )
        if self.progress.step == 0 and (advice := begin.few_pairs(config.preset, len(store))):
            self.log.say(advice)
        if self.workers.device.type == "cpu" and library() is None:
            self.log.no_kernels()
        blank, long = store.blank_lines[:3].tolist(), store.lines[plan.long_pairs(3)].tolist()
        too_long = f"longer than {config.model.max_length} pieces (model.max_length)"
        self.log.not_trained_on([(len(store.blank_lines), blank, "with a blank side"), (plan.n_long, long, too_long)])
        self.log.not_validated_on(self.n_long_valid, config.model.max_length)
        if self.progress.step == 0 and self.valid and config.data.train_source and self.workers.leads:
            text = ParallelText(config.data.train_source, config.data.train_target)
            self.log.overlap(overlap(text, self.valid), len(self.valid))

    def _fit_memory(self) -> None:
        """Say what will be needed; if that is more than there is, compute updates in smaller portions."""
        step, wanted = self.progress.step, self.config
        plan = plan_memory(wanted, self.n_parameters, self.run.tokenizer.vocabulary, self.workers)
        self.config = plan.config
        self.log.memory(step, plan.peak, plan.free)
        if plan.config == wanted:
            return
        # Sums of other portions round differently, so a resume on another day uses the same ones.
        with self.workers.agreeing():
            if step == 0 and self.workers.leads:
                self.run.change_config(self.config)
        self.log.smaller_portions(wanted.train.micro_batch_tokens, self.config.train, step)

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
