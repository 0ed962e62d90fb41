"""Decoding one token at a time: the KV cache, and the state of a search over hypotheses.

Each decoded token has a slot in its sentence's cache, and each hypothesis sees the slots of its own past. When
hypotheses branch or are pruned, only masks change; keys and values are not moved. The cache is append-only: a state
stays valid when the search steps from it, once or several times. If attention is restricted to a neighbourhood, a
hypothesis sees the slots of its last tokens only, and slots that no hypothesis sees any more are dropped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from heed.model.attention import Attend, fused
from heed.model.dropout import Side
from heed.model.masks import additive_mask
from heed.model.sequences import Encoded

INITIAL_SLOTS = 64
UNSEEN_SLOTS_PER_HYPOTHESIS = 8  # that the cache may have, besides one per position, before it is compacted

KeysValues = tuple[Tensor, Tensor]  # k_BMX, v_BMX of one layer: the heads of a position side by side


@dataclass
class _Buffers:
    """Keys and values of each layer, with capacity for more slots. Only slots from `n_used` on may be written."""

    layers: list[KeysValues]
    n_used: int


@dataclass(frozen=True)
class KVCache:
    """The first `n_slots` slots of buffers that other caches may share."""

    _buffers: _Buffers
    n_slots: int

    @staticmethod
    def empty(like: Sequence[KeysValues]) -> "KVCache":
        """Return an empty cache for as many sentences, layers and columns as these have."""
        layers = [(_enlarged(k[:, :0], INITIAL_SLOTS), _enlarged(v[:, :0], INITIAL_SLOTS)) for k, v in like]
        return KVCache(_Buffers(layers, 0), 0)

    @property
    def layers(self) -> list[KeysValues]:
        """Each layer's buffers, which have capacity for more slots."""
        return self._buffers.layers

    @property
    def n_sentences(self) -> int:
        return self.layers[0][0].size(0)

    def extended(self, n: int) -> "KVCache":
        """Return a cache with n more slots, for `write`."""
        end, buffers = self.n_slots + n, self._buffers
        if buffers.n_used != self.n_slots or end > self.layers[0][0].size(1):  # the next slots are taken or missing
            kept = ((k[:, : self.n_slots], v[:, : self.n_slots]) for k, v in self.layers)
            buffers = _Buffers([(_enlarged(k, 2 * end), _enlarged(v, 2 * end)) for k, v in kept], self.n_slots)
        buffers.n_used = end
        return KVCache(buffers, end)

    def write(self, layer: int, k_BNX: Tensor, v_BNX: Tensor) -> KeysValues:
        """Write the last N slots of a layer, and return all its keys and values."""
        begin = self.n_slots - k_BNX.size(1)
        keys, values = self.layers[layer]
        keys[:, begin : self.n_slots], values[:, begin : self.n_slots] = k_BNX, v_BNX
        return keys[:, : self.n_slots], values[:, : self.n_slots]

    def select(self, sentences_B: Tensor, slots_BM: Tensor) -> "KVCache":
        """Return a cache of these sentences with only these slots of each, renumbered from 0."""
        n_slots = slots_BM.size(1)
        capacity = max(INITIAL_SLOTS, 2 * n_slots)

        def selected(old_BMX: Tensor) -> Tensor:
            rows_R = (sentences_B.unsqueeze(1) * old_BMX.size(1) + slots_BM).flatten()
            new_BMX = old_BMX.new_empty(len(sentences_B), capacity, old_BMX.size(2))
            new_BMX[:, :n_slots] = old_BMX.flatten(0, 1).index_select(0, rows_R).view_as(new_BMX[:, :n_slots])
            return new_BMX

        return KVCache(_Buffers([(selected(keys), selected(values)) for keys, values in self.layers], n_slots), n_slots)


def _enlarged(slots_BMX: Tensor, capacity: int) -> Tensor:
    """Return a copy of the slots with capacity for more."""
    n_sentences, used, size = slots_BMX.shape
    larger_BMX = slots_BMX.new_empty(n_sentences, capacity, size)
    larger_BMX[:, :used] = slots_BMX
    return larger_BMX


