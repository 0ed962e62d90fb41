"""How large a model is, from the config alone: the parameter column of Table 3, and the work of an update."""

import numpy as np
from numpy.typing import NDArray

from heed.config import ModelConfig


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


def update_operations(
    model: ModelConfig, vocab_size: int, sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> int:
    """Multiplications and additions of an update's matrix products, for pairs of these lengths: forward once, and
    backward twice as many.

    Padding is not counted, nor are softmax, norms and the optimizer: they are what keeps training from 100 %.
    """
    d, keys, values = model.d_model, model.h * model.key_size, model.h * model.value_size
    project = 2 * d * keys + 2 * d * values  # queries and keys; values and output
    feed_forward = 2 * d * model.d_ff
    look = keys + values  # one position at another
    n_source, n_target = int(sources.sum()), int(targets.sum())
    encoder = n_source * (project + feed_forward) + int((sources**2).sum()) * look
    decoder = (
        n_target * (2 * project - d * (keys + values) + feed_forward)
        + n_source * d * (keys + values)  # the encoder's output as keys and values
        + int((targets * (targets + 1) // 2 + sources * targets).sum()) * look
    )
    products = model.encoder_layers * encoder + model.decoder_layers * decoder + n_target * d * vocab_size
    return 3 * 2 * products
