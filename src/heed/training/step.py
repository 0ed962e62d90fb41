"""Make one step: sum the gradients of the micro-batches, divide by the tokens of the whole batch, apply Adam (5.3)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heed.data.batch import Batch
from heed.training.learner import Learner
from heed.training.schedule import cooldown, learning_rate
from heed.training.stop import Interrupted


@dataclass(frozen=True)
class StepResult:
    """Describe a step: averages per target token of the whole batch, and whether the weights changed."""

    loss: float
    perplexity: float  # not smoothed
    n_tokens: int
    gradient_norm: float
    learning_rate: float
    applied: bool = True  # False: loss or gradient was not finite
    overflowed: bool = False  # only the scaled float16 gradient was not finite: the next step uses a smaller scale


def train_step(
    learner: Learner,
    micro_batches: Sequence[Batch],
    n_tokens: int,
    step: int,
    stop_asked: Callable[[], bool] = lambda: False,
) -> StepResult:
    """Make step number `step` (the first is 1), in all processes together.

    `micro_batches` is this process's share; all processes have the same number of them. `n_tokens` counts the target
    tokens of the *whole* batch: dividing each micro-batch by its own count would give words of short ones more weight.

    Raises:
        Interrupted: `stop_asked` returned True between two micro-batches; nothing has changed.
    """
    config, workers = learner.config.train, learner.workers
    learner.zero_grad()
    smoothed = unsmoothed = 0.0
    for index, batch in enumerate(micro_batches):
        if index and stop_asked():
            raise Interrupted
        # DDP and FSDP average the gradients of the processes; multiplying by their number makes it a sum.
        sums = learner.add_gradient(batch, workers.size / n_tokens, step, index == len(micro_batches) - 1)
        smoothed, unsmoothed = smoothed + sums[0], unsmoothed + sums[1]
    smoothed, unsmoothed = workers.sum(smoothed, unsmoothed)

    learner.scaler.unscale_(learner.optimizer)  # type: ignore[arg-type]
    norm = learner.gradient_norm()
    rate = learning_rate(step, learner.config.model.d_model, config.warmup_steps, config.learning_rate_factor)
    rate *= cooldown(step, config.max_steps, config.cooldown_steps)
    # All processes see the same sums, so all make the same decision.
    finite = math.isfinite(smoothed) and math.isfinite(norm)
    if finite:
        learner.apply_gradient(rate, step)
    learner.scaler.update()
    overflowed = learner.scaler.is_enabled() and math.isfinite(smoothed) and not finite
    perplexity = math.exp(min(unsmoothed / n_tokens, 700.0))
    return StepResult(smoothed / n_tokens, perplexity, n_tokens, norm, rate, finite, overflowed)