@dataclass(frozen=True)
class Source:
    """The encoder output during a search, as keys and values of each decoder layer."""

    layers: list[KeysValues]
    mask_B1S: Tensor | None  # added to scores: 0, or -inf for padding; None: there is no padding

    @staticmethod
    def of(encoded: Encoded) -> "Source":
        """Return the encoder output with the heads of a position side by side."""
        layers = [(k.transpose(1, 2).flatten(2), v.transpose(1, 2).flatten(2)) for k, v in encoded.keys_values]
        mask = encoded.mask_B11S
        return Source(layers, None if mask is None else additive_mask(mask[:, 0], layers[0][0].dtype))

    def encoded(self, h: int) -> Encoded:
        """Return the encoder output with h separate heads, as the decoder layers take it."""
        mask_B11S = None if self.mask_B1S is None else self.mask_B1S.unsqueeze(1)
        return Encoded([(split_heads(k, h), split_heads(v, h)) for k, v in self.layers], mask_B11S)

    def select(self, sentences_B: Tensor) -> "Source":
        """Return the encoder output of these sentences."""
        layers = [(k.index_select(0, sentences_B), v.index_select(0, sentences_B)) for k, v in self.layers]
        return Source(layers, None if self.mask_B1S is None else self.mask_B1S[sentences_B])


@dataclass(frozen=True)
class DecoderState:
    """The state of a search: B sentences with W hypotheses each, all of one length."""

    source: Source
    cache: KVCache
    mask_BWM: Tensor | None = None  # added to scores: 0 for a hypothesis's own past, else -inf; None: all is its past
    position: int = 0  # of the next token
    window: int = 0  # tokens that a hypothesis sees of its past, the newest included; 0: all

    @staticmethod
    def begin(encoded: Encoded, window: int = 0) -> "DecoderState":
        """Return the state of these sentences before their first token."""
        source = Source.of(encoded)
        return DecoderState(source, KVCache.empty(source.layers), window=window)

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "DecoderState":
        """Return the state of these sentences, where hypothesis w continues the old hypothesis `parents_BW[b, w]`."""
        leaving = len(sentences_B) < self.cache.n_sentences
        source = self.source.select(sentences_B) if leaving else self.source
        if self.mask_BWM is None and parents_BW.size(1) == 1:  # one hypothesis per sentence, which sees all
            if not leaving:
                return self
            all_BM = torch.arange(self.cache.n_slots, device=sentences_B.device).expand(len(sentences_B), -1)
            return replace(self, source=source, cache=self.cache.select(sentences_B, all_BM))
        mask_BWM = self._mask()[sentences_B] if leaving else self._mask()
        mask_BWM = mask_BWM.gather(1, parents_BW.unsqueeze(-1).expand(-1, -1, mask_BWM.size(2)))
        if leaving or self._is_crowded(parents_BW.size(1)):
            return self._compacted(source, sentences_B, mask_BWM)
        return replace(self, source=source, mask_BWM=mask_BWM)

    def _is_crowded(self, width: int) -> bool:
        """Return whether there are many more slots than `width` hypotheses see."""
        n_seen = min(self.position, self.window or self.position)
        return self.cache.n_slots >= 2 * n_seen + UNSEEN_SLOTS_PER_HYPOTHESIS * width

    def _compacted(self, source: Source, sentences_B: Tensor, mask_BWM: Tensor) -> "DecoderState":
        """Return the state of these sentences without the slots that no hypothesis sees by their mask."""
        seen_BM = mask_BWM.amax(1).isfinite()
        slots_BM = seen_BM.sort(dim=1, descending=True, stable=True).indices[:, : int(seen_BM.sum(1).max())]
        mask_BWM = mask_BWM.gather(2, slots_BM.unsqueeze(1).expand(-1, mask_BWM.size(1), -1))
        return replace(self, source=source, cache=self.cache.select(sentences_B, slots_BM), mask_BWM=mask_BWM)

    def extended(self, width: int) -> "DecoderState":
        """Return the state after one more token per hypothesis; the decoder still has to write its keys and values."""
        if self.window and self.position >= self.window:
            return self._without_oldest()._with_slots(width)
        return self._with_slots(width)

    def _without_oldest(self) -> "DecoderState":
        """Return the state in which a hypothesis no longer sees the oldest token that it sees."""
        mask_BWM = self._mask()
        oldest_BW1 = mask_BWM.isfinite().int().argmax(2, keepdim=True)  # slots are in the order of positions
        mask_BWM = mask_BWM.scatter(2, oldest_BW1, -math.inf)
        if not self._is_crowded(mask_BWM.size(1)):
            return replace(self, mask_BWM=mask_BWM)
        all_B = torch.arange(self.cache.n_sentences, device=self.device)
        return self._compacted(self.source, all_B, mask_BWM)

    def _with_slots(self, width: int) -> "DecoderState":
        """Return the state with one more slot per hypothesis, which sees its own."""
        cache, mask_BWM = self.cache.extended(width), None
        if self.mask_BWM is not None or width > 1:
            own_WW = _own_slot_mask(width, self.cache.layers[0][0].dtype, self.device)
            mask_BWM = torch.cat((self._mask(), own_WW.expand(self.cache.n_sentences, -1, -1)), 2)
        return replace(self, cache=cache, mask_BWM=mask_BWM, position=self.position + 1)

    @property
    def device(self) -> torch.device:
        return self.cache.layers[0][0].device

    def _mask(self) -> Tensor:
        if self.mask_BWM is not None:
            return self.mask_BWM
        return self.cache.layers[0][0].new_zeros(self.cache.n_sentences, 1, self.cache.n_slots)


