"""The training loop: steps, validation, saving, resuming, stopping.

Everything the loop goes by is either in the config or in `Progress`, and every update is a pure function of
the weights, the optimizer's state and the step number. So a resumed run is the same run.
"""

import textwrap
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from heed.checkpoint import read_manifest, read_tensors
from heed.config import Config, build_config
from heed.data.batch import make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText, evenly_spaced_lines, overlap
from heed.data.store import PairStore, encode_pairs
from heed.errors import CheckpointError, ConfigError, DataError, TrainingError
from heed.model.transformer import Transformer
from heed.run import RunFolder, load_weights
from heed.text.tokenizer import Tokenizer
from heed.training.log import Log
from heed.training.schedule import learning_rate
from heed.training.step import make_optimizer, train_step
from heed.training.stop import Interrupted, StopRequest
from heed.training.validate import Validation, validate


@dataclass(frozen=True)
class Progress:
    """Where a training stands, beside weights and optimizer."""

    step: int = 0  # updates made
    validated_step: int = 0  # the last step validated
    best_step: int = 0  # the best one of them, and its scores
    best_perplexity: float = 0.0
    best_bleu: float = 0.0
    validations_since_best: int = 0

    @property
    def best(self) -> Validation | None:
        return Validation(self.best_perplexity, self.best_bleu, ()) if self.best_step else None


@dataclass(frozen=True)
class Outcome:
    """How a training ended."""

    path: Path
    step: int
    reason: str  # "finished", "early" or "interrupted"
    best: dict[str, Any] | None


def train(config: Config, out: str | Path) -> Outcome:
    """Train from text files into a new run folder.

    Raises:
        ConfigError, DataError, TokenizerError: before anything is written.
        CheckpointError: the folder exists already.
        TrainingError: the loss is no longer a number.
    """
    out = Path(out)
    RunFolder.refuse_existing(out)
    if not config.data.train_source:
        raise ConfigError("nothing to train on: give --source and --target (data.train_source, data.train_target)")
    text = ParallelText(config.data.train_source, config.data.train_target)
    n_pairs = text.count()
    valid = _read_validation(config)
    say = Log(None, config.train.max_steps).say
    if config.text.tokenizer:
        tokenizer = Tokenizer.load(Path(config.text.tokenizer))
    else:
        say(f"learning a joint vocabulary of {config.text.vocab_size:,} from {n_pairs:,} pairs ...")
        lines = evenly_spaced_lines(text, n_pairs, config.text.learn_lines)
        tokenizer = Tokenizer.learn(lines, config.text.vocab_size, config.text.character_coverage)
        if len(tokenizer) < config.text.vocab_size:
            say(f"the text has only {len(tokenizer):,} pieces; the vocabulary has as many")
    store = _encode(text, tokenizer, config)
    run = RunFolder.create(out, config, tokenizer)
    return _Training(run, text, store, valid).go_on()


def resume(out: str | Path, *, max_steps: int | None = None, patience: int | None = None) -> Outcome:
    """Go on with a training where its newest checkpoint stands, for longer than first planned if asked to.

    Nothing else of a run can change: it would be another run.
    """
    run = RunFolder.open(Path(out))
    longer = {key: n for key, n in (("max_steps", max_steps), ("patience", patience)) if n is not None}
    if longer:
        run.change_config(build_config(run.config, ("resume", {"train": longer})))
    text = ParallelText(run.config.data.train_source, run.config.data.train_target)
    text.count()
    store = _encode(text, run.tokenizer, run.config)
    return _Training(run, text, store, _read_validation(run.config)).go_on(restore=True)


