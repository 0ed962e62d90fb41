"""Section 3.1 and figure 1: the layers of the encoder and of the decoder."""

from typing import Literal

from torch import Tensor, nn

from heed.kernels import residual
from heed.kernels.residual import Mask
from heed.kernels.sentences import Sight
from heed.model.attention import CrossAttention, SelfAttention
from heed.model.dropout import Dropout
from heed.model.feedforward import FeedForward

Norm = Literal["post", "pre"]


class Residual(nn.Module):
    """What stands around every sub-layer: LayerNorm(x + Dropout(Sublayer(x))), "post" as published.

    "pre" is x + Dropout(Sublayer(LayerNorm(x))); a stack of such layers ends in a LayerNorm of its own.
    """

    def __init__(self, d_model: int, dropout: float, norm: Norm, site: int) -> None:
        super().__init__()
        self.post = norm == "post"
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.dropout = Dropout(dropout, site)

    def before(self, x_BLD: Tensor) -> Tensor:
        """What the sub-layer gets to see."""
        seen_BLD: Tensor = x_BLD if self.post else self.norm(x_BLD)
        return seen_BLD

    def after(self, x_BLD: Tensor, y_BLD: Tensor, seed_BL: Tensor | None) -> Tensor:
        """The sub-layer's output y joined with its input x; `seed` decides what is dropped, if anything."""
        if self.training and seed_BL is not None and residual.is_for(x_BLD, y_BLD):  # the same, fused
            mask = Mask(seed_BL, self.dropout.site, self.dropout.p)
            if self.post:
                return residual.dropout_add_norm(x_BLD, y_BLD, mask, self.norm)
            return residual.dropout_add(x_BLD, y_BLD, mask)
        sum_BLD: Tensor = x_BLD + self.dropout(y_BLD, seed_BL)
        return self.norm(sum_BLD) if self.post else sum_BLD


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, d_model: int, d_ff: int, h: int, d_k: int, d_v: int, dropout: float, norm: Norm) -> None:
        super().__init__()
        self.self_attention = SelfAttention(d_model, h, d_k, d_v)
        self.self_attention_residual = Residual(d_model, dropout, norm, site=0)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.feed_forward_residual = Residual(d_model, dropout, norm, site=1)

    def forward(
        self,
        x_BSD: Tensor,
        may_attend_B11S: Tensor | Sight | None,
        captured: list[Tensor] | None = None,
        seed_BS: Tensor | None = None,
    ) -> Tensor:
        seen_BSD = self.self_attention_residual.before(x_BSD)
        keys, values = self.self_attention.keys_values(seen_BSD)
        y_BSD = self.self_attention(seen_BSD, keys, values, may_attend_B11S, captured)
        x_BSD = self.self_attention_residual.after(x_BSD, y_BSD, seed_BS)

        y_BSD = self.feed_forward(self.feed_forward_residual.before(x_BSD))
        return self.feed_forward_residual.after(x_BSD, y_BSD, seed_BS)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, then feed-forward."""

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
        x_BTD: Tensor,
        may_attend_11TT: Tensor | Sight | None,
        memory_keys_values: tuple[Tensor, Tensor],
        may_attend_B11S: Tensor | Sight | None,
        captured_self: list[Tensor] | None = None,
        captured_cross: list[Tensor] | None = None,
        seed_BT: Tensor | None = None,
    ) -> Tensor:
        seen_BTD = self.self_attention_residual.before(x_BTD)
        keys, values = self.self_attention.keys_values(seen_BTD)
        y_BTD = self.self_attention(seen_BTD, keys, values, may_attend_11TT, captured_self)
        x_BTD = self.self_attention_residual.after(x_BTD, y_BTD, seed_BT)

        seen_BTD = self.cross_attention_residual.before(x_BTD)
        y_BTD = self.cross_attention(seen_BTD, *memory_keys_values, may_attend_B11S, captured_cross)
        x_BTD = self.cross_attention_residual.after(x_BTD, y_BTD, seed_BT)

        y_BTD = self.feed_forward(self.feed_forward_residual.before(x_BTD))
        return self.feed_forward_residual.after(x_BTD, y_BTD, seed_BT)
