"""A recurrent encoder-decoder with attention, as in GNMT (Wu et al. 2016): a baseline of Table 2.

The first encoder layer reads in both directions, the others forward; all but the first layer of a stack add their
input (residuals). As in the second version of GNMT's published code, the first decoder layer reads the target alone,
the attention's queries are its output, and every later layer reads the context beside its input. So in training each
layer runs over a whole sentence at once. The score is Luong et al.'s (2015) "general" one, and the output their
attentional vector, tanh(W [x; context]).

Dropout is on the embeddings and on the output of each layer, never from one position to the next (Zaremba et al. 2014).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.config import ModelConfig
from heed.model.cache import continued
from heed.model.dropout import Dropout, layer_seeds
from heed.model.embedding import SharedEmbedding
from heed.model.interface import Block, SequenceModel
from heed.model.sequences import Encoded, Padded
from heed.vocabulary import Vocabulary

Cell = Literal["lstm", "gru"]
_GATES: dict[Cell, int] = {"lstm": 4, "gru": 3}


class Recurrence(nn.Module):
    """A layer of LSTM (Hochreiter, Schmidhuber 1997) or GRU (Cho et al. 2014) cells that reads from left to right."""

    def __init__(self, cell: Cell, d_in: int, d: int) -> None:
        super().__init__()
        self.rnn = (nn.LSTM if cell == "lstm" else nn.GRU)(d_in, d, batch_first=True)
        # The width of a state: an LSTM has the cells beside the output.
        self.state_size = 2 * d if cell == "lstm" else d
        if cell == "lstm":  # forget little at first (Jozefowicz et al. 2015)
            _, _, input_bias, state_bias = self.rnn.all_weights[0]
            with torch.no_grad():
                input_bias[d : 2 * d], state_bias[d : 2 * d] = 1, 0

    def forward(self, x_BLX: Tensor) -> Tensor:
        """Return the output at each position."""
        y_BLD: Tensor = self.rnn(x_BLX)[0]
        return y_BLD

    def step(self, x_RX: Tensor, state_RY: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output at one more position of each row, and the state after it."""
        weights = self.rnn.all_weights[0]
        if isinstance(self.rnn, nn.GRU):
            y_RD = torch.gru_cell(x_RX, state_RY, *weights)
            return y_RD, y_RD
        y_RD, c_RD = torch.lstm_cell(x_RX, list(state_RY.chunk(2, -1)), *weights)
        return y_RD, torch.cat((y_RD, c_RD), -1)


