"""Keys and values kept between two steps of decoding: always an explicit argument, never hidden in a module."""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class Memory:
    """What goes from the encoder to the decoder: its output as keys and values of each decoder layer.

    Computed once per sentence. All beams of a sentence share it (see `MultiHeadAttention.forward`).
    """

    keys_values: list[tuple[Tensor, Tensor]]
    may_attend_B11S: Tensor | None

    def select(self, sentences_B: Tensor) -> "Memory":
        """Only these sentences: finished ones leave."""
        mask = self.may_attend_B11S
        return Memory(
            [(k_BHSK[sentences_B], v_BHSC[sentences_B]) for k_BHSK, v_BHSC in self.keys_values],
            None if mask is None else mask[sentences_B],
        )


@dataclass
class Cache:
    """Keys and values of the target positions decoded so far, per decoder layer."""

    keys_values: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.keys_values[0][0].size(2) if self.keys_values else 0

    def append(self, layer: int, k_RHLK: Tensor, v_RHLC: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest positions of one layer; returns all of that layer's keys and values."""
        if layer == len(self.keys_values):
            self.keys_values.append((k_RHLK, v_RHLC))
        else:
            k_RHMK, v_RHMC = self.keys_values[layer]
            self.keys_values[layer] = (torch.cat((k_RHMK, k_RHLK), 2), torch.cat((v_RHMC, v_RHLC), 2))
        return self.keys_values[layer]

    def select(self, rows_R: Tensor) -> "Cache":
        """The cache of other rows: beams that were kept, moved or doubled."""
        return Cache([(k_RHMK[rows_R], v_RHMC[rows_R]) for k_RHMK, v_RHMC in self.keys_values])
