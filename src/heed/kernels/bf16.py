"""Matrix products of tensors in bfloat16: numbers rounded to 16 bits, sums in 32 bits.

`bf16_ways.py` says whether the processor can, and chooses the instructions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from heed.kernels.library import library
from heed.kernels.matrix import bf16_scratch, bf16_size


@dataclass(frozen=True)
class Packed:
    """A matrix with k rows and n columns, rounded and packed for the right side of products."""

    pairs: Tensor
    k: int
    n: int


def pack(b: Tensor) -> Packed:
    """Round and pack a matrix; a transposed view (`weight.T`) costs no copy."""
    k, n = b.shape
    source, transposed = _stored(b)
    out = torch.empty(bf16_size(k, n), dtype=torch.int32)
    _call("heed_bf16_pack", source.data_ptr(), k, n, transposed, out.data_ptr())
    return Packed(out, k, n)


def multiply(a: Tensor, b: Packed, out: Tensor | None = None, accumulate: bool = False) -> Tensor:
    """Return the product a · b, written or added to `out` if given; `a` may be a transposed view.

    Raises:
        ValueError: the sizes do not match.
    """
    m, k = a.shape
    source, transposed = _stored(a)
    if out is None:
        out = torch.empty(m, b.n)
    if k != b.k or out.shape != (m, b.n) or not out.is_contiguous() or out.dtype != torch.float32:
        raise ValueError(f"no product of {m} x {k} and {b.k} x {b.n} in {tuple(out.shape)} ({out.dtype})")
    scratch = torch.empty(bf16_scratch(m, k), dtype=torch.int32)
    pointers = source.data_ptr(), transposed, b.pairs.data_ptr(), out.data_ptr()
    _call("heed_bf16_multiply", *pointers, m, k, b.n, accumulate, scratch.data_ptr())
    return out


def _stored(x: Tensor) -> tuple[Tensor, bool]:
    """Return a matrix as it lies in memory, row by row, and whether that is its transpose."""
    if x.dtype != torch.float32 or x.device.type != "cpu":
        raise ValueError(f"products in bfloat16 take float32 on the CPU, not {x.dtype} on {x.device}")
    if x.T.is_contiguous() and not x.is_contiguous():
        return x.T, True
    return x.contiguous(), False


def _call(function: str, *arguments: int | bool) -> None:
    found = library()
    assert found is not None  # see `bf16_ways.ways`
    getattr(found, function)(*arguments)
