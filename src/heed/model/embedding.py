"""Section 3.4: embeddings and softmax."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.symbols import PAD


class SharedEmbedding(nn.Module):
    """One matrix used three times: source embedding, target embedding, and projection before the softmax."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        self.scale = math.sqrt(d_model)
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids_BL: Tensor) -> Tensor:
        """Return the embeddings times √d_model. PAD, and so the start of decoding, is the zero vector."""
        x_BLD = F.embedding(ids_BL, self.weight) * self.scale
        return x_BLD.masked_fill(ids_BL.eq(PAD).unsqueeze(-1), 0.0)

    def logits(self, x_BLD: Tensor) -> Tensor:
        """Return logits_BLV: the linear transformation before the softmax, without bias."""
        return F.linear(x_BLD, self.weight)
