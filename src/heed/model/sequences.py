"""The sentences of a batch as the model reads them: padded to one length, or packed end to end.

Both have the same interface: ids, positions, how positions attend to each other and to the source, and dropout seeds.
So one encoder and one decoder serve both. `cache.py` has a third kind, for search.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.kernels.varlen import SequenceLengths, varlen_attention
from heed.model.attention import Attend, explicit, fused, keeping
from heed.model.dropout import Side, position_seeds, random_seeds
from heed.model.masks import causal_mask, padding_mask
from heed.model.neighbourhood import Neighbourhood


class Sequences(Protocol):
    """The sentences of a batch, as encoder and decoder need them."""

    @property
    def ids(self) -> Tensor:
        """ids_BL of padded sentences, or ids_N of packed ones."""

    @property
    def position(self) -> Tensor:
        """The index of each position in its sentence, in a shape that broadcasts to that of `ids`."""

    @property
    def n_positions(self) -> int:
        """The length of the longest sentence."""

    @property
    def sentence(self) -> Tensor:
        """The index of each position's sentence, in a shape that broadcasts to that of `ids`."""

    def attend_self(self, layer: int, causal: bool, window: int, captured: list[Tensor] | None) -> Attend:
        """Return how positions attend to each other in this layer; `causal`: to no later one (section 3.2.3).

        A window other than 0 is the number of positions that each attends to (`neighbourhood.py`).
        """

    def attend_to(self, encoded: "Encoded", captured: list[Tensor] | None) -> Attend:
        """Return how positions attend to those of the source sentences."""

    def seeds(self, seed_B: Tensor | None, side: Side) -> Tensor:
        """Return the dropout seed of each position, derived from its pair's, or else from PyTorch's generator."""


@dataclass(frozen=True)
class Encoded:
    """The encoder output, as keys and values of each decoder layer."""

    keys_values: list[tuple[Tensor, Tensor]]  # k_BHSK, v_BHSC of padded sentences; k_HMK, v_HMC of packed ones
    mask_B11S: Tensor | None = None  # of padded sentences: the positions that may be attended to; None: all
    lengths_B: Tensor | None = None  # of packed sentences
    words: "SourceWords | None" = None  # for a decoder that follows the source word by word

    def select(self, sentences_B: Tensor) -> "Encoded":
        """Return the encoder output for these of the padded sentences, which are in order."""
        if len(sentences_B) == len(self.keys_values[0][0]):
            return self
        keys_values = [(k_BHSK[sentences_B], v_BHSC[sentences_B]) for k_BHSK, v_BHSC in self.keys_values]
        return replace(
            self, keys_values=keys_values, mask_B11S=None if self.mask_B11S is None else self.mask_B11S[sentences_B]
        )


@dataclass(frozen=True)
class SourceWords:
    """A vector for each word of the source sentences, and one for the end of each."""

    vectors_ND: Tensor  # sentence after sentence
    first_B: Tensor  # the row of each sentence's first word
    end_B: Tensor  # the row of each sentence's end

    def select(self, sentences_B: Tensor) -> "SourceWords":
        """Return the words of these sentences."""
        return SourceWords(self.vectors_ND, self.first_B[sentences_B], self.end_B[sentences_B])

    def after(self, n_words: Tensor, sentence: Tensor) -> Tensor:
        """Return the vector of the next word of a sentence of which so many words are done; at its end, that of it."""
        rows = torch.minimum(self.first_B[sentence] + n_words, self.end_B[sentence])
        return F.embedding(rows, self.vectors_ND)


