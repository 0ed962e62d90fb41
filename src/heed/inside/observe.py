"""A batch whose attention is watched or changed: the model's own code runs, told how to attend.

A batch says how its positions attend (`model/sequences.py`), so nothing in the model needs to change, and nothing of it
is written a second time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from torch import Tensor

from heed.model.attention import Attend, attention
from heed.model.masks import causal_mask
from heed.model.sequences import Encoded, Padded

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

# (kind, layer, q_BHLK, k_BHMK, v_BHMC, may_attend) -> context_BHLC
Around = Callable[[Kind, int, Tensor, Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Observed(Padded):
    """Padded sentences that attend through `around`, which is told which attention this is."""

    around: Around

    def attend_self(self, layer: int, causal: bool, captured: list[Tensor] | None) -> Attend:
        kind: Kind = "decoder" if causal else "encoder"
        mask = causal_mask(self.ids.size(1), self.ids.device) if causal else self.not_padding
        return lambda q, k, v: self.around(kind, layer, q, k, v, mask)

    def attend_to(self, encoded: Encoded, captured: list[Tensor] | None) -> Attend:
        layers = count()  # it is asked for once, and called by each layer in turn
        return lambda q, k, v: self.around("cross", next(layers), q, k, v, encoded.mask_B11S)


def heads_gated(gates: dict[tuple[Kind, int], Tensor]) -> Around:
    """Attend by equation (1), each head's output times its gate_BH: 0 switches the head off."""

    def around(kind: Kind, layer: int, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, mask: Tensor | None) -> Tensor:
        context_BHLC, _ = attention(q_BHLK, k_BHMK, v_BHMC, mask)
        gate_BH = gates.get((kind, layer))
        return context_BHLC if gate_BH is None else context_BHLC * gate_BH[:, :, None, None]

    return around
