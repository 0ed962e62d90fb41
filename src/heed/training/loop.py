"""Run the training loop: steps, validation, checkpoints, resuming, stopping.

The loop depends only on the config and on `Progress`, and every update is a pure function of the weights, the
optimizer's state and the step number. A resumed run is therefore identical to an uninterrupted one. Every process
runs the same loop; whatever only one process can know goes to the others through `Workers`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.checkpoint import read_tensors
from heed.config import Config
from heed.data.augment import augmentation
from heed.data.batch import Batch, batch_of_arrays, make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import overlap
from heed.data.store import PairStore
from heed.durable import checksum, json_bytes
from heed.errors import DivergedError
from heed.evaluate import criterion
from heed.kernels.library import library
from heed.lock import FolderLock
from heed.model.interface import SequenceModel
from heed.parsing.tokenizer import TreeTokenizer
from heed.run import RunFolder
from heed.settings import build_config, read_run_config
from heed.training import setup
from heed.training.averaging import try_averages
from heed.training.checkpointer import Checkpointer, Text
from heed.training.collapse import collapse_advice
from heed.training.learner import Learner
from heed.training.log import Log, NullStream, lines_of
from heed.training.memory import peak_memory, plan_memory
from heed.training.precision import check_precision, faster_precision
from heed.training.progress import Progress
from heed.training.replicas import n_lanes
from heed.training.step import StepResult, train_step
from heed.training.stop import Interrupted, StopRequest
from heed.training.tensorboard import check_tensorboard
from heed.training.validate import Validation, validate
from heed.training.validate_trees import validate_trees
from heed.training.workers import Workers, all_workers, is_restart


@dataclass(frozen=True)
class Outcome:
    """Describe how a training ended."""

    path: Path
    step: int
    reason: str  # "finished", "early" or "interrupted"
    best: dict[str, Any] | None


OnStep = Callable[[int, StepResult], None]


def train(config: Config, out: str | Path, *, on_step: OnStep | None = None, quiet: bool = False) -> Outcome:
    """Train from text files into a new run folder.

    Args:
        on_step: called after each step with its number and result, in the first process only.
        quiet: print nothing to standard error; `events.jsonl` in the run folder records everything.

    Raises:
        ConfigError, DataError, TokenizerError: wrong input; no run folder is left behind.
        CheckpointError: the run folder already exists.
        DivergedError: too many steps in a row had a non-finite loss or gradient.
        TrainingError: a checkpoint could not be saved.
        TypeError: `config` is not a `Config`.
    """
    if not isinstance(config, Config):
        raise TypeError(f'config must be a heed.Config, such as heed.preset("tiny"), not {config!r}')
    config, out = build_config(config), Path(out)
    with all_workers() as workers:
        say = _log(None, config, workers, quiet).say
        with workers.failing_together():  # machines may differ
            check_precision(config.train.precision, workers.device, say, config.train.compile)
        if advice := faster_precision(config.train.precision, workers.device):
            say(advice)
        if config.train.tensorboard:
            check_tensorboard()
        # Each lane sums its own gradient, so a bit-exact resume needs the same number of lanes: record it.
        config = replace(config, train=replace(config.train, lanes=n_lanes(config, workers)))
        resuming = workers.any(is_restart())[0] and workers.from_leader((out / "config.json").exists())
        lock = None
        with workers.failing_together():
            if workers.leads and not resuming:
                lock = setup.create_run(config, out, workers, say)
        return _train_in(out, workers, resuming, lock, on_step=on_step, quiet=quiet)


def resume(
    out: str | Path,
    *,
    max_steps: int | None = None,
    patience: int | None = None,
    cooldown_steps: int | None = None,
    on_step: OnStep | None = None,
    quiet: bool = False,
) -> Outcome:
    """Resume a run from its newest intact checkpoint, with other `max_steps`, `patience` or `cooldown_steps` if given.

    No other setting of a run can change. `on_step` and `quiet` are as in `train`.
    """
    given = {"max_steps": max_steps, "patience": patience, "cooldown_steps": cooldown_steps}
    longer = {key: n for key, n in given.items() if n is not None}
    with all_workers() as workers:
        with workers.failing_together():
            RunFolder.check(Path(out))
            RunFolder.refuse_shipped(Path(out))
            config = read_run_config(Path(out))
            say = _log(None, config, workers, quiet).say
            check_precision(config.train.precision, workers.device, say, config.train.compile)
        return _train_in(Path(out), workers, restore=True, longer=longer, on_step=on_step, quiet=quiet)


def _train_in(
    out: Path,
    workers: Workers,
    restore: bool,
    lock: FolderLock | None = None,
    longer: dict[str, int] | None = None,
    on_step: OnStep | None = None,
    quiet: bool = False,
) -> Outcome:
    """Train in an existing run folder, in all processes: from its newest checkpoint (`restore`) or from step 0."""
    done = None
    try:
        with workers.failing_together():
            if workers.leads:
                lock = lock or FolderLock.acquire(out)
        with workers.failing_together():  # a file may be missing on one of many machines
            run = RunFolder.open(out)
            if workers.leads:
                done = _outcome_without_validation(run) if restore and not longer else None
                if done is None:
                    setup.ensure_corpus(run)
        if (done := workers.from_leader(done)) is not None:
            return done
        with workers.failing_together():
            written = run.config
            if longer:
                run.config = build_config(run.config, ("resume", {"train": longer}))
            if restore:
                run.check_newest()
            store, valid = setup.open_corpus(run), setup.read_run_validation(run)
        log = _log(run.events_path, run.config, workers, quiet)
        return _Training(run, store, valid, workers, log, on_step).run_to_end(restore, written)
    finally:
        if lock is not None:
            lock.release()


def _outcome_without_validation(run: RunFolder) -> Outcome | None:
    """Return how the run ended if its validation text is missing but no longer needed; None if work is left."""
    missing, end = setup.missing_validation(run.config), run.ending()
    if not missing or end is None:
        return None
    log = Log(None, run.config.train.max_steps)
    log.say(f"{run.path} already finished at step {end['step']:,}: nothing to do ({missing})")
    return Outcome(run.path, end["step"], str(end.get("reason")), run.best())


class _Training:
    """Train one run."""

    def __init__(
        self,
        run: RunFolder,
        store: PairStore,
        valid: setup.Pairs,
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
        weights = [text.weight for text in config.data.training_texts] or [1.0]  # 1: prepared elsewhere
        mixture = [(part.n_pairs, weight) for part, weight in zip(store.parts, weights, strict=True)]
        self.plan = BatchPlan(*lengths, config.train.batch_tokens, config.train.seed, config.model.max_length, mixture)
        self.augment = augmentation(config, store, run.tokenizer)
        self.log, self.on_step = log, on_step
        self.stop = StopRequest()
        self.learner = Learner(config, run.tokenizer.vocabulary, workers)
        if run.initial_path.exists():
            self.learner.start_from(read_tensors(run.initial_path, "model"), str(run.initial_path))
        self.n_parameters = sum(parameter.numel() for parameter in self.learner.model.parameters())
        texts = {
            "training": Text(self._text_names(), store.checksum),
            "validation": Text(_valid_names(config), checksum(json_bytes(valid))),
        }
        self.checkpointer = Checkpointer(run, self.learner, self.log, self.stop, texts)
        self.progress = Progress()

    # --- steps --------------------------------------------------------------------------------------------

    def run_to_end(self, restore: bool, written: Config) -> Outcome:
        """Train until the last step, an early stop, or a stop request. `written` is the config in config.json."""
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
                if self.progress.step and not self.checkpointer.save(self.progress):
                    raise self.checkpointer.cannot_save(self.progress) from None
                self.log.interrupted(self.progress.step, self.run.path, self.workers.size)
            finally:
                self.log.close()
                self.checkpointer.close()
        return Outcome(self.run.path, self.progress.step, reason, self.checkpointer.best)

    def _restore(self, written: Config) -> None:
        self.progress = self.checkpointer.restore()
        if self.progress.step == self.config.train.max_steps:
            self.log.say(f"all steps are done; to train longer, add --set train.max_steps={2 * self.progress.step}")
        with self.workers.failing_together():
            if self.workers.leads and self.config != written:
                self.run.change_config(self.config)  # other max_steps, patience or cooldown_steps

    def _train(self) -> str:
        """Make the remaining steps and return why they ended."""
        config = self.config.train
        self.learner.model.train()
        while True:
            self._validate_if_due()
            if self._is_due(config.save_every):
                self.checkpointer.save(self.progress)
            if config.patience and self.progress.validations_since_best >= config.patience:
                return "early"
            if self.progress.step >= config.max_steps:
                return "finished"
            self.checkpointer.warn_if_gone()
            stop, retry = self.workers.any(self.stop.asked, self.checkpointer.retry_is_due)
            if stop:
                raise Interrupted
            if retry:
                self.checkpointer.save(self.progress)
            self._update()

    def _update(self) -> None:
        step = self.progress.step + 1
        epoch, index = self.plan.locate(self.progress.step)
        pairs = self.plan.batch(epoch, index)
        n_tokens = int(self.store.target.lengths[pairs].sum())
        micro_batches = self._micro_batches(epoch, pairs)
        if self.augment is not None:  # there may be more tokens than in the store
            (n_tokens,) = map(int, self.workers.sum(sum(batch.n_tokens for batch in micro_batches)))
        result = train_step(self.learner, micro_batches, n_tokens, step, self._stop_asked)
        if result.applied or result.overflowed:
            self.progress = replace(self.progress, step=step, bad_batches=0)
        else:
            self._skip(step, pairs)
        self.log.step(step, result, self.config.train.log_every)
        if self.on_step is not None and self.workers.leads:
            self.on_step(step, result)

    def _micro_batches(self, epoch: int, pairs: NDArray[np.integer[Any]]) -> list[Batch]:
        """Return this process's share of a batch, cut into as many micro-batches as every other process has."""
        tokens, size = self.config.train.micro_batch_tokens, self.workers.size
        shares = [list(self.plan.micro_batches(pairs[rank::size], tokens)) for rank in range(size)]
        mine, most = shares[self.workers.rank], max(map(len, shares))
        vocabulary = self.run.tokenizer.vocabulary
        if self.augment is None:
            batches = [make_batch(self.store, part, vocabulary) for part in mine]
        else:
            batches = [batch_of_arrays(*self.augment.gather(epoch, part), part, vocabulary) for part in mine]
        return batches + [Batch.empty(vocabulary)] * (most - len(mine))

    def _skip(self, step: int, pairs: NDArray[np.integer[Any]]) -> None:
        """Count and report a step whose loss or gradient is not finite; it has changed no weights.

        Raises:
            DivergedError: there were more than `train.skip_bad_batches` of them in a row.
        """
        places = self.store.places(pairs)
        self.progress = replace(self.progress, step=step, bad_batches=self.progress.bad_batches + 1)
        self.log.skipped(step, self.progress.bad_batches, places)
        most = self.config.train.skip_bad_batches
        if self.progress.bad_batches > most:
            raise DivergedError(
                f"the last {self.progress.bad_batches} steps had a non-finite loss or gradient, more than "
                f"train.skip_bad_batches = {most} allows; check {lines_of(places)} (all lines are "
                f"in {self.run.events_path}), or start again with a lower train.learning_rate_factor. "
                "The checkpoints are intact"
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
            self.checkpointer.save_final(self.progress)
        if not self.checkpointer.save_best(self.progress, found):  # an unsaved step cannot be the best
            self.progress = replace(before, validated_step=step, validations_since_best=0)

    def _validate(self, model: SequenceModel, name: str) -> Validation:
        self.log.validating()
        began = time.monotonic()
        tokenizer, decode, stop_asked = self.run.tokenizer, self.config.decode, lambda: self.stop.asked
        if isinstance(tokenizer, TreeTokenizer):
            found = validate_trees(model, tokenizer, self.valid, decode, self.workers, stop_asked)
        else:
            found = validate(model, tokenizer, self.valid, decode, self.criterion, self.workers, stop_asked)
        seconds = time.monotonic() - began
        self.log.pause(seconds)
        self.log.validated(found, self.progress.step, name, seconds)
        # During warm-up, a first validation may only show that the model has not learnt anything yet.
        is_early = self.progress.best is None and self.progress.step < self.config.train.warmup_steps
        if found.collapse and not is_early:
            self.log.warn("\n".join((*found.collapse, collapse_advice(self.config))))
        return found

    # --- the end ------------------------------------------------------------------------------------------

    def _finish(self, reason: str) -> None:
        config, step = self.config.train, self.progress.step
        self.checkpointer.save_final(self.progress)
        if reason == "early":
            self.log.stopped_early(step, config.patience, self.criterion)
        validate_average = self._validate if self.valid else None
        try_averages(self.run, self.checkpointer, self.progress, self.workers, validate_average, self.criterion)
        self.checkpointer.finish()
        best = self.checkpointer.best or {}
        if self.valid and not best:
            raise DivergedError(
                "no validation had a finite perplexity, so there is no model to translate with; start again with a "
                f"lower train.learning_rate_factor (it was {config.learning_rate_factor:g})"
            )
        ends = step, reason, best, self.criterion, self.run.path
        self.log.ended(*ends, len(self.run.tokenizer), peak_memory(self.workers.device))

    # --- messages -----------------------------------------------------------------------------------------

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
        if config.data.train:
            sizes = [part.n_pairs for part in store.parts]
            weights = [text.weight for text in config.data.train]
            self.log.mixture(list(zip(store.part_names, sizes, weights, strict=True)))
        if self.progress.step == 0 and (advice := setup.few_pairs(config.preset, len(store))):
            self.log.say(advice)
        if self.workers.device.type == "cpu" and library() is None:
            self.log.no_kernels()
        blank, long = store.blank_places(3), store.places(plan.long_pairs(3))
        too_long = f"longer than {config.model.max_length} tokens (model.max_length)"
        reasons = [(len(store.blank_lines), blank, "with a blank side"), (plan.n_long, long, too_long)]
        self.log.not_trained_on(reasons, several_texts=len(store.parts) > 1)
        self.log.not_validated_on(self.n_long_valid, config.model.max_length)
        if self.progress.step == 0 and self.valid and config.data.training_texts and self.workers.leads:
            texts = (replace(text, tag="") for text in setup.training_texts(config))
            self.log.overlap(overlap(chain.from_iterable(texts), self.valid), len(self.valid))

    def _fit_memory(self) -> None:
        """Report the predicted peak memory; if it exceeds the free memory, use smaller micro-batches."""
        step, wanted = self.progress.step, self.config
        plan = plan_memory(wanted, self.n_parameters, self.run.tokenizer.vocabulary, self.workers)
        self.config = plan.config
        self.log.memory(step, plan.peak, plan.free)
        if plan.config == wanted:
            return
        # Other micro-batches round differently, so record the size for a bit-exact resume.
        with self.workers.failing_together():
            if step == 0 and self.workers.leads:
                self.run.change_config(self.config)
        self.log.smaller_micro_batches(wanted.train.micro_batch_tokens, self.config.train, step)

    def _text_names(self) -> str:
        return ", ".join(self.store.part_names)

    def _fits(self, pair: tuple[str, str]) -> bool:
        sides = self.run.tokenizer.encode_ids(pair[: 1 if self.config.text.trees != "none" else 2])
        return all(len(ids) <= self.config.model.max_length for ids in sides)


def _valid_names(config: Config) -> str:
    data = config.data
    given = [path for path in (data.valid_trees, data.valid_source, data.valid_target) if path]
    return " and ".join(given) or "data.valid_source (empty)"


def _log(events_path: Path | None, config: Config, workers: Workers, quiet: bool) -> Log:
    """Return a log that prints and records in the first process only, and prints nothing if `quiet`."""
    if not workers.leads:
        return Log(None, config.train.max_steps, NullStream())
    stream = NullStream() if quiet else None
    return Log(events_path, config.train.max_steps, stream, tensorboard=config.train.tensorboard)
