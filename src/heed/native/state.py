"""The state of a search on arrays: the KV cache, and which of its slots each hypothesis sees.

As in `heed.model.cache`, each decoded token has a slot in its sentence's cache, and each hypothesis sees the slots of
its own past. The cache takes most of the memory of a search. So it is never in memory twice: it is enlarged, or moved
without the slots that no hypothesis sees, one layer at a time.
"""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from heed.kernels.matrix import Floats, Ints, address
from heed.kernels.structures import POINTER

_INITIAL_SLOTS = 32
_SPARE_SLOTS_PER_HYPOTHESIS = 8  # that the cache has at least, when it is enlarged or moved


class KeysValues:
    """Keys and values of each layer, the heads of a position side by side."""

    def __init__(self, layers: list[tuple[Floats, Floats]]) -> None:
        self.layers = layers  # k_BMX, v_BMY; only `_replace` may assign to one, since their addresses are cached
        self._checked: tuple[tuple[int, ...], ctypes.Array[ctypes.c_void_p]] | None = None  # sizes, pointers

    @staticmethod
    def empty(n_layers: int, n_sentences: int, n_slots: int, keys: int, values: int) -> "KeysValues":
        """Return arrays whose content is arbitrary."""
        shape = n_sentences, n_slots
        return KeysValues(
            [(np.empty((*shape, keys), np.float32), np.empty((*shape, values), np.float32)) for _ in range(n_layers)]
        )

    @property
    def n_sentences(self) -> int:
        return len(self._first)

    @property
    def n_slots(self) -> int:
        return int(self._first.shape[1])

    @property
    def _first(self) -> Floats:
        if not self.layers:
            raise ValueError("a state of search cannot be used after `select`, which moves its KV cache")
        return self.layers[0][0]

    def pointers(
        self, n_layers: int, n_sentences: int, n_slots: int, keys: int, values: int
    ) -> "ctypes.Array[ctypes.c_void_p]":
        """Return what C gets of arrays of these sizes. They are checked once, not in each step of a search.

        Raises:
            ValueError: a size, type or layout does not match.
        """
        sizes = n_layers, n_sentences, n_slots, keys, values
        if self._checked is None or self._checked[0] != sizes:
            if len(self.layers) != n_layers:
                raise ValueError(f"the KV cache is of {len(self.layers)} layers; this model needs {n_layers}")
            for k_BMX, v_BMY in self.layers:
                check("the KV cache", k_BMX, (n_sentences, n_slots, keys))
                check("the KV cache", v_BMY, (n_sentences, n_slots, values))
            addresses = [address(array) for layer in self.layers for array in layer]
            self._checked = sizes, (POINTER * len(addresses))(*addresses)
        return self._checked[1]

    def copy(self, n_slots: int, capacity: int) -> "KeysValues":
        """Return a copy of the first slots with capacity for more."""
        return KeysValues([(_enlarged(k, n_slots, capacity), _enlarged(v, n_slots, capacity)) for k, v in self.layers])

    def enlarge(self, n_slots: int, capacity: int) -> None:
        """Make capacity for more after the first slots; only these are kept."""
        self._replace(lambda old_BMX: _enlarged(old_BMX, n_slots, capacity))

    def move(self, sentences_B: Ints, slots_BM: Ints, capacity: int) -> "KeysValues":
        """Return these slots of these sentences, renumbered from 0, with capacity for more. Nothing remains here."""
        n_slots = slots_BM.shape[1]

        def moved(old_BMX: Floats) -> Floats:
            new_BMX = np.empty((len(sentences_B), capacity, old_BMX.shape[2]), np.float32)
            for b, sentence in enumerate(sentences_B.tolist()):
                # Any other mode than "raise" writes to `out` directly, without a copy of all slots.
                np.take(old_BMX[sentence], slots_BM[b], 0, out=new_BMX[b, :n_slots], mode="clip")
            return new_BMX

        return self._handed_over(moved)

    def move_sentences(self, sentences_B: Ints) -> "KeysValues":
        """Return all slots of these sentences. Nothing remains here."""
        return self._handed_over(lambda old_BMX: old_BMX.take(sentences_B, 0))

    def _handed_over(self, change: Callable[[Floats], Floats]) -> "KeysValues":
        self._replace(change)
        new = KeysValues(self.layers)
        self.layers = []
        return new

    def _replace(self, change: Callable[[Floats], Floats]) -> None:
        """Replace each array, and free it before the next."""
        self._checked = None
        for i in range(len(self.layers)):
            self.layers[i] = change(self.layers[i][0]), self.layers[i][1]
            self.layers[i] = self.layers[i][0], change(self.layers[i][1])


def check(what: str, array: Floats, shape: tuple[int, ...]) -> None:
    """Check that C can read an array of this shape.

    Raises:
        ValueError: it has another shape, is not float32, or is not contiguous.
    """
    if array.shape != shape or array.dtype != np.float32 or not array.flags.c_contiguous:
        raise ValueError(
            f"{what} is {array.shape}, {array.dtype}, strides {array.strides}; this model needs {shape}, float32, "
            "contiguous"
        )


