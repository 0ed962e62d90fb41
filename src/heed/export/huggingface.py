"""Write a folder that Hugging Face's `transformers` loads as `MarianMTModel` and `MarianTokenizer`.

The differences between the two models, and how they are bridged:

    positions    Marian has all sines, then all cosines; ours alternate. So the dimensions of the model are reordered
                 in every weight. (A table of positions in the file would be lost when the model is saved again:
                 `transformers` computes its own.)
    start        Decoding starts from padding, embedded as zero. The same row before the softmax is not zero, so Marian
                 gets embeddings and projection as separate matrices.
    biases       Marian's attention has biases; they are set to zero.
    heads        Marian's are d_model / h wide. Narrower ones are padded with zeros, and their queries scaled.
    epsilon      Marian's layer norm has 1e-5, which cannot be set; ours has 1e-6. This remains (docs/export.md).
"""

import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from heed.config import DecodeConfig, ModelConfig
from heed.durable import json_bytes, write_through
from heed.errors import ConfigError
from heed.export.exportable import as_exportable
from heed.export.heads import pad_heads
from heed.model.interface import SequenceModel
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary


def write_huggingface(folder: Path, model: SequenceModel, tokenizer: Tokenizer, decode: DecodeConfig) -> None:
    """Write the model and its tokenizer into an empty folder.

    Raises:
        ConfigError: Marian cannot represent this model.
    """
    transformer = as_exportable(model, "Marian")
    check_marian_supports(model.config)
    weights = marian_weights(transformer)
    pieces, vocabulary = tokenizer.pieces(range(len(tokenizer))), tokenizer.vocabulary
    config, generation = _config(model.config, vocabulary, decode), _generation(model.config, vocabulary, decode)
    files = {
        "config.json": json_bytes(config),
        "generation_config.json": json_bytes(generation),
        "model.safetensors": save(weights, metadata={"format": "pt"}),
        "source.spm": tokenizer.model,
        "target.spm": tokenizer.model,
        "vocab.json": json_bytes({piece: number for number, piece in enumerate(pieces)}),
        "tokenizer_config.json": json_bytes(_tokenizer_config(model.config, vocabulary, pieces)),
    }
    for name, content in files.items():
        write_through(folder / name, [content])


def check_marian_supports(config: ModelConfig) -> None:
    """Check that a Marian model can have this configuration.

    Raises:
        ConfigError: it cannot.
    """
    reasons = []
    if config.norm == "pre":
        reasons.append('model.norm = "pre": Marian normalises after each sub-layer only')
    if config.positions == "learned":
        reasons.append('model.positions = "learned": Marian has sinusoidal positions only')
    if config.d_model % config.h:
        reasons.append(f"model.d_model = {config.d_model} is not a multiple of model.h = {config.h}")
    reasons += [
        f"model.{name} = {size} is more than d_model / h = {config.d_model // config.h}, the width of Marian's heads"
        for name, size in (("d_k", config.key_size), ("d_v", config.value_size))
        if size > config.d_model // config.h
    ]
    if reasons:
        raise ConfigError(
            f"Marian cannot represent this model: {'; '.join(reasons)}. CTranslate2 can: --to ctranslate2"
        )


