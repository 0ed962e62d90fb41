"""A model in shards (FSDP2): each process keeps a share of every layer, and layers are put together when they are used.

A file of its own because PyTorch's part of it takes a second to load, and one process has no need of it.
"""

import warnings

from torch import Tensor
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from heed.training.batch_loss import BatchLoss


def shard(loss: BatchLoss) -> None:
    """From here on the model's weights are this process's shares."""
    # Keys and values are views, which nothing here writes to.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")
    for block in loss.model.blocks():
        fully_shard(block.module)
        for method in block.methods:
            register_fsdp_forward_method(block.module, method)
    fully_shard(loss)


def add_up_gradients(loss: BatchLoss, now: bool) -> None:
    """Whether the next backward pass adds up gradients over the processes."""
    assert isinstance(loss, FSDPModule)
    loss.set_requires_gradient_sync(now)


def whole(tensor: Tensor) -> Tensor:
    """All processes' shares of a tensor put together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def like(own: Tensor, whole: Tensor) -> Tensor:
    """This process's share of a whole, cut as `own` is. Every process has the whole, so there is nothing to send."""
    assert isinstance(own, DTensor)
    return distribute_tensor(whole.to(own.device), own.device_mesh, own.placements, src_data_rank=None)
