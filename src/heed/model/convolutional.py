"""A convolutional encoder-decoder, ConvS2S (Gehring et al. 2017): a baseline of Table 2.

A layer reads `kernel_width` neighbouring positions of its input; the decoder's reads none that follows. Half of what it
computes gates the other half (GLU). Every decoder layer attends to the encoder output. Each sum of two is multiplied by
√0.5, which keeps its variance. With `dilated`, the neighbours are 1, 2, 4, 8, 16, 1, 2, ... positions apart, as in
ByteNet (Kalchbrenner et al. 2016), so that fewer layers see a whole sentence.

Embeddings are small and not scaled: a gate is then near 1/2 at first, and attention nearly uniform, which the factors
above and the initial weights assume. Gehring et al. also normalise weights and scale the encoder's gradient, for
training without Adam; this model does neither.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.config import ModelConfig
from heed.kernels import varlen
from heed.model.attention import Attend, fused
from heed.model.cache import continued
from heed.model.dropout import Dropout, layer_seeds
from heed.model.embedding import SharedEmbedding
from heed.model.interface import Block, SequenceModel
from heed.model.positions import LearnedPositions
from heed.model.sequences import Encoded, Packed, Padded
from heed.vocabulary import Vocabulary

_HALF = math.sqrt(0.5)
_DILATIONS = (1, 2, 4, 8, 16)  # of ByteNet's layers, in turn


class GatedConvolution(nn.Module):
    """A convolution with as many outputs as gates: GLU(W window + b)."""

    def __init__(self, d: int, kernel_width: int, dropout: float) -> None:
        super().__init__()
        self.w = nn.Linear(kernel_width * d, 2 * d)
        # Gehring et al., section 3.5: as much variance in the output as in the input.
        nn.init.normal_(self.w.weight, std=math.sqrt(4 * (1 - dropout) / (kernel_width * d)))
        nn.init.zeros_(self.w.bias)

    def forward(self, window: Tensor) -> Tensor:
        """Return a vector for each window: the vectors of neighbouring positions, side by side."""
        return F.glu(self.w(window), -1)


class EncoderLayer(nn.Module):
    """A gated convolution, added to its input."""

    def __init__(self, d: int, kernel_width: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(d, kernel_width, dropout)

    def forward(self, x: Tensor, window: Tensor) -> Tensor:
        y: Tensor = (x + self.convolution(window)) * _HALF
        return y


class DecoderLayer(nn.Module):
    """A gated convolution and attention to the encoder output, added to the input."""

    def __init__(self, d: int, kernel_width: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(d, kernel_width, dropout)
        self.w_q, self.w_o = nn.Linear(d, d), nn.Linear(d, d)
        for projection in (self.w_q, self.w_o):
            nn.init.normal_(projection.weight, std=math.sqrt(1 / d))
            nn.init.zeros_(projection.bias)

    def forward(self, x: Tensor, window: Tensor, embedded: Tensor, source: "Attended") -> Tensor:
        h = self.convolution(window)
        query = (self.w_q(h) + embedded) * _HALF
        h = (h + self.w_o(source.context(query))) * _HALF
        y: Tensor = (x + h) * _HALF
        return y


@dataclass(frozen=True)
class Attended:
    """The encoder output, and how positions attend to it."""

    keys_values: tuple[Tensor, Tensor]
    attend: Attend
    root: Tensor  # √ of the length of each position's source sentence

    def context(self, query: Tensor) -> Tensor:
        """Return the mean of the values, weighted, times √ of their number, which keeps their variance.

        Equation (1) divides scores by √d; ConvS2S does not.
        """
        query = query * math.sqrt(query.size(-1))
        return self.attend(query.unsqueeze(-3), *self.keys_values).squeeze(-3) * self.root


class Convolutional(SequenceModel):
    """A convolutional encoder, and a convolutional decoder each of whose layers attends to it."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        d = config.d_model
        self.embedding = SharedEmbedding(vocabulary.size, d, vocabulary.pad, scale=1.0)
        if vocabulary.source_size is not None:
            self.own_source_embedding = SharedEmbedding(vocabulary.source_size, d, vocabulary.pad, scale=1.0)
        # One more than the longest sentence, for the end token.
        self.source_positions = LearnedPositions(d, config.max_length + 1)
        self.target_positions = LearnedPositions(d, config.max_length + 1)
        sizes = d, config.kernel_width, config.dropout
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(config.decoder_layers))
        self.w_o = nn.Linear(d, d)
        nn.init.normal_(self.w_o.weight, std=math.sqrt((1 - config.dropout) / d))
        nn.init.zeros_(self.w_o.bias)
        self.dropout = Dropout(config.dropout)

    @property
    def source_embedding(self) -> SharedEmbedding:
        return self.embedding if self.vocabulary.is_shared else self.own_source_embedding

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight

    @property
    def target_limit(self) -> int | None:
        return self.target_positions.limit

    def dilation(self, layer: int) -> int:
        """Return how far apart the neighbours are that a layer reads."""
        return _DILATIONS[layer % len(_DILATIONS)] if self.config.dilated else 1

    def encode(self, src: Padded | Packed, seed_B: Tensor | None = None) -> Encoded:
        """Run the encoder. The values are its output and the embeddings, the keys its output alone."""
        seeds = src.seeds(seed_B, "source") if self.training else None
        embedded = self.source_embedding(src.ids) + self.source_positions(src.position, src.n_positions)
        x = embedded = self.dropout(embedded, seeds)
        neighbours = Neighbours(src.position, self._source_lengths(src)[src.sentence])
        middle = self.config.kernel_width // 2
        for number, layer in enumerate(self.encoder):
            offsets = [i * self.dilation(number) for i in range(-middle, middle + 1)]
            x = layer(x, neighbours.window(self.dropout(x, layer_seeds(seeds, 1 + number)), offsets))
        return src.encoded([(x.unsqueeze(-3), ((x + embedded) * _HALF).unsqueeze(-3))])

    def decode(
        self,
        tgt: Padded | Packed,
        src: Padded | Packed,
        encoded: Encoded,
        captured: list[Tensor] | None = None,
        seed_B: Tensor | None = None,
    ) -> Tensor:
        """Run the decoder, and return a hidden vector for each position. `captured` collects attention weights."""
        seeds = tgt.seeds(seed_B, "target") if self.training else None
        embedded = self.embedding(tgt.ids) + self.target_positions(tgt.position, tgt.n_positions)
        embedded = self.dropout(embedded, seeds)
        neighbours, width = Neighbours(tgt.position), self.config.kernel_width

        def window(number: int, x: Tensor) -> Tensor:
            offsets = [i * self.dilation(number) for i in range(1 - width, 1)]
            return neighbours.window(self.dropout(x, layer_seeds(seeds, 1 + number)), offsets)

        root = self._source_lengths(src)[tgt.sentence].unsqueeze(-1).to(embedded.dtype).sqrt()
        source = Attended(encoded.keys_values[0], tgt.attend_to(encoded, captured), root)
        hidden: Tensor = self.dropout(
            self._decoded(embedded, window, source), layer_seeds(seeds, 1 + self.config.decoder_layers)
        )
        return hidden

    def _decoded(self, embedded: Tensor, window: Callable[[int, Tensor], Tensor], source: Attended) -> Tensor:
        """Run the decoder on embedded tokens; `window` returns what a layer reads of its input."""
        x = embedded
        for number, layer in enumerate(self.decoder):
            x = layer(x, window(number, x), embedded, source)
        hidden: Tensor = self.w_o(x)
        return hidden

    def hidden(self, src_BS: Tensor, tgt_in_BT: Tensor, real_BT: Tensor, seed_B: Tensor | None = None) -> Tensor:
        """Return hidden_ND of the real target positions; sentences are packed where the C kernel allows it."""
        longest = max(src_BS.size(1), tgt_in_BT.size(1))
        if varlen.supports(self.embedding.weight, longest) and not self._layers_are_compiled:
            packed = Packed.of(src_BS, src_BS.ne(self.vocabulary.pad))
            return self.decode(Packed.of(tgt_in_BT, real_BT), packed, self.encode(packed, seed_B), seed_B=seed_B)
        src = self._padded(src_BS)
        return self.decode(self._padded(tgt_in_BT), src, self.encode(src, seed_B), seed_B=seed_B)[real_BT]

    has_cross_attention = True

    def cross_attention(self, src_BS: Tensor, tgt_in_BT: Tensor) -> list[Tensor]:
        captured: list[Tensor] = []
        src = self._padded(src_BS)
        self.decode(self._padded(tgt_in_BT), src, self.encode(src), captured)
        return captured

    def _padded(self, ids_BL: Tensor) -> Padded:
        return Padded(ids_BL, self.vocabulary.pad)

    def _source_lengths(self, src: Padded | Packed) -> Tensor:
        return src.lengths_B if isinstance(src, Packed) else src.ids.ne(src.pad).sum(1)

    def blocks(self) -> Sequence[Block]:
        return list(map(Block, (*self.encoder, *self.decoder)))

    _layers_are_compiled = False

    def compile_layers(self) -> None:
        """Compile every layer with torch.compile, which replaces the C kernels."""
        self._layers_are_compiled = True
        super().compile_layers()

    # --- search -------------------------------------------------------------------------------------------

    def start(self, src_BS: Tensor) -> "ConvolutionalState":
        encoded, (n, d) = self.encode(self._padded(src_BS)), (len(src_BS), self.config.d_model)
        reach = [(self.config.kernel_width - 1) * self.dilation(number) for number in range(len(self.decoder))]
        before = [encoded.keys_values[0][0].new_zeros(n, 1, n_before, d) for n_before in reach]
        lengths_B = src_BS.ne(self.vocabulary.pad).sum(1)
        return ConvolutionalState(encoded, lengths_B.to(before[0].dtype).sqrt().view(n, 1, 1), before, 0)

    def step(self, ids_BW: Tensor, state: "ConvolutionalState") -> tuple[Tensor, "ConvolutionalState"]:
        position = torch.tensor([state.position], device=ids_BW.device)
        embedded_BWD = self.embedding(ids_BW) + self.target_positions(position, state.position + 1)
        after: list[Tensor] = []

        def window(number: int, x_BWD: Tensor) -> Tensor:
            read_BWLD = torch.cat((state.before[number], x_BWD.unsqueeze(2)), 2)
            after.append(read_BWLD[:, :, 1:])
            return read_BWLD[:, :, :: self.dilation(number)].flatten(2)

        attend = fused(state.encoded.mask_B11S)
        hidden_BWD = self._decoded(embedded_BWD, window, Attended(state.encoded.keys_values[0], attend, state.root_B11))
        return self.embedding.logits(hidden_BWD), replace(state, before=after, position=state.position + 1)

    # --- size ---------------------------------------------------------------------------------------------

    @staticmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        d, n_layers = config.d_model, config.encoder_layers + config.decoder_layers
        biases = 2 * d * n_layers + 2 * d * config.decoder_layers + d
        positions = 2 * (config.max_length + 1) * d
        embedded = (vocabulary.size + (vocabulary.source_size or 0)) * d
        return embedded + positions + sum(_products_per_position(config)) + biases

    @staticmethod
    def kept_floats(config: ModelConfig, length: int) -> int:
        d, width = config.d_model, config.kernel_width
        mask = d // 4 if config.dropout else 0  # one byte per element
        layer = (width + 2) * d + mask + width  # the window, and outputs with their gates
        attention = 3 * d + length  # query, context before and after scaling; weights
        n_layers = config.encoder_layers + config.decoder_layers
        return n_layers * layer + config.decoder_layers * attention + 6 * d + 3 * mask

    @staticmethod
    def update_operations(
        config: ModelConfig, vocabulary: Vocabulary, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> int:
        encoder, decoder = _products_per_position(config)
        d, n_source, n_target = config.d_model, int(sources.sum()), int(targets.sum())
        attend = config.decoder_layers * 2 * d * int((sources * targets).sum())
        return 3 * 2 * (n_source * encoder + n_target * (decoder + d * vocabulary.size) + attend)


def _products_per_position(config: ModelConfig) -> tuple[int, int]:
    """Return the weights of all matrices, and so the multiplications, of encoder and decoder."""
    d = config.d_model
    convolution = config.kernel_width * d * 2 * d
    return config.encoder_layers * convolution, config.decoder_layers * (convolution + 2 * d * d) + d * d


class Neighbours:
    """The positions around each position of a batch, padded or packed."""

    def __init__(self, position: Tensor, length: Tensor | None = None) -> None:
        """Take the index of each position in its sentence, and the length of that; it may be missing for `window`s
        without later positions."""
        self._position, self._length = position, length
        self._outside: dict[int, Tensor] = {}

    def window(self, x: Tensor, offsets: Iterable[int]) -> Tensor:
        """Return the vectors at these distances from each position, side by side; zeros outside of the sentence."""
        return torch.cat([self._at(x, offset) for offset in offsets], -1)

    def _at(self, x: Tensor, offset: int) -> Tensor:
        if offset == 0:
            return x
        n = x.size(-2)
        if offset not in self._outside:
            other = self._position + offset
            assert self._length is not None or offset < 0
            outside = other.lt(0) if self._length is None or offset < 0 else other.ge(self._length)
            self._outside[offset] = outside.unsqueeze(-1)
        if offset < 0:
            shifted = F.pad(x, (0, 0, -offset, 0))[..., :n, :]
        else:
            shifted = F.pad(x, (0, 0, 0, offset))[..., offset:, :]
        return shifted.masked_fill(self._outside[offset], 0.0)


@dataclass(frozen=True)
class ConvolutionalState:
    """The state of a search: the encoder output, and what each decoder layer read before, for each hypothesis."""

    encoded: Encoded
    root_B11: Tensor  # √ of the length of each source sentence
    before: list[Tensor]  # x_BWLD of each layer: as many positions as it reads besides the newest
    position: int  # of the next token

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "ConvolutionalState":
        return ConvolutionalState(
            self.encoded.select(sentences_B),
            self.root_B11[sentences_B],
            [continued(one_BWLD, sentences_B, parents_BW) for one_BWLD in self.before],
            self.position,
        )
