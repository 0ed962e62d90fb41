"""A batch whose attention is watched or changed: the model's own code runs, told how to attend.

A batch says how its positions attend (`model/sequences.py`), so nothing in the model needs to change, and nothing of it
is written a second time. What is not attention, whole layers and positions, is switched off by hooks on a copy of the
modules (`switched.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from torch import Tensor

from heed.model.attention import Attend, attention
from heed.model.sequences import Encoded, Padded

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

# (kind, layer, q_BHLK, k_BHMK, v_BHMC, may_attend) -> context_BHLC
Around = Callable[[Kind, int, Tensor, Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class Observed(Padded):
    """Padded sentences that attend through `around`, which is told which attention this is."""

    around: Around

    def attend_self(self, layer: int, causal: bool, window: int, captured: list[Tensor] | None) -> Attend:
        kind: Kind = "decoder" if causal else "encoder"
        mask = self.self_mask(causal, window)
        return lambda q, k, v: self.around(kind, layer, q, k, v, mask)

    def attend_to(self, encoded: Encoded, captured: list[Tensor] | None) -> Attend:
        layers = count()  # it is asked for once, and called by each layer in turn
        return lambda q, k, v: self.around("cross", next(layers), q, k, v, encoded.mask_B11S)


@dataclass(frozen=True)
class Switches:
    """What is switched off of a model. Layers and heads count from 0.

    A head that is off puts zeros into the concatenation before W_O (section 3.2.2). A layer that is off hands on what
    it is given. Without the causal mask, every position of the decoder attends to all others; without positions, zeros
    are added to the embeddings.
    """

    heads: frozenset[tuple[Kind, int, int]] = frozenset()  # kind, layer, head
    layers: frozenset[tuple[str, int]] = frozenset()  # "encoder" or "decoder", layer
    causal: bool = True
    positions: bool = True

    def mask(self, kind: Kind, mask: Tensor | None) -> Tensor | None:
        """Return which positions may attend to which, if the model's own code says `mask`."""
        return mask if self.causal or kind != "decoder" else None

    def attention(
        self, kind: Kind, layer: int, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return context_BHLC and weights_BHLM of equation (1), without what is off."""
        context_BHLC, weights_BHLM = attention(q_BHLK, k_BHMK, v_BHMC, self.mask(kind, mask))
        off = [head for head in range(q_BHLK.size(1)) if (kind, layer, head) in self.heads]
        if off:
            context_BHLC[:, off] = 0
        return context_BHLC, weights_BHLM


NOTHING_OFF = Switches()


def heads_gated(gates: dict[tuple[Kind, int], Tensor], switches: Switches = NOTHING_OFF) -> Around:
    """Attend by equation (1), each head's output times its gate_BH: 0 switches the head off."""

    def around(kind: Kind, layer: int, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, mask: Tensor | None) -> Tensor:
        context_BHLC, _ = switches.attention(kind, layer, q_BHLK, k_BHMK, v_BHMC, mask)
        gate_BH = gates.get((kind, layer))
        return context_BHLC if gate_BH is None else context_BHLC * gate_BH[:, :, None, None]

    return around
