"""A Transformer in C: one call encodes a batch, one call makes a step of search.

`heed.model.transformer` computes the same in PyTorch. Every size is checked before C gets a pointer: C trusts the sizes
it is given.
"""

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from heed.kernels import structures
from heed.kernels.library import library
from heed.kernels.matrix import MATRICES, Floats, Ints, Matrix, address
from heed.kernels.structures import FeedForwardPointers, Mask, NormPointers, Stack, WeightPointers
from heed.native.state import KeysValues, SearchState, Source, check
from heed.native.weights import FeedForward, Norm, Weights, check_precision

_EPSILON = 1e-6  # of all norms, as in `heed.model.layers`
_MAX_VECTOR_WIDTH = 16  # of all processors; rows of attention weights are padded to a multiple of it


class NativeModel:
    """A model that decodes one token of each hypothesis at a time. Several threads may use it at once."""

    def __init__(self, weights: Weights) -> None:
        self.weights, self.config, self.vocabulary = weights, weights.config, weights.vocabulary
        config = weights.config
        self._d, self._scale = config.d_model, math.sqrt(config.d_model)
        self._keys, self._values = config.h * config.key_size, config.h * config.value_size
        self._positions_LD = np.zeros((0, self._d), np.float32)
        per_position = max(2 * self._keys + self._values, config.d_ff)
        self._scratch_per_row = 2 * self._d + self._values + per_position
        self._lay_out()

    def _lay_out(self) -> None:
        """Make the structures that C reads; they point into the weights."""
        weights, config = self.weights, self.config
        self._library = library()
        assert self._library is not None  # checked by `reason_not_native`
        shape = self._d, config.d_ff, config.h, config.key_size, config.value_size, config.norm == "post", _EPSILON
        self._encoder_layers = (structures.EncoderLayer * len(weights.encoder))(
            *(structures.EncoderLayer(*map(_pointers, vars(layer).values())) for layer in weights.encoder)
        )
        self._decoder_layers = (structures.DecoderLayer * len(weights.decoder))(
            *(structures.DecoderLayer(*map(_pointers, vars(layer).values())) for layer in weights.decoder)
        )
        self._cross_kv = (WeightPointers * len(weights.cross_kv))(*(one.pointers for one in weights.cross_kv))
        self._encoder = structures.Encoder(
            Stack(None, len(weights.encoder), *shape, _norm(weights.encoder_norm)),
            ctypes.addressof(self._encoder_layers),
            ctypes.addressof(self._cross_kv),
            len(weights.cross_kv),
        )
        self._decoder = structures.Decoder(
            Stack(None, len(weights.decoder), *shape, _norm(weights.decoder_norm)),
            ctypes.addressof(self._decoder_layers),
            weights.logits.pointers,
            self.vocabulary.size,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the weights, without pointers to them."""
        return {"weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        check_precision(state["weights"].precision)  # of another process, or another machine
        self.__init__(state["weights"])  # type: ignore[misc]

    @property
    def target_limit(self) -> int | None:
        """The maximum number of target positions; None: there is no maximum."""
        return self.config.max_length + 1 if self.config.positions == "learned" else None

    # --- the encoder --------------------------------------------------------------------------------------

    def start(
        self, sources: Sequence[Sequence[int]], captured_NHSS: Floats | None = None, n_threads: int = 1
    ) -> SearchState:
        """Encode source sentences, with their end tokens, for a search with one hypothesis each.

        `captured_NHSS`, for a single sentence, gets the attention weights of each layer and head. Up to `n_threads`
        threads share the larger products, if no other call is under way; the result is the same. Products in bfloat16
        are not shared.

        Raises:
            ValueError: a sentence is empty or longer than the model's learned positions, or an id is not a token.
        """
        lengths_B = np.array([len(source) for source in sources], np.int64)
        ids_N = np.array([token for source in sources for token in source], np.int64)
        n_source = self.vocabulary.size if self.vocabulary.source_size is None else self.vocabulary.source_size
        if not len(lengths_B) or lengths_B.min() < 1 or ids_N.min() < 0 or ids_N.max() >= n_source:
            raise ValueError(f"sentences must have at least one token each, from 0 to {n_source - 1}")
        longest, n_rows, h = int(lengths_B.max()), len(ids_N), self.config.h
        position_N = np.concatenate([np.arange(length) for length in lengths_B])
        x_ND = self._embedded(self.weights.source_rows(ids_N), ids_N)
        x_ND += self._table(self.weights.source_positions, longest)[position_N]
        check("the input", x_ND, (n_rows, self._d))
        if captured_NHSS is not None:
            check("a buffer", captured_NHSS, (len(self.weights.encoder), h, longest, longest))

        n_sentences, n_layers = len(lengths_B), len(self.weights.decoder)
        encoded = KeysValues.empty(n_layers, n_sentences, longest, self._keys, self._values)
        width = longest + _MAX_VECTOR_WIDTH
        weights = np.empty(longest * width * (1 if captured_NHSS is None else h), np.float32)
        shared_scratch = max((self.config.key_size + 2) * width, self._product_scratch(n_rows))
        scratch = np.empty(n_rows * self._scratch_per_row + shared_scratch, np.float32)
        pointers = encoded.pointers(n_layers, n_sentences, longest, self._keys, self._values)
        assert self._library is not None
        self._library.heed_encode(
            ctypes.byref(self._encoder),
            *(address(x_ND), address(lengths_B), n_sentences, longest, pointers),
            *(
                address(weights),
                None if captured_NHSS is None else address(captured_NHSS),
                address(scratch),
                self._n_sharing(n_threads),
            ),
        )
        mask_B1S = None
        if lengths_B.min() < longest:
            padding_BS = np.arange(longest) >= lengths_B[:, None]
            mask_B1S = np.where(padding_BS, -np.inf, 0.0).astype(np.float32)[:, None]
        return SearchState.begin(Source(encoded, mask_B1S))

    # --- the decoder --------------------------------------------------------------------------------------

    def step(
        self,
        ids_BW: Ints,
        state: SearchState,
        captured: tuple[Floats, Floats] | None = None,
        n_threads: int = 1,
    ) -> tuple[Floats, SearchState]:
        """Return logits_BWV of what follows the newest token of each hypothesis, and the state after that token.

        `captured`, for a single hypothesis of a single sentence, gets the attention weights of each layer and head:
        over the target's positions, weights_NHM, and over the source's, weights_NHS. `n_threads` is as in `start`.

        Raises:
            ValueError: the state does not belong to this model or these sentences.
        """
        position, n_slots = state.position, state.n_slots
        n_sentences, width = ids_BW.shape
        state = state.extended(width)
        x_BWD = self._embedded(self.weights.target_rows(ids_BW), ids_BW)
        x_BWD += self._table(self.weights.target_positions, position + 1)[position]
        slots, source = state.buffers.slots, state.source
        capacity, n_source, end = slots.n_slots, source.slots.n_slots, n_slots + width
        pointers = self._checked_pointers(x_BWD, state, capacity, n_source, end)
        if captured is not None:
            layers_heads = len(self.weights.decoder), self.config.h
            check("a buffer", captured[0], (*layers_heads, end))
            check("a buffer", captured[1], (*layers_heads, n_source))
            if n_sentences * width != 1 or state.mask_BWM is not None or source.mask_B1S is not None:
                raise ValueError("attention weights are captured for a single hypothesis of a single sentence only")

        rows = n_sentences * width
        shared_scratch = max(2 * (max(end, n_source) + _MAX_VECTOR_WIDTH), self._product_scratch(rows))
        scratch = np.empty(rows * self._scratch_per_row + shared_scratch, np.float32)
        logits_BWV = np.empty((n_sentences, width, self.vocabulary.size), np.float32)
        kept = (None, None) if captured is None else map(address, captured)
        assert self._library is not None
        self._library.heed_decode(
            ctypes.byref(self._decoder),
            *(address(x_BWD), *pointers),
            ctypes.byref(_mask(state.mask_BWM)),
            ctypes.byref(_mask(source.mask_B1S)),
            *(n_sentences, width, n_slots, capacity, n_source),
            *(address(scratch), address(logits_BWV), *kept, self._n_sharing(n_threads)),
        )
        return logits_BWV, state

    def _checked_pointers(
        self, x_BWD: Floats, state: SearchState, capacity: int, n_source: int, end: int
    ) -> "list[ctypes.Array[ctypes.c_void_p]]":
        """Check every size before C gets a pointer. Return those to the KV cache and to the encoder output.

        Raises:
            ValueError: a size, type or layout does not match.
        """
        n_layers, (n_sentences, width, _) = len(self.weights.decoder), x_BWD.shape
        if end > capacity:
            raise ValueError(f"the KV cache has {capacity} slots; {end} do not fit")
        check("the input", x_BWD, (n_sentences, width, self._d))
        pointers = [
            slots.pointers(n_layers, n_sentences, n_slots, self._keys, self._values)
            for slots, n_slots in ((state.buffers.slots, capacity), (state.source.slots, n_source))
        ]
        if state.mask_BWM is not None:
            check("a mask", state.mask_BWM, (n_sentences, width, end))
        if state.source.mask_B1S is not None:
            check("a mask", state.source.mask_B1S, (n_sentences, 1, n_source))
        return pointers

    def _n_sharing(self, n_threads: int) -> int:
        """Return how many of these threads can share a product. Without any to share, none need be started."""
        return 1 if self.weights.precision == "bfloat16" else n_threads

    def _product_scratch(self, rows: int) -> int:
        """Return how many floats the widest product needs as scratch."""
        return MATRICES[self.weights.precision].scratch(rows, max(self._d, self._values, self.config.d_ff))

    # --- embedding and positions --------------------------------------------------------------------------

    def _embedded(self, rows: Floats, ids: Ints) -> Floats:
        """Return embeddings times √d_model. Padding, and so the start of decoding, is the zero vector."""
        x: Floats = np.multiply(rows, np.float32(self._scale), order="C")
        x[ids == self.vocabulary.pad] = 0.0
        return x

    def _table(self, learned: Any, n: int) -> Floats:
        """Return the vectors of the first n positions: table_LD.

        Raises:
            ValueError: there are not as many learned positions.
        """
        if learned is not None:
            limit = self.config.max_length + 1
            if n > limit:
                raise ValueError(f"a sentence of {n} positions for a model with {limit} learned positions")
            learned_LD: Floats = learned.rows(np.arange(n))
            return learned_LD
        table_LD = self._positions_LD  # a local name, as another thread may replace it
        if n > len(table_LD):
            self._positions_LD = table_LD = sinusoids(max(2 * n, 64), self._d)
        return table_LD


def sinusoids(n_positions: int, d_model: int) -> Floats:
    """Return table_LD: PE(pos, 2i) = sin(pos / 10000^(2i/d)) and PE(pos, 2i+1) = cos(pos / 10000^(2i/d))."""
    # In float64: float32 angles are too coarse for the high frequencies at large positions.
    angle_LE = np.arange(n_positions, dtype=np.float64)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    table_LD = np.stack((np.sin(angle_LE), np.cos(angle_LE)), -1).reshape(n_positions, -1)
    return table_LD[:, :d_model].astype(np.float32)


def _pointers(part: Matrix | FeedForward | Norm) -> Any:
    """Return what C gets of a part of a layer."""
    if isinstance(part, FeedForward):
        return FeedForwardPointers(part.w_1.pointers, part.w_2.pointers, address(part.b_1_F), address(part.b_2_D))
    return _norm(part) if isinstance(part, Norm) else part.pointers


def _norm(norm: Norm | None) -> NormPointers:
    return NormPointers() if norm is None else NormPointers(address(norm.gain_D), address(norm.bias_D))


def _mask(mask_BNM: Floats | None) -> Mask:
    if mask_BNM is None:
        return Mask()
    n_sentences, n_queries, n_slots = mask_BNM.shape
    return Mask(address(mask_BNM), n_queries * n_slots, n_slots if n_queries > 1 else 0)