def marian_weights(model: Transformer) -> dict[str, Tensor]:
    """Return the weights with Marian's names and order of dimensions."""
    # The even dimensions, which have the sines, then the odd ones, which have the cosines.
    order_D = torch.arange(model.config.d_model).view(-1, 2).T.flatten()
    ours = {name: tensor.detach().float() for name, tensor in model.state_dict().items()}
    head_VD = ours["embedding.weight"][:, order_D]
    embedding_VD = head_VD.clone()
    embedding_VD[model.vocabulary.pad] = 0.0
    weights = {
        "model.encoder.embed_tokens.weight": embedding_VD,
        "model.decoder.embed_tokens.weight": embedding_VD.clone(),
        "lm_head.weight": head_VD,
        "final_logits_bias": torch.zeros(1, len(head_VD)),
    }
    attentions = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
    for stack, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i in range(len(layers)):
            here, there = f"{stack}.{i}", f"model.{stack}.layers.{i}"
            for name, marian in attentions.items():
                if f"{here}.{name}.w_q.weight" in ours:
                    parts = {part: ours[f"{here}.{name}.w_{part}.weight"] for part in "qkvo"}
                    weights |= _attention(f"{there}.{marian}", parts, model.config, order_D)
                    weights |= _norm(f"{there}.{marian}_layer_norm", ours, f"{here}.{name}_residual", order_D)
            weights[f"{there}.fc1.weight"] = ours[f"{here}.feed_forward.w_1.weight"][:, order_D]
            weights[f"{there}.fc1.bias"] = ours[f"{here}.feed_forward.w_1.bias"]
            weights[f"{there}.fc2.weight"] = ours[f"{here}.feed_forward.w_2.weight"][order_D]
            weights[f"{there}.fc2.bias"] = ours[f"{here}.feed_forward.w_2.bias"][order_D]
            weights |= _norm(f"{there}.final_layer_norm", ours, f"{here}.feed_forward_residual", order_D)
    return {name: tensor.contiguous() for name, tensor in weights.items()}


def _attention(name: str, parts: dict[str, Tensor], config: ModelConfig, order_D: Tensor) -> dict[str, Tensor]:
    width = config.d_model // config.h
    # Marian divides by the root of its own head width.
    scale = math.sqrt(width / config.key_size)
    projections = {
        "q_proj": pad_heads(parts["q"][:, order_D] * scale, config.h, width),
        "k_proj": pad_heads(parts["k"][:, order_D], config.h, width),
        "v_proj": pad_heads(parts["v"][:, order_D], config.h, width),
        "out_proj": pad_heads(parts["o"].T, config.h, width).T[order_D],
    }
    weights = {f"{name}.{part}.weight": weight for part, weight in projections.items()}
    return weights | {f"{name}.{part}.bias": torch.zeros(config.d_model) for part in projections}


def _norm(name: str, ours: dict[str, Tensor], residual: str, order_D: Tensor) -> dict[str, Tensor]:
    return {f"{name}.{part}": ours[f"{residual}.norm.{part}"][order_D] for part in ("weight", "bias")}


def _config(model: ModelConfig, vocabulary: Vocabulary, decode: DecodeConfig) -> dict[str, Any]:
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": vocabulary.size,
        "decoder_vocab_size": vocabulary.size,
        "d_model": model.d_model,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
        "encoder_attention_heads": model.h,
        "decoder_attention_heads": model.h,
        "encoder_ffn_dim": model.d_ff,
        "decoder_ffn_dim": model.d_ff,
        "activation_function": "relu",
        "dropout": model.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "max_position_embeddings": max(1024, model.max_length + 1 + decode.extra_length),
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
        "pad_token_id": vocabulary.pad,
        "eos_token_id": vocabulary.end,
        "decoder_start_token_id": vocabulary.pad,
        "bos_token_id": None,
        "forced_eos_token_id": None,
        "dtype": "float32",
        "torch_dtype": "float32",  # the name in older versions
    }


def _generation(model: ModelConfig, vocabulary: Vocabulary, decode: DecodeConfig) -> dict[str, Any]:
    """Return the run's beam search as closely as `generate` can match it; its length penalty differs."""
    return {
        "num_beams": decode.beam,
        "length_penalty": decode.alpha,
        "early_stopping": True,
        "max_length": model.max_length + decode.extra_length + 1,
        "bad_words_ids": [[vocabulary.pad], [vocabulary.unknown]],
        "pad_token_id": vocabulary.pad,
        "eos_token_id": vocabulary.end,
        "decoder_start_token_id": vocabulary.pad,
        "bos_token_id": None,
        "forced_eos_token_id": None,
    }


def _tokenizer_config(model: ModelConfig, vocabulary: Vocabulary, pieces: list[str]) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "pad_token": pieces[vocabulary.pad],
        "eos_token": pieces[vocabulary.end],
        "unk_token": pieces[vocabulary.unknown],
        "model_max_length": model.max_length + 1,
        "separate_vocabs": False,
        "clean_up_tokenization_spaces": False,
    }
