"""Section 3.1 and figure 1: the layers of the encoder and of the decoder.

Positions are padded (x_BLD) or packed end to end (x_ND); layers work on both. How to attend is an argument, and so are
the dropout seeds, one per position (`dropout.py`).
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from heed.model.attention import Attend, CrossAttention, SelfAttention
from heed.model.dropout import Dropout
from heed.model.feedforward import FeedForward
from heed.model.fused import dropout_add, dropout_add_norm

Norm = Literal["post", "pre"]


class Residual(nn.Module):
    """The residual connection around a sub-layer: LayerNorm(x + Dropout(Sublayer(x))), "post" as published.

    "pre" is x + Dropout(Sublayer(LayerNorm(x))); a stack of such layers ends with one more LayerNorm.
    """

    def __init__(self, d_model: int, dropout: float, norm: Norm, site: int) -> None:
        super().__init__()
        self.post = norm == "post"
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.dropout = Dropout(dropout, site)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], seed: Tensor | None) -> Tensor:
        if self.post:
            return dropout_add_norm(x, sublayer(x), self.dropout, seed, self.norm)
        return dropout_add(x, sublayer(self.norm(x)), self.dropout, seed)


class EncoderLayer(nn.Module):
    """A layer of the encoder: self-attention, then feed-forward."""

    def __init__(self, d_model: int, d_ff: int, h: int, d_k: int, d_v: int, dropout: float, norm: Norm) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model, h, d_k, d_v)
        self.self_attention_residual = Residual(d_model, dropout, norm, site=0)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.feed_forward_residual = Residual(d_model, dropout, norm, site=1)

    def forward(self, x: Tensor, attend: Attend, seed: Tensor | None = None) -> Tensor:
        attention = self.self_attention
        x = self.self_attention_residual(x, lambda x: attention(x, attention.keys_values(x), attend), seed)
        x = self.feed_forward_residual(x, self.feed_forward, seed)
        return x


class DecoderLayer(nn.Module):
    """A layer of the decoder: masked self-attention, attention over the encoder output, then feed-forward."""

    def __init__(self, d_model: int, d_ff: int, h: int, d_k: int, d_v: int, dropout: float, norm: Norm) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model, h, d_k, d_v)
        self.self_attention_residual = Residual(d_model, dropout, norm, site=0)
        self.cross_attention = CrossAttention(d_model, h, d_k, d_v)
        self.cross_attention_residual = Residual(d_model, dropout, norm, site=1)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.feed_forward_residual = Residual(d_model, dropout, norm, site=2)

    def forward(
        self,
        x: Tensor,
        attend: Attend,
        encoder_keys_values: tuple[Tensor, Tensor],
        attend_encoder: Attend,
        seed: Tensor | None = None,
    ) -> Tensor:
        attention, cross = self.self_attention, self.cross_attention
        x = self.self_attention_residual(x, lambda x: attention(x, attention.keys_values(x), attend), seed)
        x = self.cross_attention_residual(x, lambda x: cross(x, encoder_keys_values, attend_encoder), seed)
        x = self.feed_forward_residual(x, self.feed_forward, seed)
        return x
