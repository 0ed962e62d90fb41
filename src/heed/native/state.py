"""The state of a search on arrays: the KV cache, and which of its slots each hypothesis sees.

As in `heed.model.cache`, each decoded token has a slot in its sentence's cache, and the cache is append-only: a state
stays valid when the search steps from it. Here the layers of a cache are one array.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from heed.kernels.matrix import Floats, Ints

_INITIAL_SLOTS = 64
_UNSEEN_SLOTS_PER_HYPOTHESIS = 8  # that the cache may have, besides one per position, before it is compacted


@dataclass(frozen=True)
class KeysValues:
    """Keys and values of all layers, the heads of a position side by side."""

    k_NBMX: Floats
    v_NBMY: Floats

    @staticmethod
    def empty(n_layers: int, n_sentences: int, n_slots: int, keys: int, values: int) -> "KeysValues":
        """Return arrays whose content is arbitrary."""
        shape = n_layers, n_sentences, n_slots
        return KeysValues(np.empty((*shape, keys), np.float32), np.empty((*shape, values), np.float32))

    @property
    def n_slots(self) -> int:
        return int(self.k_NBMX.shape[2])

    def copy(self, n_slots: int, capacity: int) -> "KeysValues":
        """Return a copy of the first slots with capacity for more."""
        n_layers, n_sentences, _, keys = self.k_NBMX.shape
        new = KeysValues.empty(n_layers, n_sentences, capacity, keys, self.v_NBMY.shape[3])
        new.k_NBMX[:, :, :n_slots] = self.k_NBMX[:, :, :n_slots]
        new.v_NBMY[:, :, :n_slots] = self.v_NBMY[:, :, :n_slots]
        return new

    def select(self, sentences_B: Ints, slots_BM: Ints, capacity: int) -> "KeysValues":
        """Return these slots of these sentences, renumbered from 0, with capacity for more."""
        n_layers, _, _, keys = self.k_NBMX.shape
        n_slots = slots_BM.shape[1]
        new = KeysValues.empty(n_layers, len(sentences_B), capacity, keys, self.v_NBMY.shape[3])
        sentences_B1 = sentences_B[:, None]
        for old, copy in ((self.k_NBMX, new.k_NBMX), (self.v_NBMY, new.v_NBMY)):
            for layer in range(n_layers):
                copy[layer, :, :n_slots] = old[layer, sentences_B1, slots_BM]
        return new


class Buffers:
    """Slots that several states may share. Only those from `n_used` on may be written."""

    def __init__(self, slots: KeysValues, n_used: int) -> None:
        self.slots, self.n_used = slots, n_used


@dataclass(frozen=True)
class Source:
    """The encoder output, as keys and values of each decoder layer."""

    slots: KeysValues
    mask_B1S: Floats | None  # 0, or -inf for padding; None: there is no padding

    def select(self, sentences_B: Ints) -> "Source":
        """Return the encoder output of these sentences."""
        slots = KeysValues(self.slots.k_NBMX.take(sentences_B, 1), self.slots.v_NBMY.take(sentences_B, 1))
        return Source(slots, None if self.mask_B1S is None else self.mask_B1S[sentences_B])


@dataclass(frozen=True)
class SearchState:
    """The state of a search: B sentences with W hypotheses each, all of one length."""

    source: Source
    buffers: Buffers
    n_slots: int
    mask_BWM: Floats | None = None  # 0 for a hypothesis's own past, else -inf; None: all is its past
    position: int = 0  # of the next token

    @staticmethod
    def begin(source: Source) -> "SearchState":
        """Return the state of these sentences before their first token."""
        n_layers, n_sentences, _, keys = source.slots.k_NBMX.shape
        slots = KeysValues.empty(n_layers, n_sentences, _INITIAL_SLOTS, keys, source.slots.v_NBMY.shape[3])
        return SearchState(source, Buffers(slots, 0), 0)

    @property
    def n_sentences(self) -> int:
        return int(self.buffers.slots.k_NBMX.shape[1])

    def select(self, sentences_B: Ints, parents_BW: Ints) -> "SearchState":
        """Return the state of these sentences, where hypothesis w continues the old hypothesis `parents_BW[b, w]`."""
        leaving = len(sentences_B) < self.n_sentences
        source = self.source.select(sentences_B) if leaving else self.source
        if self.mask_BWM is None and parents_BW.shape[1] == 1:  # one hypothesis per sentence, which sees all
            if not leaving:
                return self
            all_BM = np.broadcast_to(np.arange(self.n_slots), (len(sentences_B), self.n_slots))
            return self._compacted(source, sentences_B, all_BM, None)
        mask_BWM = self._mask()[sentences_B[:, None], parents_BW]
        n_unseen = _UNSEEN_SLOTS_PER_HYPOTHESIS * parents_BW.shape[1]
        if not leaving and self.n_slots < 2 * self.position + n_unseen:
            return SearchState(source, self.buffers, self.n_slots, mask_BWM, self.position)
        # Pruned hypotheses leave slots behind that no one sees: keep only the others.
        seen_BM = np.isfinite(mask_BWM.max(1))
        slots_BM = np.argsort(~seen_BM, axis=1, kind="stable")[:, : int(seen_BM.sum(1).max())]
        mask_BWM = np.take_along_axis(mask_BWM, slots_BM[:, None], 2)
        return self._compacted(source, sentences_B, slots_BM, mask_BWM)

    def _compacted(self, source: Source, sentences_B: Ints, slots_BM: Ints, mask_BWM: Floats | None) -> "SearchState":
        n_slots = slots_BM.shape[1]
        slots = self.buffers.slots.select(sentences_B, slots_BM, max(_INITIAL_SLOTS, 2 * n_slots))
        return SearchState(source, Buffers(slots, n_slots), n_slots, mask_BWM, self.position)

    def extended(self, width: int) -> "SearchState":
        """Return the state after one more token per hypothesis; the decoder still has to write its keys and values."""
        end, buffers, mask_BWM = self.n_slots + width, self.buffers, None
        if buffers.n_used != self.n_slots or end > buffers.slots.n_slots:  # the next slots are taken or missing
            buffers = Buffers(buffers.slots.copy(self.n_slots, 2 * end), self.n_slots)
        buffers.n_used = end
        if self.mask_BWM is not None or width > 1:
            own_BWW = np.broadcast_to(_own_slot_mask(width), (self.n_sentences, width, width))
            past_BWM = np.broadcast_to(self._mask(), (self.n_sentences, width, self.n_slots))
            mask_BWM = np.concatenate((past_BWM, own_BWW), 2)
        return SearchState(self.source, buffers, end, mask_BWM, self.position + 1)

    def _mask(self) -> Floats:
        if self.mask_BWM is not None:
            return self.mask_BWM
        return np.zeros((self.n_sentences, 1, self.n_slots), np.float32)


@lru_cache
def _own_slot_mask(width: int) -> Floats:
    """Return the mask of `width` new slots: each hypothesis sees its own."""
    own_WW = np.full((width, width), -math.inf, np.float32)
    np.fill_diagonal(own_WW, 0.0)
    return own_WW
