"""The size of a Transformer, from its config alone: parameters (Table 3), and memory and operations of an update."""

import numpy as np
from numpy.typing import NDArray

from heed.config import ModelConfig
from heed.vocabulary import Vocabulary


def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
    """Return the number of parameters, from the paper's formulas rather than from a model."""
    d, ff = config.d_model, config.d_ff
    attention = config.h * (2 * d * config.key_size + 2 * d * config.value_size)  # W_q, W_k; W_v, W_o
    feed_forward = d * ff + ff + ff * d + d
    norm = 2 * d
    encoder = config.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    positions = 2 * (config.max_length + 1) * d if config.positions == "learned" else 0
    last_norms = 2 * norm if config.norm == "pre" else 0
    n_embedded = vocabulary.size + (vocabulary.source_size or 0)
    return n_embedded * d + encoder + decoder + positions + last_norms


def kept_floats(config: ModelConfig, length: int) -> int:
    """Return how many floats are kept for the backward pass per source and target position, at this length."""
    # These need torch, unlike the number of parameters.
    from heed.kernels.varlen import MAX_POSITIONS, MAX_VECTOR_WIDTH
    from heed.model.neighbourhood import MIN_BLOCK

    d, a, c = config.d_model, config.h * config.key_size, config.h * config.value_size
    mask = d // 4 if config.dropout else 0  # one byte per element
    residual = 2 * d + mask  # the input and the output of the norm
    # For longer sentences PyTorch's kernel is used, which recomputes the weights.
    weights = config.h * -(-length // MAX_VECTOR_WIDTH) * MAX_VECTOR_WIDTH if length <= MAX_POSITIONS else 0
    attention = 2 * a + 2 * c + weights + residual  # queries, keys, values, context
    feed_forward = config.d_ff + residual
    own_attention, window_masks = attention, 0
    if 0 < (r := config.attention_window) < length:
        # A block of queries has its own copy of the keys and values that it attends to. All layers share a mask.
        block = max(r, MIN_BLOCK)
        attended = min(block + 2 * r, length)  # keys of a block of packed sentences
        own_attention = a + c + residual + (a + c) * attended // block
        window_masks = 2 * attended
    encoder = config.encoder_layers * (own_attention + feed_forward)
    decoder = config.decoder_layers * (own_attention + attention + feed_forward)
    return encoder + decoder + 2 * (2 * d + mask) + window_masks


def update_operations(
    config: ModelConfig, vocabulary: Vocabulary, sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> int:
    """Return the multiplications and additions in the matrix products of an update, for pairs of these lengths: those
    of the forward pass, and twice as many backward.

    Padding, softmax, norms and the optimizer are not counted: they are overhead.
    """
    d, keys, values = config.d_model, config.h * config.key_size, config.h * config.value_size
    project = 2 * d * keys + 2 * d * values  # queries and keys; values and output
    feed_forward = 2 * d * config.d_ff
    attend = keys + values  # from one position to another
    n_source, n_target = int(sources.sum()), int(targets.sum())
    r = config.attention_window or max((*sources.tolist(), *targets.tolist()), default=1)
    source_window, target_window = np.minimum(sources, r), np.minimum(targets, r)
    in_source = sources * source_window  # pairs of positions of which one attends to the other
    in_target = target_window * (target_window + 1) // 2 + (targets - target_window) * target_window
    encoder = n_source * (project + feed_forward) + int(in_source.sum()) * attend
    decoder = (
        n_target * (2 * project - d * (keys + values) + feed_forward)
        + n_source * d * (keys + values)  # the encoder's output as keys and values
        + int((in_target + sources * targets).sum()) * attend
    )
    products = config.encoder_layers * encoder + config.decoder_layers * decoder + n_target * d * vocabulary.size
    return 3 * 2 * products
