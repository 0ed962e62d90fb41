"""A batch without padding: the positions of all its sentences end to end, as rows. The same model, with less to do."""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.kernels.sentences import Sight, are_for_sentences
from heed.model.dropout import Side, layer_seeds, position_seeds, random_seeds
from heed.model.layers import DecoderLayer
from heed.model.positions import LearnedPositions, SinusoidalPositions
from heed.model.transformer import Transformer


@dataclass(frozen=True)
class Packed:
    """The positions of a batch that are not padding."""

    ids_N: Tensor
    position_N: Tensor  # of each in its sentence
    lengths_B: Tensor

    @classmethod
    def of(cls, ids_BL: Tensor, real_BL: Tensor) -> "Packed":
        position_BL = torch.arange(ids_BL.size(1), device=ids_BL.device).expand_as(ids_BL)
        return cls(ids_BL[real_BL], position_BL[real_BL], real_BL.sum(1))

    def seeds(self, seed_B: Tensor, side: Side) -> Tensor:
        """Each position's seed of dropout."""
        return position_seeds(seed_B.repeat_interleave(self.lengths_B), self.position_N, side)


def can_pack(model: Transformer, longest: int) -> bool:
    """Whether there is attention for it here; sentences have up to so many positions."""
    return are_for_sentences(model.embedding.weight, longest)


def hidden_of_rows(model: Transformer, src: Packed, tgt_in: Packed, seed_B: Tensor | None = None) -> Tensor:
    """hidden_ND of the target's positions, the same as `model.decode(tgt_in, model.encode(src))` has there."""
    if seed_B is None:
        seed_B = random_seeds(len(src.lengths_B), src.ids_N.device)
    seed_M, seed_N = src.seeds(seed_B, "source"), tgt_in.seeds(seed_B, "target")
    # Both sides' symbols at once: the gradient of the embedding, as large as the vocabulary, is made once.
    ids = torch.cat((src.ids_N, tgt_in.ids_N))
    embedded_MD, embedded_ND = model.embedding(ids).split((len(src.ids_N), len(tgt_in.ids_N)))

    sight = Sight(src.lengths_B, src.lengths_B)
    x_MD = model.dropout(_positioned(embedded_MD, model.source_positions, src.position_N), seed_M)
    for number, layer in enumerate(model.encoder, 1):
        x_MD = layer(x_MD, sight, None, layer_seeds(seed_M, number))
    x_MD = model.encoder_norm(x_MD)

    sight, source_sight = Sight(tgt_in.lengths_B, tgt_in.lengths_B, causal=True), Sight(tgt_in.lengths_B, src.lengths_B)
    y_ND = model.dropout(_positioned(embedded_ND, model.target_positions, tgt_in.position_N), seed_N)
    for number, layer in enumerate(cast("list[DecoderLayer]", model.decoder), 1):
        keys_values = layer.cross_attention.keys_values(x_MD)
        y_ND = layer(y_ND, sight, keys_values, source_sight, None, None, layer_seeds(seed_N, number))
    hidden_ND: Tensor = model.decoder_norm(y_ND)
    return hidden_ND


def _positioned(x_ND: Tensor, positions: SinusoidalPositions | LearnedPositions, position_N: Tensor) -> Tensor:
    table_LD = positions.table(int(position_N.amax()) + 1 if len(position_N) else 0)
    return x_ND + F.embedding(position_N, table_LD)
