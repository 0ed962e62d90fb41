"""Read the batches for peers that have no reader of their own. PAD is 0, and decoding starts from it."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def read_batches(job: dict[str, Any]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return source, target shifted right, and target of each batch."""
    arrays = np.load(job["batches"])
    return [
        tuple(torch.from_numpy(arrays[f"{part}{i}"]) for part in ("src", "tgt_in", "tgt_out"))
        for i in range(job["updates"])
    ]
