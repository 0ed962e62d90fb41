"""Section 3.4: embeddings and softmax."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class SharedEmbedding(nn.Module):
    """One matrix used three times: source embedding, target embedding, and projection before the softmax.

    With two vocabularies there are two of these: one for the source, and one used twice for the target.
    """

    def __init__(self, n_tokens: int, d_model: int, pad: int, scale: float | None = None) -> None:
        """Make a random matrix. `scale` multiplies embeddings, by default √d_model, which gives them variance 1."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_tokens, d_model))
        self.pad = pad
        self.scale = math.sqrt(d_model) if scale is None else scale
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids_BL: Tensor) -> Tensor:
        """Return the embeddings times the scale. Padding, and so the start of decoding, is the zero vector."""
        x_BLD = F.embedding(ids_BL, self.weight) * self.scale
        return x_BLD.masked_fill(ids_BL.eq(self.pad).unsqueeze(-1), 0.0)

    def logits(self, x_BLD: Tensor) -> Tensor:
        """Return logits_BLV: the linear transformation before the softmax, without bias."""
        return F.linear(x_BLD, self.weight)