class BothDirections(nn.Module):
    """Two layers of half the width side by side, one of which reads from right to left."""

    def __init__(self, cell: Cell, d: int) -> None:
        super().__init__()
        self.forwards, self.backwards = Recurrence(cell, d, d // 2), Recurrence(cell, d, d // 2)

    def forward(self, x_BLD: Tensor, lengths_B: Tensor) -> Tensor:
        """Return the outputs of both at each position."""
        # The sentence is reversed and the padding after it, too; doing so twice restores both.
        position_L = torch.arange(x_BLD.size(1), device=x_BLD.device)
        mirror_BL1 = ((lengths_B.unsqueeze(1) - 1 - position_L) % x_BLD.size(1)).unsqueeze(-1)
        y_BLX = self.backwards(x_BLD.gather(1, mirror_BL1.expand_as(x_BLD)))
        return torch.cat((self.forwards(x_BLD), y_BLX.gather(1, mirror_BL1.expand_as(y_BLX))), -1)


class Recurrent(SequenceModel):
    """A recurrent encoder, and a recurrent decoder that attends to it."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        d, cell = config.d_model, config.cell
        self.embedding = SharedEmbedding(vocabulary.size, d, vocabulary.pad)
        if vocabulary.source_size is not None:
            self.own_source_embedding = SharedEmbedding(vocabulary.source_size, d, vocabulary.pad)
        self.first_encoder = BothDirections(cell, d)
        self.encoder = nn.ModuleList(Recurrence(cell, d, d) for _ in range(config.encoder_layers - 1))
        self.first_decoder = Recurrence(cell, d, d)
        self.decoder = nn.ModuleList(Recurrence(cell, 2 * d, d) for _ in range(config.decoder_layers - 1))
        self.w_q = nn.Linear(d, d, bias=False)
        self.w_o = nn.Linear(2 * d, d, bias=False)
        for projection in (self.w_q, self.w_o):
            nn.init.xavier_uniform_(projection.weight)
        self.dropout = Dropout(config.dropout)

    @property
    def source_embedding(self) -> SharedEmbedding:
        return self.embedding if self.vocabulary.is_shared else self.own_source_embedding

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight

    @property
    def _decoder(self) -> list[Recurrence]:
        return [self.first_decoder, *cast("list[Recurrence]", list(self.decoder))]

    def encode(self, src_BS: Tensor, seed_B: Tensor | None = None) -> Encoded:
        """Run the encoder. Its output is both keys and values of the attention."""
        src = Padded(src_BS, self.vocabulary.pad)
        seeds_BS = src.seeds(seed_B, "source") if self.training else None
        x_BSD = self.dropout(self.source_embedding(src_BS), seeds_BS)
        lengths_B = src_BS.ne(self.vocabulary.pad).sum(1)
        x_BSD = self.dropout(self.first_encoder(x_BSD, lengths_B), layer_seeds(seeds_BS, 1))
        for number, layer in enumerate(self.encoder, 2):
            x_BSD = x_BSD + self.dropout(layer(x_BSD), layer_seeds(seeds_BS, number))
        return src.encoded([(x_BSD.unsqueeze(1), x_BSD.unsqueeze(1))])

    def decode(
        self, tgt_in_BT: Tensor, encoded: Encoded, captured: list[Tensor] | None = None, seed_B: Tensor | None = None
    ) -> Tensor:
        """Run the decoder, and return hidden_BTD. `captured` collects the attention weights."""
        tgt = Padded(tgt_in_BT, self.vocabulary.pad)
        seeds_BT = tgt.seeds(seed_B, "target") if self.training else None
        x_BTD = self.dropout(self.embedding(tgt_in_BT), seeds_BT)
        x_BTD = self.dropout(self.first_decoder(x_BTD), layer_seeds(seeds_BT, 1))
        context_BTD = tgt.attend_to(encoded, captured)(self._queries(x_BTD), *encoded.keys_values[0]).squeeze(1)
        for number, layer in enumerate(self.decoder, 2):
            y_BTD = layer(torch.cat((x_BTD, context_BTD), -1))
            x_BTD = x_BTD + self.dropout(y_BTD, layer_seeds(seeds_BT, number))
        hidden_BTD: Tensor = self._output(x_BTD, context_BTD)
        hidden_BTD = self.dropout(hidden_BTD, layer_seeds(seeds_BT, 1 + self.config.decoder_layers))
        return hidden_BTD

    def _queries(self, x_BLD: Tensor) -> Tensor:
        """Return queries_B1LD. Equation (1) divides scores by √d; the general score does not."""
        q_BLD: Tensor = self.w_q(x_BLD)
        return (q_BLD * math.sqrt(x_BLD.size(-1))).unsqueeze(1)

    def _output(self, x_BLD: Tensor, context_BLD: Tensor) -> Tensor:
        return torch.tanh(self.w_o(torch.cat((x_BLD, context_BLD), -1)))

    def hidden(self, src_BS: Tensor, tgt_in_BT: Tensor, real_BT: Tensor, seed_B: Tensor | None = None) -> Tensor:
        return self.decode(tgt_in_BT, self.encode(src_BS, seed_B), seed_B=seed_B)[real_BT]

    has_cross_attention = True

    def cross_attention(self, src_BS: Tensor, tgt_in_BT: Tensor) -> list[Tensor]:
        captured: list[Tensor] = []
        self.decode(tgt_in_BT, self.encode(src_BS), captured)
        return captured

    def blocks(self) -> Sequence[Block]:
        return [Block(self.first_encoder), *map(Block, self.encoder), *map(Block, self._decoder)]

    # --- search -------------------------------------------------------------------------------------------

    def start(self, src_BS: Tensor) -> "RecurrentState":
        encoded = self.encode(src_BS)
        like = encoded.keys_values[0][0]
        return RecurrentState(encoded, [like.new_zeros(len(src_BS), 1, one.state_size) for one in self._decoder])

    def step(self, ids_BW: Tensor, state: "RecurrentState") -> tuple[Tensor, "RecurrentState"]:
        encoded, (first_BWY, *others) = state.encoded, state.layers
        x_BWD, new_BWY = _step(self.first_decoder, self.embedding(ids_BW), first_BWY)
        attend = Padded(ids_BW, self.vocabulary.pad).attend_to(encoded, None)
        context_BWD = attend(self._queries(x_BWD), *encoded.keys_values[0]).squeeze(1)
        layers = [new_BWY]
        for layer, state_BWY in zip(self._decoder[1:], others, strict=True):
            y_BWD, new_BWY = _step(layer, torch.cat((x_BWD, context_BWD), -1), state_BWY)
            x_BWD = x_BWD + y_BWD
            layers.append(new_BWY)
        return self.embedding.logits(self._output(x_BWD, context_BWD)), replace(state, layers=layers)

    # --- size ---------------------------------------------------------------------------------------------

    @staticmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        d, gates = config.d_model, _GATES[config.cell]
        n_products, n_later = _products_per_position(config), config.encoder_layers + config.decoder_layers - 1
        biases = 2 * gates * d * (1 + n_later)  # PyTorch has one for the input and one for the state
        return (vocabulary.size + (vocabulary.source_size or 0)) * d + sum(n_products) + biases

    @staticmethod
    def kept_floats(config: ModelConfig, length: int) -> int:
        d, layers = config.d_model, config.encoder_layers + config.decoder_layers
        mask = d // 4 if config.dropout else 0  # one byte per element
        cell = (21 if config.cell == "lstm" else 8) * d  # input, gates, state, output; oneDNN's LSTM keeps copies
        contexts = 2 * d * config.decoder_layers  # beside the input of each later layer, and of the output
        return layers * (cell + mask) + contexts + 8 * d + 3 * mask + 2 * length

    @staticmethod
    def update_operations(
        config: ModelConfig, vocabulary: Vocabulary, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> int:
        encoder, decoder = _products_per_position(config)
        d, n_source, n_target = config.d_model, int(sources.sum()), int(targets.sum())
        attend = 2 * d * int((sources * targets).sum())
        return 3 * 2 * (n_source * encoder + n_target * (decoder + d * vocabulary.size) + attend)


def _products_per_position(config: ModelConfig) -> tuple[int, int]:
    """Return the weights of all matrices, and so the multiplications, of encoder and decoder."""
    d, gates = config.d_model, _GATES[config.cell]
    both = 2 * gates * (d // 2) * (d + d // 2)
    layer = gates * d * (d + d)
    later = gates * d * (2 * d + d)  # with the context
    decoder = layer + (config.decoder_layers - 1) * later + d * d + 2 * d * d
    return both + (config.encoder_layers - 1) * layer, decoder


def _step(layer: Recurrence, x_BWX: Tensor, state_BWY: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output of a layer for the newest token of each hypothesis, and the state after it."""
    y_RD, state_RY = layer.step(x_BWX.flatten(0, 1), state_BWY.flatten(0, 1))
    return y_RD.view(*x_BWX.shape[:2], -1), state_RY.view_as(state_BWY)


@dataclass(frozen=True)
class RecurrentState:
    """The state of a search: the encoder output, and the state of each decoder layer for each hypothesis."""

    encoded: Encoded
    layers: list[Tensor]  # state_BWY: the output and, of an LSTM, the cells

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "RecurrentState":
        encoded = self.encoded.select(sentences_B)
        return RecurrentState(encoded, [continued(one, sentences_B, parents_BW) for one in self.layers])
