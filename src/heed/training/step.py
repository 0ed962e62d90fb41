"""One update: gradients of micro-batches summed, divided by the tokens of the whole batch, then Adam (5.3)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from heed.config import TrainConfig
from heed.data.batch import Batch
from heed.model.transformer import Transformer
from heed.training.loss import batch_loss
from heed.training.schedule import learning_rate


@dataclass(frozen=True)
class StepResult:
    """Means per target token."""

    loss: float
    perplexity: float  # not smoothed
    n_tokens: int

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.loss)


def make_optimizer(model: Transformer, config: TrainConfig) -> torch.optim.Adam:
    """Section 5.3. The learning rate is set before each step."""
    betas = (config.adam_beta1, config.adam_beta2)
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=config.adam_epsilon, fused=True)


def accumulate_gradients(
    model: Transformer, micro_batches: Iterable[Batch], n_tokens: int, epsilon: float, seed: tuple[int, ...]
) -> tuple[float, float]:
    """Add the gradient of (sum of losses / n_tokens); returns the sums of both kinds of loss.

    `n_tokens` are the target tokens of the *whole* batch: dividing each micro-batch by its own would weigh
    the words of short micro-batches more. `seed` names the dropout of this very batch.
    """
    smoothed = unsmoothed = 0.0
    for index, batch in enumerate(micro_batches):
        # Dropout is a pure function of where we are, so there is no random state to save.
        torch.manual_seed(int(np.random.SeedSequence((*seed, index)).generate_state(1, np.uint64)[0] >> np.uint64(1)))
        loss = batch_loss(model, batch, epsilon)
        (loss.smoothed / n_tokens).backward()  # type: ignore[no-untyped-call]
        smoothed += float(loss.smoothed.detach())
        unsmoothed += float(loss.negative_log_likelihood)
    return smoothed, unsmoothed


def train_step(
    model: Transformer,
    optimizer: torch.optim.Adam,
    micro_batches: list[Batch],
    step: int,
    config: TrainConfig,
) -> StepResult:
    """Update number `step`, the first being 1."""
    rate = learning_rate(step, model.config.d_model, config.warmup_steps, config.learning_rate_factor)
    n_tokens = sum(batch.n_tokens for batch in micro_batches)
    optimizer.zero_grad(set_to_none=True)
    smoothed, unsmoothed = accumulate_gradients(
        model, micro_batches, n_tokens, config.label_smoothing, (config.seed, step)
    )
    for group in optimizer.param_groups:
        group["lr"] = rate
    if math.isfinite(smoothed):
        optimizer.step()
    return StepResult(smoothed / n_tokens, math.exp(min(unsmoothed / n_tokens, 700.0)), n_tokens)
