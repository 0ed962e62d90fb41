"""Section 5.4: residual dropout, with masks that are a pure function of a few numbers.

Whether an element is dropped is a function of the run's seed, the step, the pair, the position in the sentence, the
sub-layer and the column: nothing is drawn in order. So the same elements are dropped however a batch is spread over
micro-batches, threads and processes, with and without the C kernels, and there is no random state to save.

Each pair has a seed of 64 random bits. The seed of a position is derived from it, and each sub-layer adds its number.
A hash of that seed and the column then decides (`keep_mask`, and the same in `kernels/residual.c`).
"""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from heed.kernels import residual
from heed.kernels.residual import PROBABILITY_LEVELS, Mask

Side = Literal["source", "target"]

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # SplitMix64's increment, as a signed number
_SECOND_VIEW = 0x5851F42D4C957F2D
_SITES_PER_LAYER = 64  # more than any layer has


def pair_seeds(seed: int, step: int, pair_B: Tensor) -> Tensor:
    """Return seeds_B, the seed of each pair of the corpus at this step of a run with this seed."""
    (state,) = np.random.SeedSequence((seed, step)).generate_state(1, np.uint64).view(np.int64)
    return _mix(pair_B * _GOLDEN + int(state))


def second_seeds(seed_B: Tensor) -> Tensor:
    """Return the seeds of another view of the same pairs."""
    return _mix(seed_B + _SECOND_VIEW)


def hash_unit(seed: Tensor) -> Tensor:
    """Return a number from 0 to below 1 for each seed, independent of the dropout masks made from it."""
    return _shifted(_mix(seed ^ _SECOND_VIEW), 40).double() / (1 << 24)


def random_seeds(n: int, device: torch.device) -> Tensor:
    """Return n seeds drawn by PyTorch's generator, for a model that is called without seeds."""
    return torch.randint(-(1 << 63), (1 << 63) - 1, (n,), dtype=torch.int64).to(device)


def position_seeds(pair_seed: Tensor, position: Tensor, side: Side) -> Tensor:
    """Return the seed of each position, from its pair's seed and its index in the sentence."""
    return _mix(pair_seed + (2 * position + (1 if side == "source" else 2)) * _GOLDEN)


def layer_seeds(position_seed: Tensor | None, layer: int) -> Tensor | None:
    """Return the seeds for layer number `layer` of a stack, whose input is layer 0."""
    return None if position_seed is None else position_seed + _wrapped(layer * _SITES_PER_LAYER * _GOLDEN)


def _mix(z: Tensor) -> Tensor:
    """Apply SplitMix64's output function (Steele, Lea, Flood 2014)."""
    z = (z ^ _shifted(z, 30)) * (0xBF58476D1CE4E5B9 - (1 << 64))
    z = (z ^ _shifted(z, 27)) * (0x94D049BB133111EB - (1 << 64))
    return z ^ _shifted(z, 31)


def _shifted(z: Tensor, n: int) -> Tensor:
    """Return z >> n as for an unsigned number."""
    return (z >> n) & ((1 << (torch.iinfo(z.dtype).bits - n)) - 1)


def _wrapped(n: int) -> int:
    """Return n modulo 2⁶⁴ as a signed number."""
    return (n + (1 << 63)) % (1 << 64) - (1 << 63)


def keep_mask(seeds: Tensor, site: int, d: int, dropped: int) -> Tensor:
    """Return which of the d elements of each row are kept: each is dropped with probability `dropped` / 2¹⁶.

    Wellons's lowbias32 hashes the row's seed and a count. One 32-bit hash decides on two elements, 16 columns apart,
    because that is how the C kernel does it with vectors.
    """
    seed = _mix(seeds + _wrapped((site + 1) * _GOLDEN)).unsqueeze(-1)
    n_blocks = -(-d // 32)
    count = torch.arange(16 * n_blocks, dtype=torch.int32, device=seeds.device)
    h = (seed & 0xFFFFFFFF).to(torch.int32) + count
    h = (h ^ _shifted(h, 16)) * 0x21F0AAAD + (seed >> 32).to(torch.int32)
    h = (h ^ _shifted(h, 15)) * (0xD35A2D97 - (1 << 32))
    h = h ^ _shifted(h, 15)
    h = h.view(*h.shape[:-1], n_blocks, 16)
    keep = torch.stack(((h & 0xFFFF) >= dropped, _shifted(h, 16) >= dropped), -2)
    return keep.flatten(-3)[..., :d]


class Dropout(nn.Module):
    """Set each element to zero with probability p in training, and scale the others by 1 / (1 - p).

    `site` is the index of this dropout within its layer.
    """

    def __init__(self, p: float, site: int = 0) -> None:
        super().__init__()
        self.p, self.site = p, site

    def forward(self, x: Tensor, seeds: Tensor | None) -> Tensor:
        """Drop elements of x according to the seeds of its rows; without seeds, drop none."""
        if not self.training or self.p == 0 or seeds is None:
            return x
        if residual.supports(x):
            return residual.dropout(x, Mask(seeds, self.site, self.p))
        dropped = round(self.p * PROBABILITY_LEVELS)
        keep, scale = (
            keep_mask(seeds, self.site, x.size(-1), dropped),
            PROBABILITY_LEVELS / (PROBABILITY_LEVELS - dropped),
        )
        if torch.compiler.is_compiling():
            return x * keep * scale
        y: Tensor = _Masked.apply(x, keep, scale)  # type: ignore[no-untyped-call]
        return y


class _Masked(torch.autograd.Function):
    """Multiply x · keep · scale, saving one byte per element for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return _masked(x, keep, scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return _masked(grad, keep, ctx.scale), None, None


def _masked(x: Tensor, keep: Tensor, scale: float) -> Tensor:
    # Converting bytes to floats is fast; converting booleans is not.
    return keep.view(torch.uint8).to(x.dtype).mul_(x).mul_(scale)
