"""Section 3 and figure 1: the encoder, the decoder, and the whole."""

from dataclasses import dataclass, field
from typing import cast

import torch
from torch import Tensor, nn

from heed.config import ModelConfig
from heed.model.dropout import Dropout, Side, layer_seeds, position_seeds, random_seeds
from heed.model.embedding import SharedEmbedding
from heed.model.layers import DecoderLayer, EncoderLayer
from heed.model.masks import causal_mask, padding_mask
from heed.model.memory import Memory
from heed.model.positions import LearnedPositions, SinusoidalPositions


@dataclass
class AttentionWeights:
    """Every head's weights of the three attentions, one tensor per layer."""

    encoder: list[Tensor] = field(default_factory=list)  # BHSS
    decoder: list[Tensor] = field(default_factory=list)  # BHTT
    cross: list[Tensor] = field(default_factory=list)  # BHTS


class Transformer(nn.Module):
    """Source ids and target ids in, a score for every symbol of the vocabulary at every target position out."""

    def __init__(self, config: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.config = config
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

        self.embedding = SharedEmbedding(vocab_size, d_model)
        # One more than the longest sentence, for the end symbol.
        self.source_positions = positions(d_model, config.max_length + 1)
        self.target_positions = positions(d_model, config.max_length + 1)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*blocks) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*blocks) for _ in range(config.decoder_layers))
        # Post-norm layers end in a norm already.
        self.encoder_norm = nn.LayerNorm(d_model, eps=1e-6) if config.norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(d_model, eps=1e-6) if config.norm == "pre" else nn.Identity()

    @property
    def vocab_size(self) -> int:
        return self.embedding.weight.size(0)

    def encode(self, src_BS: Tensor, captured: AttentionWeights | None = None, seed_B: Tensor | None = None) -> Memory:
        """The encoder, and its output as each decoder layer's keys and values. In training, `seed` is dropout's."""
        may_attend_B11S = padding_mask(src_BS)
        seed_BS = self._position_seeds(src_BS, seed_B, "source")
        x_BSD = self.dropout(self.source_positions(self.embedding(src_BS)), seed_BS)
        for number, layer in enumerate(self.encoder, 1):
            x_BSD = layer(x_BSD, may_attend_B11S, captured and captured.encoder, layer_seeds(seed_BS, number))
        x_BSD = self.encoder_norm(x_BSD)
        decoder = cast("list[DecoderLayer]", self.decoder)
        return Memory([layer.cross_attention.keys_values(x_BSD) for layer in decoder], may_attend_B11S)

    def decode(
        self,
        tgt_in_BT: Tensor,
        memory: Memory,
        captured: AttentionWeights | None = None,
        seed_B: Tensor | None = None,
    ) -> Tensor:
        """The decoder: hidden_BTD of whole target sentences. Search goes position by position: `incremental.py`."""
        may_attend_11TT = causal_mask(tgt_in_BT.size(1), tgt_in_BT.device)
        seed_BT = self._position_seeds(tgt_in_BT, seed_B, "target")
        x_BTD = self.dropout(self.target_positions(self.embedding(tgt_in_BT)), seed_BT)
        for number, (layer, keys_values) in enumerate(zip(self.decoder, memory.keys_values, strict=True), 1):
            x_BTD = layer(
                x_BTD,
                may_attend_11TT,
                keys_values,
                memory.may_attend_B11S,
                captured and captured.decoder,
                captured and captured.cross,
                layer_seeds(seed_BT, number),
            )
        hidden_BTD: Tensor = self.decoder_norm(x_BTD)
        return hidden_BTD

    def forward(self, src_BS: Tensor, tgt_in_BT: Tensor, captured: AttentionWeights | None = None) -> Tensor:
        """logits_BTV of a whole batch. `tgt_in` is the target shifted right, beginning with PAD."""
        hidden_BTD = self.decode(tgt_in_BT, self.encode(src_BS, captured), captured)
        return self.embedding.logits(hidden_BTD)

    def _position_seeds(self, ids_BL: Tensor, seed_B: Tensor | None, side: Side) -> Tensor | None:
        """Each position's seed of dropout; None where there is none. Without `seed`, PyTorch's generator gives one."""
        if not self.training:
            return None
        if seed_B is None:
            seed_B = random_seeds(len(ids_BL), ids_BL.device)
        return position_seeds(seed_B.unsqueeze(1), torch.arange(ids_BL.size(1), device=ids_BL.device), side)
