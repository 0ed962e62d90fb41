"""The layers that Table 1 compares: n vectors of width d in, n vectors of width d out.

The table counts what a layer does to combine positions. For self-attention that is equation (1) alone; the projections
of its queries, keys, values and output take O(n · d²) more, so a layer with them is measured too.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.model.attention import Attend, SelfAttention, explicit, fused
from heed.model.neighbourhood import Neighbourhood

HEADS = 4
RECURRENT = {"tanh": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}


class Layer(nn.Module):
    """A layer of one kind: `forward` is the fastest way to run it, `stepwise` shows every operation."""

    is_causal = False  # an output depends on inputs up to its own position only

    def stepwise(self, x_BLD: Tensor) -> Tensor:
        """Return what `forward` returns, by operations that can be seen one by one."""
        y_BLD: Tensor = self(x_BLD)
        return y_BLD

    def stacked(self, x_BLD: Tensor, times: int, number: Callable[[int], "Layer"]) -> Tensor:
        """Return the output of a stack of this many layers; `number` makes the layer with a number."""
        for i in range(times):
            x_BLD = number(i)(x_BLD)
        return x_BLD


class Attention(Layer):
    """Equation (1), with the input as queries, keys and values of each head."""

    def __init__(self, attend: Callable[[int], Attend]) -> None:
        super().__init__()
        self.attend = attend  # for a number of positions

    def forward(self, x_BLD: Tensor) -> Tensor:
        x_BHLK = x_BLD.view(*x_BLD.shape[:2], HEADS, -1).transpose(1, 2)
        return self.attend(x_BLD.size(1))(x_BHLK, x_BHLK, x_BHLK).transpose(1, 2).flatten(2)


class Projected(Layer):
    """The whole self-attention of the model, with its four projections."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.attention = SelfAttention(d, HEADS, d // HEADS, d // HEADS)

    def forward(self, x_BLD: Tensor) -> Tensor:
        y_BLD: Tensor = self.attention(x_BLD, self.attention.keys_values(x_BLD), explicit(None, []))
        return y_BLD


class Recurrent(Layer):
    """A recurrent layer, from the first position to the last."""

    is_causal = True

    def __init__(self, cell: str, d: int) -> None:
        super().__init__()
        self.cell = cell
        self.layer = RECURRENT[cell](d, d, batch_first=True)

    def forward(self, x_BLD: Tensor) -> Tensor:
        y_BLD: Tensor = self.layer(x_BLD)[0]
        return y_BLD

    def stepwise(self, x_BLD: Tensor) -> Tensor:
        state, out = self._zeros(x_BLD[:, 0]), []
        for x_BD in x_BLD.unbind(1):
            state = self._step(x_BD, state)
            out.append(state[0])
        return torch.stack(out, 1)

    def stacked(self, x_BLD: Tensor, times: int, number: Callable[[int], "Layer"]) -> Tensor:
        """Return the output after this many applications of the cell, each to all positions at once.

        Each position gets the state that its predecessor had after the application before. After as many as there are
        positions this is the layer's output; with fewer, a position depends only on as many before it. So they count
        the cells that a signal goes through.
        """
        x_RD = x_BLD.flatten(0, 1)
        state = self._zeros(x_RD)
        for _ in range(times):
            before = tuple(self._shifted(one_RD.view_as(x_BLD)).flatten(0, 1) for one_RD in state)
            state = self._step(x_RD, before)
        return state[0].view_as(x_BLD)

    def _zeros(self, like_BD: Tensor) -> tuple[Tensor, ...]:
        return (torch.zeros_like(like_BD),) * (2 if self.cell == "LSTM" else 1)

    @staticmethod
    def _shifted(x_BLD: Tensor) -> Tensor:
        return torch.cat((torch.zeros_like(x_BLD[:, :1]), x_BLD[:, :-1]), 1)

    def _step(self, x_BD: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        layer = self.layer
        weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
        if self.cell == "LSTM":
            h_BD, c_BD = torch.lstm_cell(x_BD, list(state), *weights)
            return h_BD, c_BD
        step = torch.gru_cell if self.cell == "GRU" else torch.rnn_tanh_cell
        return (step(x_BD, state[0], *weights),)


class Convolution(Layer):
    """A convolution over a position and k - 1 before it, `dilation` apart, as in a decoder; zeros before the first."""

    is_causal = True

    def __init__(self, d: int, k: int, dilation: int) -> None:
        super().__init__()
        self.n_before = dilation * (k - 1)
        self.convolution = nn.Conv1d(d, d, k, dilation=dilation)

    def forward(self, x_BLD: Tensor) -> Tensor:
        y_BDL: Tensor = self.convolution(F.pad(x_BLD.transpose(1, 2), (self.n_before, 0)))
        return y_BDL.transpose(1, 2)


@dataclass(frozen=True)
class LayerType:
    """A kind of layer, and its row of the published table."""

    name: str
    row: str  # of Table 1
    build: Callable[[int, int], Layer]  # (width, number of the layer in a stack) -> layer


def layer_types(r: int, k: int) -> list[LayerType]:
    """Return every kind: `r` is the size of a neighbourhood, `k` the kernel width of a convolution."""
    return [
        LayerType("self-attention", "self-attention", lambda d, i: Attention(lambda n: explicit(None, []))),
        LayerType("- fused kernel", "self-attention", lambda d, i: Attention(lambda n: fused(None))),
        LayerType("- with projections", "self-attention", lambda d, i: Projected(d)),
        LayerType(f"restricted, r = {r}", "restricted", lambda d, i: Attention(lambda n: restricted(n, r))),
        LayerType("recurrent, tanh", "recurrent", lambda d, i: Recurrent("tanh", d)),
        LayerType("- LSTM", "recurrent", lambda d, i: Recurrent("LSTM", d)),
        LayerType("- GRU", "recurrent", lambda d, i: Recurrent("GRU", d)),
        LayerType(f"convolution, k = {k}", "convolution", lambda d, i: Convolution(d, k, 1)),
        LayerType("- dilated", "convolution", lambda d, i: Convolution(d, k, k**i)),
    ]


def restricted(n: int, r: int) -> Attend:
    """Return attention of n positions to their neighbourhoods of r."""
    return Neighbourhood.centred(torch.arange(n), torch.tensor([[n]]), r).attend
