"""A penalty on heads that are alike: the mean squared cosine between the outputs of two heads (after Li et al. 2018).

It is counted at each real source and target position, and is the mean over the attentions of all layers. The cosine is
squared, so that opposite heads are alike, too: the matrix after them can change a sign. The outputs are needed anyway,
so any kernel can compute the attention.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.config import ModelConfig


def head_similarity(contexts: Sequence[Tensor]) -> Tensor:
    """Return the penalty for context_NHC of each attention, summed over the positions."""
    return torch.stack([_similarity(context_NHC) for context_NHC in contexts]).sum() / len(contexts)


def _similarity(context_NHC: Tensor) -> Tensor:
    """Return the mean over pairs of heads of the squared cosine between them, summed over the positions."""
    n_heads = context_NHC.size(1)
    with torch.autocast(context_NHC.device.type, enabled=False):  # a cosine in half precision has two or three digits
        context_NHC = context_NHC.to(torch.promote_types(context_NHC.dtype, torch.float32))
        direction_NHC = F.normalize(context_NHC, dim=-1)
        cosine_NHH = direction_NHC @ direction_NHC.mT
        return cosine_NHH.tril(-1).square().sum() / (n_heads * (n_heads - 1) / 2)


def kept_floats(config: ModelConfig) -> int:
    """Return how many floats the penalty keeps for its backward pass per source and target position, at most."""
    attentions, outputs = config.encoder_layers + 2 * config.decoder_layers, config.h * config.value_size
    # Directions, cosines, lengths; of padded sentences also a copy of the outputs at the real positions.
    return attentions * (2 * outputs + config.h**2 + config.h)
