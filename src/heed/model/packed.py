"""A batch without padding: the positions of all its sentences end to end, as rows. The same model, with less to do."""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.kernels.sentences import Sight, are_for_sentences
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


def can_pack(model: Transformer, longest: int) -> bool:
    """Whether there is attention for it here; sentences have up to so many positions."""
    return are_for_sentences(model.embedding.weight, longest)


def hidden_of_rows(model: Transformer, src: Packed, tgt_in: Packed) -> Tensor:
    """hidden_ND of the target's positions, the same as `model.decode(tgt_in, model.encode(src))` has there."""
    # Both sides' symbols at once: the gradient of the embedding, as large as the vocabulary, is made once.
    ids = torch.cat((src.ids_N, tgt_in.ids_N))
    embedded_MD, embedded_ND = model.embedding(ids).split((len(src.ids_N), len(tgt_in.ids_N)))

    sight = Sight(src.lengths_B, src.lengths_B)
    x_MD = model.dropout(_positioned(embedded_MD, model.source_positions, src.position_N))
    for layer in model.encoder:
        x_MD = layer(x_MD, sight)
    x_MD = model.encoder_norm(x_MD)

    sight, source_sight = Sight(tgt_in.lengths_B, tgt_in.lengths_B, causal=True), Sight(tgt_in.lengths_B, src.lengths_B)
    y_ND = model.dropout(_positioned(embedded_ND, model.target_positions, tgt_in.position_N))
    for layer in cast("list[DecoderLayer]", model.decoder):
        y_ND = layer(y_ND, sight, layer.cross_attention.keys_values(x_MD), source_sight)
    hidden_ND: Tensor = model.decoder_norm(y_ND)
    return hidden_ND


def _positioned(x_ND: Tensor, positions: SinusoidalPositions | LearnedPositions, position_N: Tensor) -> Tensor:
    table_LD = positions.table(int(position_N.amax()) + 1 if len(position_N) else 0)
    return x_ND + F.embedding(position_N, table_LD)