@dataclass(frozen=True)
class Padded:
    """Sentences padded to one length, for any device and any kind of attention."""

    ids: Tensor  # ids_BL
    pad: int
    keep: Callable[[Tensor], None] | None = field(default=None, kw_only=True)  # is given each attention's context_BHLC

    def keeping(self, contexts: list[Tensor] | None, real_BL: Tensor) -> "Padded":
        """Return the sentences, such that `contexts` collects each attention's context_NHC of these positions."""
        if contexts is None:
            return self
        return replace(self, keep=lambda context_BHLC: contexts.append(context_BHLC.transpose(1, 2)[real_BL]))

    @cached_property
    def position(self) -> Tensor:
        return torch.arange(self.ids.size(1), device=self.ids.device)

    @property
    def n_positions(self) -> int:
        return self.ids.size(1)

    @property
    def sentence(self) -> Tensor:
        return torch.arange(self.ids.size(0), device=self.ids.device).unsqueeze(1)

    @cached_property
    def not_padding(self) -> Tensor | None:
        """may_attend_B11L, which is False for padding; None: there is no padding."""
        return padding_mask(self.ids, self.pad)

    def attend_self(self, layer: int, causal: bool, window: int, captured: list[Tensor] | None) -> Attend:
        if captured is not None:
            return explicit(self.self_mask(causal, window), captured)
        if self._is_restricted(window):
            return keeping(self._neighbourhood(causal, window).attend, self.keep)
        return keeping(fused(self.self_mask(causal, window)), self.keep)

    def self_mask(self, causal: bool, window: int) -> Tensor | None:
        """Return which positions may attend to which, may_attend_B1LL or one that broadcasts to it; None: all."""
        if self._is_restricted(window):
            return self._neighbourhood(causal, window).mask
        # Padding follows the sentence, so the causal mask hides it from every real position.
        return causal_mask(self.ids.size(1), self.ids.device) if causal else self.not_padding

    def _is_restricted(self, window: int) -> bool:
        return 0 < window < self.n_positions

    def _neighbourhood(self, causal: bool, window: int) -> Neighbourhood:
        if (causal, window) not in self._neighbourhoods:
            length_B1 = self.ids.ne(self.pad).sum(1, keepdim=True)
            self._neighbourhoods[causal, window] = (
                Neighbourhood.preceding(self.position, window)
                if causal
                else Neighbourhood.centred(self.position, length_B1, window)
            )
        return self._neighbourhoods[causal, window]

    @cached_property
    def _neighbourhoods(self) -> dict[tuple[bool, int], Neighbourhood]:
        return {}  # the same in every layer

    def attend_to(self, encoded: Encoded, captured: list[Tensor] | None) -> Attend:
        if captured is not None:
            return explicit(encoded.mask_B11S, captured)
        return keeping(fused(encoded.mask_B11S), self.keep)

    def encoded(self, keys_values: list[tuple[Tensor, Tensor]]) -> Encoded:
        """Return the encoder output for these sentences."""
        return Encoded(keys_values, self.not_padding)

    def seeds(self, seed_B: Tensor | None, side: Side) -> Tensor:
        if seed_B is None:
            seed_B = random_seeds(len(self.ids), self.ids.device)
        return position_seeds(seed_B.unsqueeze(1), self.position, side)


@dataclass(frozen=True)
class Packed:
    """Sentences end to end without padding, for the C kernel: less to compute."""

    ids: Tensor  # ids_N
    position: Tensor  # position_N
    lengths_B: Tensor
    keep: Callable[[Tensor], None] | None = None  # is given each attention's context_HNC

    @classmethod
    def of(cls, ids_BL: Tensor, real_BL: Tensor, contexts: list[Tensor] | None = None) -> "Packed":
        """Pack the real positions; `contexts` collects each attention's context_NHC."""
        position_BL = torch.arange(ids_BL.size(1), device=ids_BL.device).expand_as(ids_BL)
        keep = None if contexts is None else lambda context_HNC: contexts.append(context_HNC.transpose(0, 1))
        return cls(ids_BL[real_BL], position_BL[real_BL], real_BL.sum(1), keep)

    @cached_property
    def n_positions(self) -> int:
        return int(self.lengths_B.amax()) if len(self.lengths_B) else 0

    @property
    def sentence(self) -> Tensor:
        return torch.arange(len(self.lengths_B), device=self.ids.device).repeat_interleave(self.lengths_B)

    @cached_property
    def _own_lengths(self) -> dict[bool, SequenceLengths]:
        return {causal: SequenceLengths(self.lengths_B, self.lengths_B, causal) for causal in (False, True)}

    def attend_self(self, layer: int, causal: bool, window: int, captured: list[Tensor] | None) -> Attend:
        if not 0 < window < self.n_positions:
            return keeping(partial(varlen_attention, lengths=self._own_lengths[causal]), self.keep)
        if (causal, window) not in self._neighbourhoods:
            offset_N = torch.arange(len(self.ids), device=self.ids.device) - self.position
            length_N = self.lengths_B.repeat_interleave(self.lengths_B)
            self._neighbourhoods[causal, window] = (
                Neighbourhood.preceding(self.position, window, offset_N)
                if causal
                else Neighbourhood.centred(self.position, length_N, window, offset_N)
            )
        neighbourhood = self._neighbourhoods[causal, window]
        return keeping(
            lambda q_HNK, k_HNK, v_HNC: neighbourhood.attend(q_HNK[None], k_HNK[None], v_HNC[None]).squeeze(0),
            self.keep,
        )

    @cached_property
    def _neighbourhoods(self) -> dict[tuple[bool, int], Neighbourhood]:
        return {}  # the same in every layer

    def attend_to(self, encoded: Encoded, captured: list[Tensor] | None) -> Attend:
        assert encoded.lengths_B is not None  # the source is packed, too
        return keeping(partial(varlen_attention, lengths=SequenceLengths(self.lengths_B, encoded.lengths_B)), self.keep)

    def encoded(self, keys_values: list[tuple[Tensor, Tensor]]) -> Encoded:
        """Return the encoder output for these sentences."""
        return Encoded(keys_values, lengths_B=self.lengths_B)

    def seeds(self, seed_B: Tensor | None, side: Side) -> Tensor:
        if seed_B is None:
            seed_B = random_seeds(len(self.lengths_B), self.ids.device)
        return position_seeds(seed_B.repeat_interleave(self.lengths_B), self.position, side)
