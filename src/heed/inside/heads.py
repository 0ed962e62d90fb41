"""The head-off map: each head switched off once, and what that does to the translation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from heed.inside.forced import Floats, Ints, forced
from heed.inside.observe import KINDS, NOTHING_OFF, Kind, Switches, heads_gated
from heed.model.transformer import Transformer

_ROWS_AT_ONCE = 32  # sentences of a batch, one for each head that is off


@dataclass(frozen=True)
class HeadsOff:
    """What the translation's tokens become with one head off: of each kind, layers × heads × T.

    "Off": what the head puts into the concatenation before W_O (section 3.2.2) is zero.
    """

    change: dict[Kind, Floats]  # of the log-probability of each token
    first_choice: dict[Kind, Ints]  # the most probable token after the same beginning


def switch_off_heads(
    model: Transformer,
    source: Sequence[int],
    target: Sequence[int],
    n_layers: dict[Kind, int],
    h: int,
    on_done: Callable[[int], None],
    switches: Switches = NOTHING_OFF,
) -> HeadsOff:
    """Score the translation once for each head that is off, besides what `switches` has switched off.

    `on_done` is told of each number of heads.
    """
    before_T = forced(model, [source], target, heads_gated({}, switches))[0][0]
    change, first_choice = {}, {}
    for kind in KINDS:
        n_heads = n_layers[kind] * h
        found = []
        for begin in range(0, n_heads, _ROWS_AT_ONCE):
            off = range(begin, min(begin + _ROWS_AT_ONCE, n_heads))
            gates = {(kind, layer): torch.ones(len(off), h, device=model.device) for layer in range(n_layers[kind])}
            for row, number in enumerate(off):
                gates[kind, number // h][row, number % h] = 0
            found.append(forced(model, [source] * len(off), target, heads_gated(gates, switches)))
            on_done(len(off))
        logprobs, chosen = (
            np.concatenate(arrays).reshape(n_layers[kind], h, -1) for arrays in zip(*found, strict=True)
        )
        change[kind], first_choice[kind] = logprobs - before_T, chosen
    return HeadsOff(change, first_choice)
