"""A micro-batch in lanes: threads of one process, each with a core and a share of the sentences (`heed.threads`).

The lanes share the weights; each has a gradient of its own. These are added up in the order of the
lanes, so it does not matter which of them is quicker.
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
from heed.training.workers import Workers

R = TypeVar("R")


_ENOUGH = 512  # tokens of a lane: with fewer, products are too small, and each lane's gradient costs as much as ever


def n_lanes(config: Config, workers: Workers) -> int:
    """How many there will be: `train.lanes`, or one for each core while they have enough to do.

    One where PyTorch shares the work out itself.
    """
    train = config.train
    if workers.size > 1 or workers.device.type != "cpu" or train.compile or train.precision != "float32":
        return 1
    most = max(1, min(train.batch_tokens, train.micro_batch_tokens) // _ENOUGH)
    return train.lanes or min(torch.get_num_threads(), most)


class Lanes:
    """The lanes of a training."""

    def __init__(self, loss: BatchLoss, n: int) -> None:
        self._losses = [loss, *(_sharing_weights(loss) for _ in range(n - 1))]
        self._weights = [list(one.parameters()) for one in self._losses]
        self._pool = thread_pool(n, max(1, torch.get_num_threads() // n))

    def each(self, batch: Batch, work: Callable[[BatchLoss, Batch], R]) -> list[R]:
        """`work(loss, share)` of every lane that has a share of the batch."""
        return list(self._pool.map(work, self._losses, batch.shares(len(self._losses))))

    def zero_grad(self) -> None:
        for weights in self._weights[1:]:
            for weight in weights:
                weight.grad = None

    def add_up_gradients(self) -> None:
        """The first lane's weights, which are those that change, get the sum. Each lane adds up some of them."""
        list(self._pool.map(_add_up, zip(*self._weights, strict=True)))


def _add_up(same: tuple[nn.Parameter, ...]) -> None:
    """The gradients of a weight, in the order of the lanes."""
    first, *others = same
    for other in others:
        if other.grad is not None:
            first.grad = other.grad if first.grad is None else first.grad.add_(other.grad)
            other.grad = None


def _sharing_weights(loss: BatchLoss) -> BatchLoss:
    other = copy.deepcopy(loss)
    for own, its in zip(loss.parameters(), other.parameters(), strict=True):
        its.data = own.data
    return other
