"""Section 3.2: scaled dot-product attention and multi-head attention."""

import math
from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn


def attention(
    q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, may_attend_B1LM: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute scaled dot-product attention, equation (1): softmax(Q Kᵀ / √d_k) V.

    Also returns the weights of each head.
    """
    scores_BHLM = q_BHLK @ k_BHMK.mT / math.sqrt(q_BHLK.size(-1))
    if may_attend_B1LM is not None:
        scores_BHLM = scores_BHLM.masked_fill(~may_attend_B1LM, -math.inf)
    weights_BHLM = scores_BHLM.softmax(-1)
    return weights_BHLM @ v_BHMC, weights_BHLM


# An implementation of equation (1), including its mask: (q_BHLK, k_BHMK, v_BHMC) -> context_BHLC.
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def fused(may_attend_B1LM: Tensor | None) -> Attend:
    """Return attention by PyTorch's fused kernel."""
    return lambda q_BHLK, k_BHMK, v_BHMC: F.scaled_dot_product_attention(
        q_BHLK, k_BHMK, v_BHMC, attn_mask=may_attend_B1LM
    )


def explicit(may_attend_B1LM: Tensor | None, captured: list[Tensor]) -> Attend:
    """Return attention by the formula above, which appends each head's weights to `captured`."""

    def attend(q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor) -> Tensor:
        context_BHLC, weights_BHLM = attention(q_BHLK, k_BHMK, v_BHMC, may_attend_B1LM)
        captured.append(weights_BHLM)
        return context_BHLC

    return attend


def keeping(attend: Attend, keep: Callable[[Tensor], None] | None) -> Attend:
    """Return attention that also hands its output, context_BHLC, to `keep`."""
    if keep is None:
        return attend

    def attend_and_keep(q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor) -> Tensor:
        context_BHLC = attend(q_BHLK, k_BHMK, v_BHMC)
        keep(context_BHLC)
        return context_BHLC

    return attend_and_keep


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: h heads in parallel, each with its own projections. There are no biases, as in the formula.

    Queries come from `x`; keys and values are arguments, computed by `keys_values`. So the encoder output is projected
    once, however often it is attended to.
    """

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.h = h
        self.w_q = nn.Linear(d_model, h * d_k, bias=False)
        self.w_k = nn.Linear(d_model, h * d_k, bias=False)
        self.w_v = nn.Linear(d_model, h * d_v, bias=False)
        self.w_o = nn.Linear(h * d_v, d_model, bias=False)
        nn.init.xavier_uniform_(self.w_o.weight)

    def keys_values(self, attended: Tensor) -> tuple[Tensor, Tensor]:
        """Project the positions to attend to into keys and values of each head: k_BHMK, v_BHMC."""
        return self._split_heads(self.w_k(attended)), self._split_heads(self.w_v(attended))

    def forward(self, x: Tensor, keys_values: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        """Return the output of attention for each position of x."""
        context = attend(self._split_heads(self.w_q(x)), *keys_values)
        y: Tensor = self.w_o(context.transpose(-3, -2).flatten(-2))
        return y

    def _split_heads(self, x: Tensor) -> Tensor:
        """Turn x_BLX into x_BHLX, or x_NX of packed sentences into x_HNX."""
        return x.view(*x.shape[:-1], self.h, x.size(-1) // self.h).transpose(-3, -2)


def glorot_as_one_(*projections: nn.Linear) -> None:
    """Initialise by Glorot uniform, as if the projections were one matrix.

    The authors' code has one d × 3d matrix for queries, keys and values of self-attention, which narrows the bound:
    √(6 / (d + 3d)) instead of √(6 / (d + d)).
    """
    fan_in = projections[0].in_features
    bound = math.sqrt(6 / (fan_in + sum(projection.out_features for projection in projections)))
    for projection in projections:
        nn.init.uniform_(projection.weight, -bound, bound)


class SelfAttention(MultiHeadAttention):
    """Attention with queries, keys and values from one sequence."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int) -> None:
        super().__init__(d_model, h, d_k, d_v)
        glorot_as_one_(self.w_q, self.w_k, self.w_v)


class CrossAttention(MultiHeadAttention):
    """Attention with queries from the decoder, and keys and values from the encoder output."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int) -> None:
        super().__init__(d_model, h, d_k, d_v)
        glorot_as_one_(self.w_q)
        glorot_as_one_(self.w_k, self.w_v)