def _enlarged(old_BMX: Floats, n_slots: int, capacity: int) -> Floats:
    """Return a copy of the first slots with capacity for more."""
    new_BMX = np.empty((len(old_BMX), capacity, old_BMX.shape[2]), np.float32)
    new_BMX[:, :n_slots] = old_BMX[:, :n_slots]
    return new_BMX


class Buffers:
    """Slots that several states may share. Only those from `n_used` on may be written."""

    def __init__(self, slots: KeysValues, n_used: int) -> None:
        self.slots, self.n_used = slots, n_used


@dataclass(frozen=True)
class Source:
    """The encoder output, as keys and values of each decoder layer."""

    slots: KeysValues
    mask_B1S: Floats | None  # 0, or -inf for padding; None: there is no padding

    def move(self, sentences_B: Ints) -> "Source":
        """Return the encoder output of these sentences. Nothing remains here."""
        slots = self.slots.move_sentences(sentences_B)
        return Source(slots, None if self.mask_B1S is None else self.mask_B1S[sentences_B])


@dataclass(frozen=True)
class SearchState:
    """The state of a search: B sentences with W hypotheses each, all of one length.

    It stays valid when the search steps from it, once or several times, but not after `select`.
    """

    source: Source
    buffers: Buffers
    n_slots: int
    mask_BWM: Floats | None = None  # 0 for a hypothesis's own past, else -inf; None: all is its past
    position: int = 0  # of the next token

    @staticmethod
    def begin(source: Source) -> "SearchState":
        """Return the state of these sentences before their first token."""
        k_BSX, v_BSY = source.slots.layers[0]
        n_layers, n_sentences = len(source.slots.layers), len(k_BSX)
        slots = KeysValues.empty(n_layers, n_sentences, _INITIAL_SLOTS, k_BSX.shape[2], v_BSY.shape[2])
        return SearchState(source, Buffers(slots, 0), 0)

    @property
    def n_sentences(self) -> int:
        return self.buffers.slots.n_sentences

    def select(self, sentences_B: Ints, parents_BW: Ints) -> "SearchState":
        """Return the state of these sentences, where hypothesis w continues the old hypothesis `parents_BW[b, w]`.

        The old state, and those that share its KV cache, cannot be used any more.
        """
        width, leaving = parents_BW.shape[1], len(sentences_B) < self.n_sentences
        source = self.source.move(sentences_B) if leaving else self.source
        if self.mask_BWM is None and width == 1:  # one hypothesis per sentence, which sees all
            if not leaving:
                return self
            all_BM = np.broadcast_to(np.arange(self.n_slots), (len(sentences_B), self.n_slots))
            return self._moved(source, sentences_B, all_BM, None, width)
        mask_BWM = self._mask()[sentences_B[:, None], parents_BW]
        if not leaving and self.n_slots + width <= self.buffers.slots.n_slots:
            return SearchState(source, self.buffers, self.n_slots, mask_BWM, self.position)
        # Pruned hypotheses leave slots behind that no one sees: keep only the others.
        seen_BM = np.isfinite(mask_BWM.max(1))
        slots_BM = np.argsort(~seen_BM, axis=1, kind="stable")[:, : int(seen_BM.sum(1).max())]
        mask_BWM = np.take_along_axis(mask_BWM, slots_BM[:, None], 2)
        return self._moved(source, sentences_B, slots_BM, mask_BWM, width)

    def _moved(
        self, source: Source, sentences_B: Ints, slots_BM: Ints, mask_BWM: Floats | None, width: int
    ) -> "SearchState":
        n_slots = slots_BM.shape[1]
        slots = self.buffers.slots.move(sentences_B, slots_BM, _capacity(n_slots, width))
        return SearchState(source, Buffers(slots, n_slots), n_slots, mask_BWM, self.position)

    def extended(self, width: int) -> "SearchState":
        """Return the state after one more token per hypothesis; the decoder still has to write its keys and values."""
        end, buffers, mask_BWM = self.n_slots + width, self.buffers, None
        if buffers.n_used != self.n_slots:  # another state has taken the next slots
            buffers = Buffers(buffers.slots.copy(self.n_slots, _capacity(end, width)), self.n_slots)
        elif end > buffers.slots.n_slots:
            buffers.slots.enlarge(self.n_slots, _capacity(end, width))
        buffers.n_used = end
        if self.mask_BWM is not None or width > 1:
            mask_BWM = np.empty((self.n_sentences, width, end), np.float32)
            mask_BWM[:, :, : self.n_slots] = self._mask()
            mask_BWM[:, :, self.n_slots :] = _own_slot_mask(width)
        return SearchState(self.source, buffers, end, mask_BWM, self.position + 1)

    def _mask(self) -> Floats:
        if self.mask_BWM is not None:
            return self.mask_BWM
        return np.zeros((self.n_sentences, 1, self.n_slots), np.float32)


def _capacity(n_slots: int, width: int) -> int:
    """Return how many slots to allocate for `n_slots`, so that copying them takes a small share of the time."""
    return n_slots + max(_SPARE_SLOTS_PER_HYPOTHESIS * width, n_slots // 2)


@lru_cache
def _own_slot_mask(width: int) -> Floats:
    """Return the mask of `width` new slots: each hypothesis sees its own."""
    own_WW = np.full((width, width), -math.inf, np.float32)
    np.fill_diagonal(own_WW, 0.0)
    return own_WW