class _Training:
    """One run, in the making."""

    def __init__(self, run: RunFolder, text: ParallelText, store: PairStore, valid: list[tuple[str, str]]) -> None:
        self.run, self.config, self.text, self.store = run, run.config, text, store
        self.valid = [pair for pair in valid if self._fits(pair)]
        self.n_long_valid = len(valid) - len(self.valid)
        self.plan = BatchPlan(
            store.source.lengths, store.target.lengths, run.config.train.batch_tokens, run.config.train.seed
        )
        torch.manual_seed(run.config.train.seed)
        self.model = Transformer(run.config.model, len(run.tokenizer))
        self.optimizer = make_optimizer(self.model, run.config.train)
        self.progress = Progress()
        self.log = Log(run.events_path, run.config.train.max_steps)
        self.stop = StopRequest()

    # --- what happens -------------------------------------------------------------------------------------

    def go_on(self, restore: bool = False) -> Outcome:
        """Train until the end, an early stop, or a request to stop."""
        with self.stop.listening():
            try:
                if restore:
                    self._restore()
                self._announce()
                reason = self._train()
                self._finish(reason)
            except Interrupted:
                reason = "interrupted"
                if self.progress.step:
                    self._save()
                self.log.event(
                    "interrupted",
                    f"stopped and saved at step {self.progress.step:,}\n"
                    f"go on with: heed train --resume {self.run.path}",
                    step=self.progress.step,
                )
            finally:
                self.log.close()
        return Outcome(self.run.path, self.progress.step, reason, self.run.best())

    def _train(self) -> str:
        """All the steps there are to make; returns why they ended."""
        config = self.config.train
        self.model.train()
        while True:
            self._validate_if_due()
            self._save_if_due()
            if config.patience and self.progress.validations_since_best >= config.patience:
                return "early"
            if self.progress.step >= config.max_steps:
                return "finished"
            if self.stop.asked:
                raise Interrupted
            self._update()

    def _restore(self) -> None:
        """Take up the newest checkpoint; without one, begin at the beginning."""
        steps = self.run.steps()
        if not steps:
            self.log.event("resume", "no checkpoint yet: beginning at step 0", step=0)
            return
        path = self.run.step_path(steps[-1])
        self.run.check_fingerprint(path)
        if read_manifest(path)["corpus"] != self.store.checksum:
            raise CheckpointError(
                f"{self.text.name}: not the text this run was begun with; put back the old text to go on with "
                f"{self.run.path}, or begin a new run with the new text"
            )
        load_weights(self.model, read_tensors(path, "model"), str(path))
        self._restore_optimizer(read_tensors(path, "optimizer"))
        self.progress = Progress(**read_manifest(path)["state"])
        if self.progress.best is not None:  # best.json may be older or newer than the checkpoint
            self._set_best(self.run.step_path(self.progress.best_step), self.progress.best)
        self.log.event("resume", f"going on at step {self.progress.step:,}", step=self.progress.step)

    def _update(self) -> None:
        config, step = self.config.train, self.progress.step + 1
        epoch, index = divmod(self.progress.step, len(self.plan))
        pairs = self.plan.batch(epoch, index)
        batches = [make_batch(self.store, part) for part in self.plan.micro_batches(pairs, config.micro_batch_tokens)]
        result = train_step(self.model, self.optimizer, batches, step, config)
        if not result.is_finite:
            raise TrainingError(
                f"the loss of step {step} is not a number; it was not applied. The batch is made of lines "
                f"{', '.join(map(str, sorted(self.store.lines[pairs])[:10]))} ... of {self.text.name}; look at them, "
                "or lower train.learning_rate_factor. The last checkpoint is whole: "
                f"heed train --resume {self.run.path}"
            )
        self.progress = replace(self.progress, step=step)
        rate = learning_rate(step, self.config.model.d_model, config.warmup_steps, config.learning_rate_factor)
        self.log.step(step, result, rate, config.log_every)

    def _validate_if_due(self) -> None:
        config, step = self.config.train, self.progress.step
        due = step > 0 and (step % config.validate_every == 0 or step == config.max_steps)
        if not (due and self.valid and self.progress.validated_step < step):
            return
        found = self._validate(self.model, f"step {step:,}")
        if found.better_than(self.progress.best):
            self.progress = replace(
                self.progress,
                validated_step=step,
                best_step=step,
                best_perplexity=found.perplexity,
                best_bleu=found.bleu,
                validations_since_best=0,
            )
            self._save()
            self._set_best(self.run.step_path(step), found)
        else:
            since_best = self.progress.validations_since_best + 1
            self.progress = replace(self.progress, validated_step=step, validations_since_best=since_best)

    def _validate(self, model: Transformer, name: str) -> Validation:
        began = time.monotonic()
        found = validate(model, self.run.tokenizer, self.valid, self.config.decode, lambda: self.stop.asked)
        seconds = time.monotonic() - began
        self.log.pause(seconds)
        samples = "".join(
            # A young model may repeat itself for lines on end.
            f"\n    source       {one.source}"
            f"\n    translation  {textwrap.shorten(one.translation, 200, placeholder=' ...')}"
            f"\n    reference    {one.reference}"
            for one in found.samples
        )
        self.log.event(
            "validation",
            f"validation at {name}: perplexity {found.perplexity:.2f}, BLEU {found.bleu:.2f}{samples}",
            step=self.progress.step,
            of=name,
            perplexity=found.perplexity,
            bleu=found.bleu,
            samples=[asdict(one) for one in found.samples],
            seconds=round(seconds, 2),
        )
        return found

    def _finish(self, reason: str) -> None:
        config, step = self.config.train, self.progress.step
        self._save()
        if reason == "early":
            self.log.event(
                "early_stop",
                f"stopping early: {config.patience} validations without a better one (train.patience)",
                step=step,
            )
        self._average()
        best = self.run.best() or {}
        scores = f" (validation BLEU {best['bleu']:.2f})" if "bleu" in best else ""
        self.log.event(
            "end",
            f"done after {step:,} steps; translations will use {best['checkpoint']}{scores}\n"
            f"next: heed translate --model {self.run.path} < input.txt > output.txt",
            step=step,
            reason=reason,
            best=best,
        )

    def _average(self) -> None:
        """Section 6.1: the mean of the last checkpoints competes with the best one."""
        config = self.config.train
        steps = self._regular_steps()[-config.average_last :]
        if not self.valid:  # nothing to judge by
            enough = 1 < config.average_last == len(steps)
            self._set_best(self.run.save_average(steps) if enough else self.run.step_path(self.progress.step), None)
            return
        if min(config.average_last, len(steps)) < 2:
            return
        path = self.run.save_average(steps)
        model = Transformer(self.config.model, len(self.run.tokenizer))
        load_weights(model, read_tensors(path, "model"), str(path))
        found = self._validate(model, f"the average of steps {', '.join(map(str, steps))}")
        if found.better_than(self.progress.best):
            self._set_best(path, found)

    def _fits(self, pair: tuple[str, str]) -> bool:
        return all(len(ids) <= self.config.model.max_length for ids in self.run.tokenizer.encode_ids(pair))

    # --- saving -------------------------------------------------------------------------------------------

    def _save_if_due(self) -> None:
        config, step = self.config.train, self.progress.step
        if step > 0 and (step % config.save_every == 0 or step == config.max_steps):
            self._save()

    def _save(self) -> None:
        """A checkpoint of the present step, unless there is one that says the same."""
        step, state = self.progress.step, asdict(self.progress)
        path = self.run.step_path(step)
        if path.exists() and read_manifest(path)["state"] == state:
            return
        tensors = {"model": dict(self.model.state_dict()), "optimizer": self._optimizer_tensors()}
        self.run.save_step(step, tensors, {"state": state, "corpus": self.store.checksum})
        self.log.event("checkpoint", step=step)
        self._delete_old()

    def _delete_old(self) -> None:
        """Keep the newest regular checkpoints (they are averaged), the very newest, and the best."""
        steps = self.run.steps()
        keep = {*self._regular_steps()[-self.config.train.keep_checkpoints :], *steps[-2:]}
        best = self.run.best()
        self.run.delete_steps({step for step in steps if step not in keep and not _is(best, self.run.step_path(step))})

    def _regular_steps(self) -> list[int]:
        config = self.config.train
        return [step for step in self.run.steps() if step % config.save_every == 0 or step == config.max_steps]

    def _set_best(self, path: Path, found: Validation | None) -> None:
        scores = {} if found is None else {"bleu": found.bleu, "perplexity": found.perplexity}
        self.run.set_best(path.name, {"step": self.progress.step, **scores})
        self._delete_old()

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        tensors = {}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"{name}/{key}"] = value
        return tensors

    def _restore_optimizer(self, tensors: dict[str, Tensor]) -> None:
        for name, parameter in self.model.named_parameters():
            keys = ("step", "exp_avg", "exp_avg_sq")
            self.optimizer.state[parameter] = {key: tensors[f"{name}/{key}"].clone() for key in keys}

    # --- saying -------------------------------------------------------------------------------------------

    def _announce(self) -> None:
        store, config = self.store, self.config
        n_parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.log.event(
            "start",
            f"{config.preset}: {n_parameters / 1e6:.1f} M parameters, vocabulary {len(self.run.tokenizer):,}; "
            f"{len(store):,} pairs in {len(self.plan):,} batches an epoch; run folder {self.run.path}",
            step=self.progress.step,
            parameters=n_parameters,
            vocabulary=len(self.run.tokenizer),
            pairs=len(store),
            batches_per_epoch=len(self.plan),
        )
        if store.blank_lines or store.long_lines:
            self.log.warn(f"not trained on: {_left_out(store, config)}")
        if self.n_long_valid:
            self.log.warn(f"not validated on: {self.n_long_valid:,} pairs longer than {config.model.max_length} pieces")
        if self.valid:
            shared = overlap(self.text, self.valid)
            if shared:
                self.log.warn(
                    f"{shared:,} of {len(self.valid):,} validation pairs stand in the training text too: "
                    "validation scores will be too good. Take them out of one of the two"
                )


