"""Measure path lengths: how many layers, or steps of a recurrent layer, until every output depends on every input.

An output depends on an input if its gradient with respect to that input is not zero.
"""

from functools import cache

import torch

from heed.paper.layer_types import Layer, LayerType

_WIDTH = 8
_PROBES = 9  # outputs whose gradients are looked at: the first, the last, and others between them


def maximum_path_length(kind: LayerType, n: int) -> int:
    """Return the length of the longest path from an input to an output that depends on it, among n positions."""
    enough = 1
    while not _all_depend(kind, n, enough):
        enough *= 2
        assert enough < 2 * n, f"{kind.name}: after {enough} layers some outputs do not depend on all {n} inputs"
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if _all_depend(kind, n, middle):
            enough = middle
        else:
            too_few = middle
    return enough


def dependencies(kind: LayerType, n: int, times: int) -> tuple[list[int], torch.Tensor]:
    """Return some outputs, and depends_OL: whether each depends on each input, with this many layers or steps."""
    torch.manual_seed(n)

    @cache
    def layer(number: int) -> Layer:
        return kind.build(_WIDTH, number).double()

    outputs = sorted({round(i * (n - 1) / (_PROBES - 1)) for i in range(_PROBES)})
    x_OLD = torch.randn(1, n, _WIDTH, dtype=torch.float64).repeat(len(outputs), 1, 1).requires_grad_()
    y_OLD = layer(0).stacked(x_OLD, times, layer)
    # The sequences are copies of one another: one backward pass gives the gradients of one output of each.
    (gradient_OLD,) = torch.autograd.grad(y_OLD[range(len(outputs)), outputs].sum(), x_OLD)
    return outputs, gradient_OLD.ne(0).any(-1)


def _all_depend(kind: LayerType, n: int, times: int) -> bool:
    outputs, depends_OL = dependencies(kind, n, times)
    if not kind.build(_WIDTH, 0).is_causal:
        return bool(depends_OL.all())
    return all(bool(row_L[: at + 1].all()) for at, row_L in zip(outputs, depends_OL, strict=True))
