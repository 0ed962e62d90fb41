"""Attention heads of the width that another program needs."""

import torch.nn.functional as F
from torch import Tensor


def pad_heads(projection_XD: Tensor, h: int, width: int) -> Tensor:
    """Return a projection with each head padded with zeros to `width` rows.

    Zeros in queries meet zeros in keys, and zeros in values meet zeros in the output projection: attention computes the
    same, except for the scale 1/√d_k, which the caller has to set.
    """
    heads_HXD = projection_XD.view(h, -1, projection_XD.size(-1))
    return F.pad(heads_HXD, (0, 0, 0, width - heads_HXD.size(1))).flatten(0, 1)