@dataclass(frozen=True)
class NextTokens:
    """The newest token of each hypothesis, as the decoder reads it. Its keys and values are written to the KV cache."""

    ids: Tensor  # ids_BW
    state: DecoderState  # extended by these tokens
    h: int  # heads

    @cached_property
    def position(self) -> Tensor:
        return torch.tensor([self.state.position - 1], device=self.ids.device)

    @property
    def n_positions(self) -> int:
        return self.state.position

    @property
    def sentence(self) -> Tensor:
        return torch.arange(self.ids.size(0), device=self.ids.device).unsqueeze(1)

    def attend_self(self, layer: int, causal: bool, window: int, captured: list[Tensor] | None) -> Attend:
        # The window is the state's: what a hypothesis no longer sees is masked or not in the cache any more.
        mask_BWM = self.state.mask_BWM
        mask_B1WM = None if mask_BWM is None else mask_BWM.unsqueeze(1)

        def attend(q_BHWK: Tensor, k_BHWK: Tensor, v_BHWC: Tensor) -> Tensor:
            new = (x_BHWK.transpose(1, 2).flatten(2) for x_BHWK in (k_BHWK, v_BHWC))
            k_BHMK, v_BHMC = (split_heads(x_BMX, self.h) for x_BMX in self.state.cache.write(layer, *new))
            return fused(mask_B1WM)(q_BHWK, k_BHMK, v_BHMC)

        return attend

    def attend_to(self, encoded: Encoded, captured: list[Tensor] | None) -> Attend:
        return fused(encoded.mask_B11S)

    def seeds(self, seed_B: Tensor | None, side: Side) -> Tensor:
        raise ValueError("there is no dropout in search: call model.eval() first")


@lru_cache
def _own_slot_mask(width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return the mask of `width` new slots: each hypothesis sees its own."""
    own_WW = torch.full((width, width), -math.inf, dtype=dtype, device=device)
    return own_WW.fill_diagonal_(0.0)


def split_heads(x_BMX: Tensor, h: int) -> Tensor:
    """Turn x_BMX, with the heads of a position side by side, into x_BHMX."""
    return x_BMX.view(*x_BMX.shape[:2], h, -1).transpose(1, 2)


def continued(x_BWX: Tensor, sentences_B: Tensor, parents_BW: Tensor) -> Tensor:
    """Return what belongs to each hypothesis, a vector or more, after these sentences and parents were selected."""
    chosen = x_BWX[sentences_B] if len(sentences_B) < len(x_BWX) else x_BWX
    index = parents_BW.view(*parents_BW.shape, *[1] * (x_BWX.ndim - 2))
    return chosen.gather(1, index.expand(-1, -1, *chosen.shape[2:]))
