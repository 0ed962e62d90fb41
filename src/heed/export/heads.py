"""Attention heads of the width another program wants."""

import torch.nn.functional as F
from torch import Tensor


def widened(projection_XD: Tensor, h: int, width: int) -> Tensor:
    """A projection whose heads have `width` rows each: their own, then zeros.

    A zero in a query meets a zero in a key, and a zero in a value meets a zero in the output projection: what
    attention computes stays the same, but for the scale 1/√d_k, which whoever calls this has to keep.
    """
    heads_HXD = projection_XD.view(h, -1, projection_XD.size(-1))
    return F.pad(heads_HXD, (0, 0, 0, width - heads_HXD.size(1))).flatten(0, 1)
