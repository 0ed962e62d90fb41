"""How large a Transformer is, from its config alone: the parameters of Table 3, the memory and work of an update."""

import numpy as np
from numpy.typing import NDArray

from heed.config import ModelConfig
from heed.kernels.varlen import MAX_POSITIONS, MAX_VECTOR_WIDTH


def count_parameters(config: ModelConfig, vocab_size: int) -> int:
    """Trainable numbers, counted from the paper's formulas rather than from the built model."""
    d, ff = config.d_model, config.d_ff
    attention = config.h * (2 * d * config.key_size + 2 * d * config.value_size)  # W_q, W_k; W_v, W_o
    feed_forward = d * ff + ff + ff * d + d
    norm = 2 * d
    encoder = config.encoder_layers * (attention + feed_forward + 2 * norm)
    decoder = config.decoder_layers * (2 * attention + feed_forward + 3 * norm)
    positions = 2 * (config.max_length + 1) * d if config.positions == "learned" else 0
    last_norms = 2 * norm if config.norm == "pre" else 0
    return vocab_size * d + encoder + decoder + positions + last_norms


def kept_floats(config: ModelConfig, length: int) -> int:
    """Numbers kept for the backward pass, for one source and one target position of sentences so long."""
    d, a, c = config.d_model, config.h * config.key_size, config.h * config.value_size
    mask = d // 4 if config.dropout else 0  # one byte each
    residual = 2 * d + mask  # the sum that is normalised, and what comes of it
    # PyTorch's kernel, for longer sentences, makes the weights again.
    weights = config.h * -(-length // MAX_VECTOR_WIDTH) * MAX_VECTOR_WIDTH if length <= MAX_POSITIONS else 0
    attention = 2 * a + 2 * c + weights + residual  # queries, keys, values, context
    feed_forward = config.d_ff + residual
    encoder = config.encoder_layers * (attention + feed_forward)
    decoder = config.decoder_layers * (2 * attention + feed_forward)
    return encoder + decoder + 2 * (2 * d + mask)


def update_operations(
    config: ModelConfig, vocab_size: int, sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> int:
    """Multiplications and additions of an update's matrix products, for pairs of these lengths: forward once, and
    backward twice as many.

    Padding is not counted, nor are softmax, norms and the optimizer: they are what keeps training from 100 %.
    """
    d, keys, values = config.d_model, config.h * config.key_size, config.h * config.value_size
    project = 2 * d * keys + 2 * d * values  # queries and keys; values and output
    feed_forward = 2 * d * config.d_ff
    look = keys + values  # one position at another
    n_source, n_target = int(sources.sum()), int(targets.sum())
    encoder = n_source * (project + feed_forward) + int((sources**2).sum()) * look
    decoder = (
        n_target * (2 * project - d * (keys + values) + feed_forward)
        + n_source * d * (keys + values)  # the encoder's output as keys and values
        + int((targets * (targets + 1) // 2 + sources * targets).sum()) * look
    )
    products = config.encoder_layers * encoder + config.decoder_layers * decoder + n_target * d * vocab_size
    return 3 * 2 * products
