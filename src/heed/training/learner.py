"""Hold the model and its optimizer, and distribute both over the processes.

A single process holds everything. Several hold a copy each and sum their gradients (DDP), or a shard each (FSDP2,
`train.sharded`). Either way `state` returns and `load` takes the full state, as a single process has it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from heed.checkpoint import check_tensors
from heed.config import Config
from heed.data.batch import Batch
from heed.errors import CheckpointError
from heed.model.build import build_model
from heed.model.dropout import pair_seeds
from heed.model.interface import SequenceModel
from heed.training.adam import MOMENTS, Adam
from heed.training.batch_loss import BatchLoss
from heed.training.memory import check_model_fits
from heed.training.precision import check_precision, make_scaler, products_in
from heed.training.replicas import ThreadReplicas, n_lanes
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary

State = dict[str, dict[str, Tensor]]


class Learner:
    """Train a model: compute gradients, apply them, and save and load the state."""

    def __init__(self, config: Config, vocabulary: Vocabulary, workers: Workers) -> None:
        """Build the model and its optimizer.

        Raises:
            ConfigError: the device does not support the precision, or the model does not fit into its memory.
        """
        check_precision(config.train.precision, workers.device, compiled=config.train.compile)
        check_model_fits(config, vocabulary, workers)
        self.config, self.workers, train = config, workers, config.train
        torch.manual_seed(config.train.seed)
        self.model = build_model(config.model, vocabulary).to(workers.device)
        self._sharded = config.train.sharded and workers.size > 1
        penalties = train.consistency, train.cutoff, train.head_diversity
        plain_loss = BatchLoss(self.model, train.label_smoothing, *penalties)
        self._loss = self._spread(plain_loss)
        lanes = n_lanes(config, workers)
        self._replicas = ThreadReplicas(plain_loss, lanes) if lanes > 1 else None
        self.optimizer = Adam(self.model.parameters(), train.adam_beta1, train.adam_beta2, train.adam_epsilon)
        self.scaler = make_scaler(config.train.precision, workers.device)
        self.mean = {name: weight.detach().clone() for name, weight in self._weights() if config.train.ema_decay}
        if isinstance(self._loss, DistributedDataParallel):
            # DDP orders its buckets by the first backward pass, and with three or more processes that order changes
            # the rounding. So a resumed run must make the same first pass as an uninterrupted one: an empty one.
            self.add_gradient(Batch.empty(vocabulary), 1.0, 0, is_last=True)
            self.zero_grad()

    def zero_grad(self) -> None:
        """Drop all gradients."""
        self.optimizer.zero_grad()
        if self._replicas is not None:
            self._replicas.zero_grad()

    def add_gradient(self, batch: Batch, scale: float, step: int, is_last: bool) -> tuple[float, float]:
        """Accumulate the gradient of a micro-batch's loss, times `scale`; return the two sums of `Loss`.

        Dropout is a pure function of the step and the pairs: there is no random state to save, and the division into
        micro-batches, lanes and processes does not matter. After the last micro-batch, gradients are summed over all
        lanes and processes.
        """
        if self._sharded:
            from heed.training.shards import set_gradient_sync

            set_gradient_sync(cast(BatchLoss, self._loss), is_last)

        def add(loss: nn.Module, share: Batch) -> tuple[float, float]:
            share = share.to(self.workers.device)
            seed_B = pair_seeds(self.config.train.seed, step, share.pair_B)
            with products_in(self.config.train.precision, self.workers.device, self.config.train.compile):
                smoothed, unsmoothed = loss(share.src_BS, share.tgt_in_BT, share.tgt_out_BT, seed_B)
            self.scaler.scale(smoothed * scale).backward()
            return float(smoothed.detach()), float(unsmoothed)

        if self._replicas is None:
            with nullcontext() if is_last else self._without_sync():
                return add(self._loss, batch)
        sums = self._replicas.each(batch, add)
        if is_last:
            self._replicas.sum_gradients()
        return sum(smoothed for smoothed, _ in sums), sum(unsmoothed for _, unsmoothed in sums)

    def _without_sync(self) -> AbstractContextManager[None]:
        """Return a context in which DDP does not yet sum gradients over the processes."""
        if isinstance(self._loss, DistributedDataParallel):
            return cast("AbstractContextManager[None]", self._loss.no_sync())
        return nullcontext()

    def gradient_norm(self) -> float:
        """Return the norm of the gradient of all weights."""
        norm = nn.utils.get_total_norm([w.grad for _, w in self._weights() if w.grad is not None], foreach=True)
        return float(self._whole(norm))

    def apply_gradient(self, rate: float, step: int) -> None:
        """Update the weights, and their running average; the first step is number 1."""
        self.scaler.step(self.optimizer, rate)  # type: ignore[arg-type]
        if self.mean:
            # Use a lower decay in the first steps, so that the average forgets the random initial weights.
            decay = min(self.config.train.ema_decay, (1 + step) / (10 + step))
            with torch.no_grad():
                for name, weight in self._weights():
                    self.mean[name].lerp_(weight.detach(), 1 - decay)

    # --- state --------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Return the full state to resume from. All processes must call this together."""
        moments = {
            f"{name}/{key}": value
            for name, weight in self._weights()
            for key, value in self.optimizer.state.get(weight, {}).items()
        }
        groups = {"model": dict(self.model.state_dict()), "optimizer": moments}
        if self.mean:
            groups["mean"] = self.mean
        if self.scaler.is_enabled():
            groups["scaler"] = self._scaler_state()
        return {
            group: {name: self._whole(tensor).cpu() for name, tensor in tensors.items()}
            for group, tensors in groups.items()
        }

    def load(self, state: State, name: str) -> None:
        """Load a full state; `name` is the path that messages show.

        Raises:
            CheckpointError: tensors that do not fit the model. Nothing is loaded then.
        """
        own = self.model.state_dict()
        wanted = {"model": own, "optimizer": self._empty_moments()}
        if state.get("optimizer") == {}:  # saved before the first applied step
            wanted["optimizer"] = {}
        if self.mean:
            wanted["mean"] = self.mean
        if self.scaler.is_enabled():
            wanted["scaler"] = self._scaler_state()
        for group, tensors in wanted.items():  # PyTorch's fused Adam does not check sizes
            if group not in state:
                raise CheckpointError(f"{name}: {group}.safetensors is missing; restore the checkpoint from a backup")
            check_tensors(state[group], tensors, f"{name}/{group}.safetensors")
        weights = {key: self._like(own[key], tensor) for key, tensor in state["model"].items()}
        self.model.load_state_dict(weights)
        moments = state["optimizer"]
        for key, weight in self._weights():
            if moments:
                self.optimizer.state[weight] = {
                    "step": moments[f"{key}/step"].to(weight.device, copy=True),
                    **{moment: self._like(weight, moments[f"{key}/{moment}"]) for moment in MOMENTS},
                }
            if self.mean:
                self.mean[key] = self._like(weight, state["mean"][key])
        if self.scaler.is_enabled():
            found = {key: value.item() for key, value in state["scaler"].items()}
            self.scaler.load_state_dict({**self.scaler.state_dict(), **found})

    def start_from(self, weights: dict[str, Tensor], name: str) -> None:
        """Load weights alone, to start training from them; `name` is the path that messages show.

        Raises:
            CheckpointError: they do not fit the model.
        """
        state = {"model": weights, "optimizer": {}, "mean": weights}
        self.load(state | {"scaler": self._scaler_state()} if self.scaler.is_enabled() else state, name)

    def _empty_moments(self) -> dict[str, Tensor]:
        """Return the names, shapes and dtypes of the optimizer's state."""
        steps = {f"{key}/step": torch.zeros(()) for key, _ in self._weights()}
        return steps | {f"{key}/{moment}": weight for key, weight in self._weights() for moment in MOMENTS}

    def _scaler_state(self) -> dict[str, Tensor]:
        state = self.scaler.state_dict()
        return {key: torch.tensor(state[key]) for key in ("scale", "_growth_tracker")}

    def plain_model(self) -> SequenceModel:
        """Return the model as a single process has it, to translate with. All processes must call this together."""
        if not (self._sharded or self.config.train.compile):
            return self.model
        weights = {name: self._whole(tensor) for name, tensor in self.model.state_dict().items()}
        model = build_model(self.config.model, self.model.vocabulary).to(self.workers.device)
        model.load_state_dict(weights)
        return model

    def _weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        return self.model.named_parameters()

    def _spread(self, loss: BatchLoss) -> nn.Module:
        """Distribute the module over the processes, as the config says."""
        if self.config.train.compile:
            self.model.compile_layers()
        if self._sharded:
            from heed.training.shards import shard

            shard(loss)
        elif self.workers.size > 1:
            on_gpu = self.workers.device.type == "cuda"
            return DistributedDataParallel(loss, device_ids=[self.workers.device] if on_gpu else None)
        return loss

    def _whole(self, tensor: Tensor) -> Tensor:
        """Return a full tensor from the shards of all processes."""
        if not self._sharded:
            return tensor
        from heed.training.shards import whole

        return whole(tensor)

    def _like(self, own: Tensor, whole: Tensor) -> Tensor:
        """Return a full tensor in the form `own` has: on its device, and this process's shard if sharded."""
        if not self._sharded:
            return whole.to(own.device, copy=True)
        from heed.training.shards import like

        return like(own, whole)
