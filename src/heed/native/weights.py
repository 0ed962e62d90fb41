"""The weights of a run folder's checkpoint in the layout that C reads, each in memory once.

The checkpoint is read one array at a time, and each goes to its place. In float32 and bfloat16, the embedding of a
token is read from the projection before the softmax, which is the same matrix. Weights that are stored in 8 bits stay
so, if the search is in 8 bits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from heed.checkpoint import ArrayFile, Kind
from heed.config import ModelConfig
from heed.errors import CheckpointError, ConfigError
from heed.kernels import bf16_ways
from heed.kernels.implemented import not_implemented
from heed.kernels.library import library
from heed.kernels.matrix import MATRICES, Codes, Floats, Ints, Matrix, Precision
from heed.model.stored import SCALE
from heed.run import RunFolder
from heed.vocabulary import Vocabulary


def reason_not_native(config: ModelConfig) -> str | None:
    """Return why models of this config cannot run without torch; None: they can."""
    if setting := not_implemented(config, ("transformer",)):
        return f"{setting} is implemented only with torch"
    if library() is None:
        return (
            "the C kernels are not available (HEED_KERNELS=off, or no C compiler that works: install one, such as gcc)"
        )
    return None


def check_precision(precision: Precision) -> None:
    """Check that this processor computes with weights of this precision, and prepare it.

    Raises:
        ConfigError: it cannot.
    """
    if precision == "bfloat16" and (reason := bf16_ways.reason_not_here()) is not None:
        raise ConfigError(
            f"bfloat16 weights (--bfloat16, bfloat16=True) cannot be used: {reason}; leave them out, or use 8-bit "
            "weights (--int8, int8=True)"
        )


@dataclass(frozen=True)
class Norm:
    """The gain and bias of a norm."""

    gain_D: Floats
    bias_D: Floats


@dataclass(frozen=True)
class FeedForward:
    """The weights of a feed-forward network."""

    w_1: Matrix
    w_2: Matrix
    b_1_F: Floats
    b_2_D: Floats


@dataclass(frozen=True)
class EncoderLayer:
    """The weights of a layer of the encoder."""

    self_qkv: Matrix
    self_out: Matrix
    feed_forward: FeedForward
    self_norm: Norm
    feed_forward_norm: Norm


@dataclass(frozen=True)
class DecoderLayer:
    """The weights of a layer of the decoder, without the keys and values of its cross-attention."""

    self_qkv: Matrix
    self_out: Matrix
    cross_q: Matrix
    cross_out: Matrix
    feed_forward: FeedForward
    self_norm: Norm
    cross_norm: Norm
    feed_forward_norm: Norm


class Table:
    """A matrix of which only rows are read, in float32 or, if it is stored so, in 8 bits."""

    def __init__(self) -> None:
        self._rows_OI: Floats | Codes | None = None
        self._scale_O: Floats | None = None

    def put(self, rows_OI: Floats) -> None:
        self._rows_OI = rows_OI

    def put_codes(self, codes_OI: Codes, scale_O: Floats) -> None:
        self._rows_OI, self._scale_O = codes_OI, scale_O

    def rows(self, numbers: Ints) -> Floats:
        """Return these rows."""
        assert self._rows_OI is not None
        found: Any = self._rows_OI[numbers]
        rows: Floats = found if self._scale_O is None else found * self._scale_O[numbers][..., None]
        return rows


@dataclass(frozen=True)
class _Place:
    """Where an array of a checkpoint goes."""

    shape: tuple[int, ...]
    put: list[Callable[[Floats], None]]
    put_codes: list[Callable[[Codes, Floats], None]]


class Weights:
    """All weights of a model, to be filled from a checkpoint."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, precision: Precision) -> None:
        """Lay out the weights.

        Raises:
            ConfigError: this processor does not compute in that precision.
        """
        check_precision(precision)
        self.config, self.vocabulary, self.precision = config, vocabulary, precision
        self._places: dict[str, _Place] = {}
        d, keys, values = config.d_model, config.h * config.key_size, config.h * config.value_size
        self.encoder = [self._encoder_layer(f"encoder.{i}", d, keys, values) for i in range(config.encoder_layers)]
        self.decoder = [self._decoder_layer(f"decoder.{i}", d, keys, values) for i in range(config.decoder_layers)]
        self.cross_kv = [
            self._matrix(d, (f"decoder.{i}.cross_attention.w_k", keys), (f"decoder.{i}.cross_attention.w_v", values))
            for i in range(config.decoder_layers)
        ]
        is_pre = config.norm == "pre"
        self.encoder_norm = self._norm("encoder_norm", d) if is_pre else None
        self.decoder_norm = self._norm("decoder_norm", d) if is_pre else None
        self.logits = self._matrix(d, ("embedding", vocabulary.size))
        self._float_embedding: Table | None = None  # only if it is stored in float32, but the search is in 8 bits
        if precision == "int8":
            self._float_embedding = Table()
            self._places["embedding.weight"].put.append(self._float_embedding.put)
        self._own_source: Table | None = None
        if vocabulary.source_size is not None:
            self._own_source = self._table("own_source_embedding", vocabulary.source_size, d)
        self.source_positions: Table | None = None
        self.target_positions: Table | None = None
        if config.positions == "learned":
            self.source_positions = self._table("source_positions", config.max_length + 1, d)
            self.target_positions = self._table("target_positions", config.max_length + 1, d)

    def target_rows(self, ids: Ints) -> Floats:
        """Return the rows of the embedding of target tokens."""
        table = self._float_embedding
        return self.logits.columns(ids) if table is None else table.rows(ids)

    def source_rows(self, ids: Ints) -> Floats:
        """Return the rows of the embedding of source tokens."""
        return self.target_rows(ids) if self._own_source is None else self._own_source.rows(ids)

    def fill(self, file: ArrayFile, name: str) -> None:
        """Put each array of a checkpoint into its place; `name` is the path to show.

        Raises:
            CheckpointError: they do not fit the config.
            DamageError: the file is not what was written.
        """
        file.check({key: Kind(place.shape) for key, place in self._places.items()}, name)
        halves: dict[str, dict[str, Any]] = {}  # codes that wait for their scale, and the other way round
        for key, array in file.arrays():
            weight = key.removesuffix(SCALE)
            if array.dtype == np.int8 or weight != key:
                halves.setdefault(weight, {})["codes_OI" if weight == key else "scale_O"] = array
                if len(halves[weight]) == 2:
                    self._put_codes(weight, **halves.pop(weight))
            else:
                for put in self._places[key].put:
                    put(array)
        self._places = {}  # all are filled

    def _put_codes(self, key: str, codes_OI: Codes, scale_O: Floats) -> None:
        for put in self._places[key].put_codes:
            put(codes_OI, scale_O)
        if key == "embedding.weight":
            self._float_embedding = None

    # --- the places of a model's weights ------------------------------------------------------------------

    def _encoder_layer(self, name: str, d: int, keys: int, values: int) -> EncoderLayer:
        return EncoderLayer(
            self_qkv=self._qkv(f"{name}.self_attention", d, keys, values),
            self_out=self._matrix(values, (f"{name}.self_attention.w_o", d)),
            feed_forward=self._feed_forward(f"{name}.feed_forward", d),
            self_norm=self._norm(f"{name}.self_attention_residual.norm", d),
            feed_forward_norm=self._norm(f"{name}.feed_forward_residual.norm", d),
        )

    def _decoder_layer(self, name: str, d: int, keys: int, values: int) -> DecoderLayer:
        return DecoderLayer(
            self_qkv=self._qkv(f"{name}.self_attention", d, keys, values),
            self_out=self._matrix(values, (f"{name}.self_attention.w_o", d)),
            cross_q=self._matrix(d, (f"{name}.cross_attention.w_q", keys)),
            cross_out=self._matrix(values, (f"{name}.cross_attention.w_o", d)),
            feed_forward=self._feed_forward(f"{name}.feed_forward", d),
            self_norm=self._norm(f"{name}.self_attention_residual.norm", d),
            cross_norm=self._norm(f"{name}.cross_attention_residual.norm", d),
            feed_forward_norm=self._norm(f"{name}.feed_forward_residual.norm", d),
        )

    def _qkv(self, name: str, d: int, keys: int, values: int) -> Matrix:
        return self._matrix(d, (f"{name}.w_q", keys), (f"{name}.w_k", keys), (f"{name}.w_v", values))

    def _feed_forward(self, name: str, d: int) -> FeedForward:
        d_ff = self.config.d_ff
        w_1, w_2 = self._matrix(d, (f"{name}.w_1", d_ff)), self._matrix(d_ff, (f"{name}.w_2", d))
        return FeedForward(w_1, w_2, self._vector(f"{name}.w_1.bias", d_ff), self._vector(f"{name}.w_2.bias", d))

    def _norm(self, name: str, d: int) -> Norm:
        return Norm(self._vector(f"{name}.weight", d), self._vector(f"{name}.bias", d))

    def _matrix(self, d_in: int, *parts: tuple[str, int]) -> Matrix:
        """Return a matrix of weights side by side, given by their names and widths."""
        d_out = sum(width for _, width in parts)
        matrix = MATRICES[self.precision](d_in, d_out)
        first = 0
        for name, width in parts:
            puts = partial(matrix.put, first), partial(matrix.put_codes, first)
            self._places[f"{name}.weight"] = _Place((width, d_in), [puts[0]], [puts[1]])
            first += width
        return matrix

    def _vector(self, name: str, d: int) -> Floats:
        vector_D = np.zeros(d, np.float32)
        self._places[name] = _Place((d,), [partial(np.copyto, vector_D)], [])
        return vector_D

    def _table(self, name: str, n_rows: int, d: int) -> Table:
        table = Table()
        self._places[f"{name}.weight"] = _Place((n_rows, d), [table.put], [table.put_codes])
        return table


def load_weights(run: RunFolder, which: str, precision: Precision) -> Weights:
    """Return the weights of one checkpoint of a run.

    Raises:
        CheckpointError: there is no such checkpoint, it does not fit the run's config or vocabulary, or this package
            does not implement its model.
        ConfigError: this processor does not compute in that precision.
    """
    if reason := reason_not_native(run.config.model):
        raise CheckpointError(f"{run.path}: {reason}; use engine torch")
    path = run.checkpoint_path(which)
    with run.reading(path):
        run.check_fingerprint(path)
        run.check_size(path)
        weights = Weights(run.config.model, run.tokenizer.vocabulary, precision)
        weights.fill(ArrayFile(path, "model"), str(path))
    return weights
