"""What a layer costs for n positions of width d: operations and bytes counted as it runs, and seconds."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from heed.paper.layer_types import Layer


def _attention_operations(
    q_shape: torch.Size, k_shape: torch.Size, v_shape: torch.Size, *args: Any, **kwargs: Any
) -> int:
    return int(sdpa_flop_count(q_shape, k_shape, v_shape))  # type: ignore[no-untyped-call]


# PyTorch's counter knows all products but those of the CPU's fused attention.
_ALSO_COUNTED = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_operations}


def given(n: int, d: int, n_sequences: int = 1) -> Tensor:
    """Return the input of a layer."""
    generator = torch.Generator().manual_seed(n * d)
    return torch.randn(n_sequences, n, d, generator=generator).requires_grad_()


def operations(layer: Layer, n: int, d: int) -> int:
    """Return the multiplications and additions in the products of a forward pass, counted as they run."""
    with FlopCounterMode(display=False, custom_mapping=_ALSO_COUNTED) as counter:
        layer.stepwise(given(n, d))
    return int(counter.get_total_flops())


def kept_bytes(layer: Layer, n: int, d: int) -> int:
    """Return the bytes that a forward pass keeps for the backward pass, without the layer's weights."""
    return kept_by(layer, lambda: layer(given(n, d)))


def kept_by(module: nn.Module, run: Callable[[], object]) -> int:
    """Return the bytes that a run keeps for its backward pass, without the weights of the module."""
    weights = {one.untyped_storage().data_ptr() for one in module.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage  # kept alive, so that its address is not used again
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        run()
    return sum(storage.nbytes() for storage in kept.values())


def seconds(layers: Sequence[Layer], n: int, d: int, rounds: int) -> list[float]:
    """Return the time of a forward and a backward pass of each layer; they take turns, and the best round counts."""
    best = [float("inf")] * len(layers)
    x_BLD = given(n, d)
    for number in range(rounds + 1):
        for i, layer in enumerate(layers):
            begin = time.perf_counter()
            layer(x_BLD).sum().backward()
            if number:  # the first round is for warming up
                best[i] = min(best[i], time.perf_counter() - begin)
    return best


def longest_chain(layer: Layer, n: int, d: int) -> int:
    """Return the number of operations that must follow one another, from the graph of the run.

    An operation on whole tensors, such as a product of matrices, counts as one, as in the paper.
    """
    found: dict[Any, int] = {}
    waiting = [layer.stepwise(given(n, d)).grad_fn]
    while waiting:
        node = waiting[-1]
        before = [one for one, _ in node.next_functions if one is not None]  # type: ignore[union-attr]
        missing = [one for one in before if one not in found]
        if missing:
            waiting += missing
            continue
        found[node] = 1 + max((found[one] for one in before), default=0)
        waiting.pop()
    return max(found.values())
