"""How large a model is: the parameter column of Table 3, from the config alone."""

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
