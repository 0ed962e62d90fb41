"""Section 3 and figure 1: the encoder, the decoder, and the whole."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from torch import Tensor, nn

from heed.config import ModelConfig
from heed.errors import ConfigError
from heed.kernels import varlen
from heed.model import size
from heed.model.cache import DecoderState, NextTokens
from heed.model.dropout import Dropout, layer_seeds
from heed.model.embedding import SharedEmbedding
from heed.model.interface import Block, SequenceModel
from heed.model.layers import DecoderLayer, EncoderLayer
from heed.model.positions import LearnedPositions, SinusoidalPositions
from heed.model.sequences import Encoded, Packed, Padded, Sequences
from heed.vocabulary import Vocabulary


@dataclass
class AttentionWeights:
    """The attention weights of every head, one tensor per layer, for the three kinds of attention."""

    encoder: list[Tensor] = field(default_factory=list)  # BHSS
    decoder: list[Tensor] = field(default_factory=list)  # BHTT
    cross: list[Tensor] = field(default_factory=list)  # BHTS


class Transformer(SequenceModel):
    """The encoder-decoder model of the paper, predicting each target token from the source and the tokens before it."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary | int) -> None:
        if isinstance(vocabulary, int):
            advice = f"give Transformer a heed.Vocabulary({vocabulary}) instead of the number {vocabulary}"
            warnings.warn(advice, DeprecationWarning, stacklevel=2)
            vocabulary = Vocabulary(vocabulary)
        super().__init__(config, vocabulary)
        d_model = config.d_model
        blocks = (
            d_model,
            config.d_ff,
            config.h,
            config.key_size,
            config.value_size,
            config.dropout,
            config.norm,
        )
        positions = SinusoidalPositions if config.positions == "sinusoidal" else LearnedPositions

        self.embedding = SharedEmbedding(vocabulary.size, d_model, vocabulary.pad)
        if vocabulary.source_size is not None:
            self.own_source_embedding = SharedEmbedding(vocabulary.source_size, d_model, vocabulary.pad)
        # One more than the longest sentence, for the end token.
        self.source_positions = positions(d_model, config.max_length + 1)
        self.target_positions = positions(d_model, config.max_length + 1)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*blocks) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*blocks) for _ in range(config.decoder_layers))
        # Post-norm layers already end with a norm.
        self.encoder_norm = nn.LayerNorm(d_model, eps=1e-6) if config.norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model, eps=1e-6) if config.norm == "pre" else nn.Identity()

    count_parameters = staticmethod(size.count_parameters)
    kept_floats = staticmethod(size.kept_floats)
    update_operations = staticmethod(size.update_operations)

    @property
    def source_embedding(self) -> SharedEmbedding:
        return self.embedding if self.vocabulary.is_shared else self.own_source_embedding

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight

    @property
    def target_limit(self) -> int | None:
        return self.target_positions.limit

    def encode(
        self, src: Padded | Packed, captured: AttentionWeights | None = None, seed_B: Tensor | None = None
    ) -> Encoded:
        """Run the encoder. `captured` collects attention weights; `seed_B` are the dropout seeds of the pairs."""
        seeds = src.seeds(seed_B, "source") if self.training else None
        x = self.source_embedding(src.ids) + self.source_positions(src.position, src.n_positions)
        x = self.dropout(x, seeds)
        weights = None if captured is None else captured.encoder
        for number, layer in enumerate(self.encoder):
            attend = src.attend_self(number, False, self.config.attention_window, weights)
            x = layer(x, attend, layer_seeds(seeds, 1 + number))
        return self._encoded(src, self.encoder_norm(x))

    def _encoded(self, src: Padded | Packed, x: Tensor) -> Encoded:
        """Return the encoder's hidden vectors as the decoder takes them."""
        decoder = cast("list[DecoderLayer]", self.decoder)
        return src.encoded([layer.cross_attention.keys_values(x) for layer in decoder])

    def decode(
        self,
        tgt: Sequences,
        encoded: Encoded,
        captured: AttentionWeights | None = None,
        seed_B: Tensor | None = None,
    ) -> Tensor:
        """Run the decoder, and return a hidden vector for each target position, which predicts the next token."""
        seeds = tgt.seeds(seed_B, "target") if self.training else None
        x = self._embedded(tgt, encoded) + self.target_positions(tgt.position, tgt.n_positions)
        x = self.dropout(x, seeds)
        weights, cross_weights = (None, None) if captured is None else (captured.decoder, captured.cross)
        attend_encoder = tgt.attend_to(encoded, cross_weights)
        for number, layer in enumerate(self.decoder):
            attend = tgt.attend_self(number, True, self.config.attention_window, weights)
            x = layer(x, attend, encoded.keys_values[number], attend_encoder, layer_seeds(seeds, 1 + number))
        hidden: Tensor = self.decoder_norm(x)
        return hidden

    def _embedded(self, tgt: Sequences, encoded: Encoded) -> Tensor:
        """Return the decoder's input without positions."""
        x: Tensor = self.embedding(tgt.ids)
        return x

    def forward(self, src_BS: Tensor, tgt_in_BT: Tensor, captured: AttentionWeights | None = None) -> Tensor:
        """Return logits_BTV of a whole batch. `tgt_in` is the target shifted right, beginning with the start token."""
        hidden_BTD = self.decode(self._padded(tgt_in_BT), self.encode(self._padded(src_BS), captured), captured)
        return self.embedding.logits(hidden_BTD)

    has_cross_attention = True

    def cross_attention(self, src_BS: Tensor, tgt_in_BT: Tensor) -> list[Tensor]:
        captured = AttentionWeights()
        self(src_BS, tgt_in_BT, captured)
        return captured.cross

    def hidden(
        self,
        src_BS: Tensor,
        tgt_in_BT: Tensor,
        real_BT: Tensor,
        seed_B: Tensor | None = None,
        contexts: list[Tensor] | None = None,
    ) -> Tensor:
        """Return hidden_ND of the real target positions; sentences are packed where the C kernel allows it.

        `contexts` collects the outputs of each attention's heads, context_NHC of the real positions.
        """
        longest, real_BS = max(src_BS.size(1), tgt_in_BT.size(1)), src_BS.ne(self.vocabulary.pad)
        if varlen.supports(self.embedding.weight, longest) and not self._layers_are_compiled:
            src, tgt = Packed.of(src_BS, real_BS, contexts), Packed.of(tgt_in_BT, real_BT, contexts)
            return self.decode(tgt, self.encode(src, seed_B=seed_B), seed_B=seed_B)
        encoded = self.encode(self._padded(src_BS).keeping(contexts, real_BS), seed_B=seed_B)
        hidden_BTD = self.decode(self._padded(tgt_in_BT).keeping(contexts, real_BT), encoded, seed_B=seed_B)
        return hidden_BTD[real_BT]

    def _padded(self, ids_BL: Tensor) -> Padded:
        return Padded(ids_BL, self.vocabulary.pad)

    def start(self, src_BS: Tensor) -> DecoderState:
        return DecoderState.begin(self.encode(self._padded(src_BS)), self.config.attention_window)

    def step(self, ids_BW: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        state = state.extended(ids_BW.size(1))
        hidden_BWD = self.decode(NextTokens(ids_BW, state, self.config.h), state.source.encoded(self.config.h))
        return self.embedding.logits(hidden_BWD), state

    def blocks(self) -> Sequence[Block]:
        # A decoder layer's keys and values are computed before the layer is called, so they are gathered separately.
        decoder = cast("list[DecoderLayer]", self.decoder)
        keys_values = [Block(layer.cross_attention, ("keys_values",)) for layer in decoder]
        return [*keys_values, *map(Block, (*self.encoder, *self.decoder))]

    _layers_are_compiled = False

    def compile_layers(self) -> None:
        """Compile every layer with torch.compile, which replaces the C kernels."""
        self._layers_are_compiled = True
        for layer in (*self.encoder, *self.decoder):
            layer.compile(dynamic=True)


def as_transformer(model: SequenceModel, what: str) -> Transformer:
    """Return the model as a Transformer, for a feature (`what`) that no other kind has.

    Raises:
        ConfigError: the model is of another kind.
    """
    if not isinstance(model, Transformer):
        raise ConfigError(f'{what}: only for model.kind = "transformer", but this model is a "{model.config.kind}"')
    return model
