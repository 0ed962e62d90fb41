"""Write a folder that CTranslate2 translates with, using its own classes.

CTranslate2 can represent the whole model: pre- or post-norm, the epsilon of the layer norm, the zero vector that
decoding starts from, positions as a table, heads of any width. docs/export.md says how its search differs.
"""

import math
import os
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.config import DecodeConfig, ModelConfig
from heed.durable import write_through
from heed.errors import ConfigError
from heed.export.exportable import as_exportable
from heed.export.heads import pad_heads
from heed.model.attention import MultiHeadAttention
from heed.model.feedforward import FeedForward
from heed.model.interface import SequenceModel
from heed.model.layers import DecoderLayer, EncoderLayer
from heed.model.positions import LearnedPositions, sinusoids
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.translation import not_finite

_MIN_POSITIONS = 4096  # of the table; CTranslate2 raises an error past its end


def write_ctranslate2(
    folder: Path,
    model: SequenceModel,
    tokenizer: Tokenizer,
    decode: DecodeConfig,
    int8: bool = False,
    weights: str = "the model",
) -> None:
    """Write the model, its vocabulary and its tokenizer into an empty folder.

    `weights` names the checkpoint in messages.

    Raises:
        ConfigError: CTranslate2 is not installed, or the model is not a Transformer.
        DecodeError: the weights are not finite; CTranslate2 might not notice.
    """
    transformer = as_exportable(model, "CTranslate2")
    if not all(weight.isfinite().all() for weight in model.parameters()):
        raise not_finite(weights)
    spec = _specification(transformer, tokenizer, decode)
    spec.validate()
    spec.optimize(quantization="int8" if int8 else "float32")
    spec.save(str(folder))
    for file in folder.iterdir():
        with open(file, "rb") as written:
            os.fsync(written.fileno())
    write_through(folder / "tokenizer.model", [tokenizer.model])


def _specification(model: Transformer, tokenizer: Tokenizer, decode: DecodeConfig) -> Any:
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError:
        raise ConfigError("CTranslate2 is not installed; install it with: pip install 'heed[ctranslate2]'") from None
    config = model.config
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers), config.h, pre_norm=config.norm == "pre"
    )
    embedding_VD = _array(model.embedding.weight)
    spec.encoder.embeddings[0].weight = embedding_VD
    spec.decoder.embeddings.weight = embedding_VD
    spec.decoder.projection.weight = embedding_VD
    spec.decoder.start_from_zero_embedding = True
    spec.encoder.position_encodings.encodings = _positions(model.source_positions, config, decode)
    spec.decoder.position_encodings.encodings = _positions(model.target_positions, config, decode)
    for encoder_layer, theirs in zip(cast("list[EncoderLayer]", model.encoder), spec.encoder.layer, strict=True):
        _set_attention(theirs.self_attention, encoder_layer.self_attention, config)
        _set_feed_forward(theirs.ffn, encoder_layer.feed_forward)
        _set_norm(theirs.self_attention.layer_norm, encoder_layer.self_attention_residual.norm)
        _set_norm(theirs.ffn.layer_norm, encoder_layer.feed_forward_residual.norm)
    for layer, theirs in zip(cast("list[DecoderLayer]", model.decoder), spec.decoder.layer, strict=True):
        _set_attention(theirs.self_attention, layer.self_attention, config)
        _set_attention(theirs.attention, layer.cross_attention, config)
        _set_feed_forward(theirs.ffn, layer.feed_forward)
        _set_norm(theirs.self_attention.layer_norm, layer.self_attention_residual.norm)
        _set_norm(theirs.attention.layer_norm, layer.cross_attention_residual.norm)
        _set_norm(theirs.ffn.layer_norm, layer.feed_forward_residual.norm)
    for stack, norm in ((spec.encoder, model.encoder_norm), (spec.decoder, model.decoder_norm)):
        if isinstance(norm, nn.LayerNorm):
            _set_norm(stack.layer_norm, norm)

    pieces, vocabulary = tokenizer.pieces(range(len(tokenizer))), tokenizer.vocabulary
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.layer_norm_epsilon = 1e-6
    spec.config.add_source_eos = True
    spec.config.eos_token = pieces[vocabulary.end]
    spec.config.unk_token = pieces[vocabulary.unknown]
    # There is no start token. This one is never read, because decoding starts from the zero vector.
    spec.config.bos_token = spec.config.decoder_start_token = pieces[vocabulary.pad]
    return spec


def _set_attention(theirs: Any, ours: MultiHeadAttention, config: ModelConfig) -> None:
    """Set the projections: one matrix for queries, keys and values; in cross-attention one for keys and values."""
    width = max(config.key_size, config.value_size)
    q, k, v = (_array(pad_heads(w.weight, config.h, width)) for w in (ours.w_q, ours.w_k, ours.w_v))
    *inputs, output = theirs.linear
    for linear, weights in zip(inputs, ([q, k, v],) if len(inputs) == 1 else ([q], [k, v]), strict=True):
        linear.weight = np.concatenate(weights)
    output.weight = _array(pad_heads(ours.w_o.weight.T, config.h, width).T)
    theirs.queries_scale = 1 / math.sqrt(config.key_size)


def _set_feed_forward(theirs: Any, ours: FeedForward) -> None:
    for linear, layer in ((theirs.linear_0, ours.w_1), (theirs.linear_1, ours.w_2)):
        linear.weight, linear.bias = _array(layer.weight), _array(layer.bias)


def _set_norm(theirs: Any, ours: nn.LayerNorm) -> None:
    theirs.gamma, theirs.beta = _array(ours.weight), _array(ours.bias)


def _positions(ours: nn.Module, config: ModelConfig, decode: DecodeConfig) -> NDArray[np.float32]:
    if isinstance(ours, LearnedPositions):
        return _array(ours.weight)
    return _array(sinusoids(max(_MIN_POSITIONS, config.max_length + 1 + decode.extra_length), config.d_model))


def _array(tensor: Tensor) -> NDArray[np.float32]:
    # A copy, because CTranslate2 quantises in place.
    array: NDArray[np.float32] = tensor.detach().float().numpy().copy()
    return array