def _read_validation(config: Config) -> list[tuple[str, str]]:
    """The validation pairs, blank ones apart."""
    if not config.data.valid_source:
        return []
    text = ParallelText(config.data.valid_source, config.data.valid_target)
    text.count()
    pairs = [pair for pair in text if pair[0].strip() and pair[1].strip()]
    if not pairs:
        raise DataError(f"{text.name}: only blank lines; validation needs at least one pair")
    return pairs


def _encode(text: ParallelText, tokenizer: Tokenizer, config: Config) -> PairStore:
    store = encode_pairs(text, tokenizer, config.model.max_length)
    if not len(store):
        raise DataError(f"{text.name}: no pair is fit for training ({_left_out(store, config)})")
    return store


def _left_out(store: PairStore, config: Config) -> str:
    parts = []
    for lines, what in (
        (store.blank_lines, "with a blank side"),
        (store.long_lines, f"longer than {config.model.max_length} pieces (model.max_length)"),
    ):
        if lines:
            shown = ", ".join(map(str, lines[:3])) + (", ..." if len(lines) > 3 else "")
            parts.append(f"{len(lines):,} pairs {what} (lines {shown})")
    return "; ".join(parts)


def _is(best: dict[str, Any] | None, path: Path) -> bool:
    return best is not None and best["checkpoint"] == path.name
