"""Share a micro-batch among lanes: threads with their own cores and a replica of the model each.

The replicas share the weights, but each has its own gradient. Gradients are summed in the order of the lanes, so the
result does not depend on which lane is faster.
"""

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from heed.config import Config
from heed.data.batch import Batch
from heed.threads import thread_pool
from heed.training.batch_loss import BatchLoss
from heed.training.precision import has_own_products
from heed.training.workers import Workers

R = TypeVar("R")

# With fewer tokens per lane, matrix products are too small to pay for one more gradient to sum.
_MIN_LANE_TOKENS = 512


def n_lanes(config: Config, workers: Workers) -> int:
    """Return the number of lanes: `train.lanes`, or one per core as long as each gets enough tokens.

    It is 1 wherever PyTorch parallelises the work itself.
    """
    train = config.train
    by_kernels = train.precision == "float32" or has_own_products(train.precision, workers.device)
    if workers.size > 1 or workers.device.type != "cpu" or train.compile or not by_kernels:
        return 1
    most = max(1, min(train.batch_tokens, train.micro_batch_tokens) // _MIN_LANE_TOKENS)
    return train.lanes or min(torch.get_num_threads(), most)


class ThreadReplicas:
    """Compute the gradients of a micro-batch in several threads, with one replica of the model each."""

    def __init__(self, loss: BatchLoss, n: int) -> None:
        self._losses = [loss, *(_sharing_weights(loss) for _ in range(n - 1))]
        self._weights = [list(one.parameters()) for one in self._losses]
        self._pool = thread_pool(n, max(1, torch.get_num_threads() // n))

    def each(self, batch: Batch, work: Callable[[BatchLoss, Batch], R]) -> list[R]:
        """Return `work(loss, share)` of every lane that gets a share of the batch."""
        return list(self._pool.map(work, self._losses, batch.shares(len(self._losses))))

    def zero_grad(self) -> None:
        """Drop the gradients of all replicas but the first, which the optimizer drops."""
        for weights in self._weights[1:]:
            for weight in weights:
                weight.grad = None

    def sum_gradients(self) -> None:
        """Sum the gradients into the first replica, whose weights the optimizer updates; all threads take part."""
        list(self._pool.map(_sum_into_first, zip(*self._weights, strict=True)))


def _sum_into_first(same: tuple[nn.Parameter, ...]) -> None:
    """Sum the gradients of one weight into its first replica, in the order of the lanes."""
    first, *others = same
    for other in others:
        if other.grad is not None:
            first.grad = other.grad if first.grad is None else first.grad.add_(other.grad)
            other.grad = None


def _sharing_weights(loss: BatchLoss) -> BatchLoss:
    """Return a copy of the module that shares its weights but not their gradients."""
    other = copy.deepcopy(loss)
    for own, its in zip(loss.parameters(), other.parameters(), strict=True):
        its.data = own.data
    return other
