"""Shard a model with FSDP2: each process keeps a shard of every layer, and gathers a layer while it is used.

This is a file of its own because importing FSDP2 takes a second, and a single process does not need it.
"""

import warnings

from torch import Tensor
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from heed.training.batch_loss import BatchLoss


def shard(loss: BatchLoss) -> None:
    """Replace the model's weights by this process's shards."""
    # FSDP2 warns of views because in-place writes would fail; keys and values are views that are never written to.
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")
    for block in loss.model.blocks():
        fully_shard(block.module)
        for method in block.methods:
            register_fsdp_forward_method(block.module, method)
    fully_shard(loss)


def set_gradient_sync(loss: BatchLoss, enabled: bool) -> None:
    """Choose whether the next backward pass sums gradients over the processes."""
    assert isinstance(loss, FSDPModule)
    loss.set_requires_gradient_sync(enabled)


def whole(tensor: Tensor) -> Tensor:
    """Return a full tensor from the shards of all processes."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def like(own: Tensor, whole: Tensor) -> Tensor:
    """Return this process's shard of a full tensor, cut like `own`."""
    assert isinstance(own, DTensor)
    # src_data_rank=None: every process has the full tensor, so nothing needs to be sent.
    return distribute_tensor(whole.to(own.device), own.device_mesh, own.placements, src_data_rank=None)
