"""The batches that peers without a reader of their own get, all the same. PAD is 0, and decoding starts from it."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def read_batches(job: dict[str, Any]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Source, target shifted right, target."""
    arrays = np.load(job["batches"])
    return [
        tuple(torch.from_numpy(arrays[f"{part}{i}"]) for part in ("src", "tgt_in", "tgt_out"))
        for i in range(job["updates"])
    ]
