"""Section 3.2: scaled dot-product attention and multi-head attention."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from heed.kernels.sentences import Sight, attend_sentences


def attention(
    q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, may_attend_B1LM: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention, equation (1): softmax(Q Kᵀ / √d_k) V.

    Also returns the weights, per head; averaging heads is the viewer's business.
    """
    scores_BHLM = q_BHLK @ k_BHMK.mT / math.sqrt(q_BHLK.size(-1))
    if may_attend_B1LM is not None:
        scores_BHLM = scores_BHLM.masked_fill(~may_attend_B1LM, -math.inf)
    weights_BHLM = scores_BHLM.softmax(-1)
    return weights_BHLM @ v_BHMC, weights_BHLM


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: h heads side by side, each with projections of its own. No biases, as in the formula.

    Queries come from `x`; keys and values are handed in, made by `keys_values` from whatever is attended to.
    So past positions and the encoder's output are projected once, however often they are attended to.
    """

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.h = h
        self.w_q = nn.Linear(d_model, h * d_k, bias=False)
        self.w_k = nn.Linear(d_model, h * d_k, bias=False)
        self.w_v = nn.Linear(d_model, h * d_v, bias=False)
        self.w_o = nn.Linear(h * d_v, d_model, bias=False)
        nn.init.xavier_uniform_(self.w_o.weight)

    def keys_values(self, memory_BMD: Tensor) -> tuple[Tensor, Tensor]:
        """What is attended to, as keys and values of each head: k_BHMK, v_BHMC."""
        return self._split_heads(self.w_k(memory_BMD)), self._split_heads(self.w_v(memory_BMD))

    def forward(
        self,
        x_BLD: Tensor,
        k_BHMK: Tensor,
        v_BHMC: Tensor,
        may_attend_B1LM: Tensor | Sight | None,
        captured: list[Tensor] | None = None,
    ) -> Tensor:
        """Attend from x. With `captured`, take the explicit path and append each head's weights to it.

        A `Sight` instead of a mask: there is no B, but all sentences' positions in a row, as in `packed.py`;
        and nothing is captured.
        """
        q_BHLK = self._split_heads(self.w_q(x_BLD))
        if isinstance(may_attend_B1LM, Sight):
            context_BHLC = attend_sentences(q_BHLK, k_BHMK, v_BHMC, may_attend_B1LM)
        elif captured is None:  # the same as below in one go, and nothing to look at
            context_BHLC = F.scaled_dot_product_attention(q_BHLK, k_BHMK, v_BHMC, attn_mask=may_attend_B1LM)
        else:
            context_BHLC, weights_BHLM = attention(q_BHLK, k_BHMK, v_BHMC, may_attend_B1LM)
            captured.append(weights_BHLM)
        y_BLD: Tensor = self.w_o(context_BHLC.transpose(-3, -2).flatten(-2))
        return y_BLD

    def _split_heads(self, x_BLX: Tensor) -> Tensor:
        return x_BLX.view(*x_BLX.shape[:-1], self.h, x_BLX.size(-1) // self.h).transpose(-3, -2)


def glorot_as_one_(*projections: nn.Linear) -> None:
    """Glorot uniform, as if the projections were one matrix.

    The authors' code makes queries, keys and values of self-attention by one d × 3d matrix, which narrows
    the bound: √(6 / (d + 3d)) instead of √(6 / (d + d)).
    """
    fan_in = projections[0].in_features
    bound = math.sqrt(6 / (fan_in + sum(projection.out_features for projection in projections)))
    for projection in projections:
        nn.init.uniform_(projection.weight, -bound, bound)


class SelfAttention(MultiHeadAttention):
    """Queries, keys and values from one sequence."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int) -> None:
        super().__init__(d_model, h, d_k, d_v)
        glorot_as_one_(self.w_q, self.w_k, self.w_v)


class CrossAttention(MultiHeadAttention):
    """Queries from the decoder; keys and values from the encoder's output."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int) -> None:
        super().__init__(d_model, h, d_k, d_v)
        glorot_as_one_(self.w_q)
        glorot_as_one_(self.w_k, self.w_v)
