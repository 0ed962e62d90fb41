"""The same model with its decoder in C (`kernels/decoder.c`): all layers of a search step in one call.

The C code is used only for a model that is exactly what it implements: `reason_not_compiled` checks the configuration
field by field and the decoder module by module. Any other model is searched by its own PyTorch code.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.kernels.decoder import CompiledDecoder, DecoderLayerWeights, Weight, is_available
from heed.kernels.int8 import Int8Weight
from heed.model.attention import CrossAttention, SelfAttention
from heed.model.cache import DecoderState
from heed.model.dropout import Dropout
from heed.model.embedding import SharedEmbedding
from heed.model.feedforward import FeedForward
from heed.model.int8 import Int8Embedding, Int8Linear
from heed.model.interface import SequenceModel
from heed.model.layers import DecoderLayer, Residual
from heed.model.positions import LearnedPositions, SinusoidalPositions
from heed.model.transformer import Transformer

# Every field of ModelConfig with what C implements of it; ... means any value. A field that is missing here is not
# implemented, whatever its value.
_CONFIG: dict[str, Any] = {
    "encoder_layers": ...,  # the encoder is PyTorch's
    "decoder_layers": ...,
    "d_model": ...,
    "d_ff": ...,
    "h": ...,
    "d_k": ...,
    "d_v": ...,
    "dropout": ...,  # not in search
    "norm": ("post", "pre"),
    "positions": ("sinusoidal", "learned"),
    "max_length": ...,
    "kind": ("transformer",),
}

# Every kind of module there may be in the decoder, with the parts it has. A module of another kind, or with another
# part, parameter, hook or forward method, is not implemented.
_MODULES: dict[type[nn.Module], set[str]] = {
    nn.ModuleList: set(),  # any number of layers
    DecoderLayer: {
        *("self_attention", "self_attention_residual", "cross_attention", "cross_attention_residual"),
        *("feed_forward", "feed_forward_residual"),
    },
    SelfAttention: {"w_q", "w_k", "w_v", "w_o"},
    CrossAttention: {"w_q", "w_k", "w_v", "w_o"},
    FeedForward: {"w_1", "w_2"},
    Residual: {"norm", "dropout"},
    nn.LayerNorm: {"weight", "bias"},
    nn.Linear: {"weight", "bias"},
    Int8Linear: {"bias"},
    SharedEmbedding: {"weight"},
    Int8Embedding: {"weight", "projection"},
    SinusoidalPositions: {"table_LD"},
    LearnedPositions: {"weight"},
    Dropout: set(),
    nn.Identity: set(),
}


def reason_not_compiled(model: nn.Module) -> str | None:
    """Return why the C code cannot decode with this model; None: it can."""
    if type(model) is not Transformer:
        return f"it is a {type(model).__name__}, not a Transformer"
    for field in fields(model.config):
        value, implemented = getattr(model.config, field.name), _CONFIG.get(field.name, ())
        if implemented is not ... and value not in implemented:
            return f"model.{field.name} = {value!r} is not implemented in C"
    for name, module in _decoding_parts(model):
        if fault := _fault(module):
            return f"{name}: {fault}"
    if len({norm.eps for norm in model.decoder.modules() if isinstance(norm, nn.LayerNorm)}) > 1:
        return "its norms have different epsilons"
    weight = model.embedding.weight
    if not weight.is_cpu or weight.dtype != torch.float32:
        return f"its weights are {weight.dtype} on {weight.device}, not float32 on a CPU"
    return None if is_available() else "the C kernels are not available"


class Snapshot:
    """A model as it was, to see whether it has been changed, converted or replaced since.

    Every call to translate asks, so the question takes microseconds: nothing is walked twice.
    """

    def __init__(self, model: nn.Module) -> None:
        modules = list(model.modules())
        self._model = model
        # Replaced parts and weights change a table's values; hooks and forward methods of its own change a length.
        self._tables = [table for one in modules for table in (one._modules, one._parameters)]
        self._sized = [table for one in modules for table in (vars(one), one._forward_hooks, one._forward_pre_hooks)]
        self._weights = list(model.parameters())
        self._versioned = [weight for weight in self._weights if not weight.is_inference()]
        self._state = self._read()

    def is_of(self, model: nn.Module) -> bool:
        """Return whether this is the same model, unchanged."""
        return self._model is model and self._read() == self._state

    def _read(self) -> list[object]:
        return [
            self._model.config,
            *[id(value) for table in self._tables for value in table.values()],
            *[len(table) for table in self._sized],
            *[weight.data_ptr() for weight in self._weights],
            *[weight.dtype for weight in self._weights],
            *[weight._version for weight in self._versioned],
        ]


def _decoding_parts(model: Transformer) -> Iterator[tuple[str, nn.Module]]:
    for part in ("decoder", "decoder_norm", "embedding", "target_positions"):
        for name, module in getattr(model, part).named_modules():
            yield f"{part}.{name}".rstrip("."), module


def _fault(module: nn.Module) -> str | None:
    """Return what of a module the C code does not know."""
    known = _MODULES.get(type(module))
    if known is None:
        return f"a {type(module).__name__} is not implemented in C"
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    if any(hooks) or "forward" in vars(module):
        return "it has a hook or a forward method of its own"
    parts = {name for group in (module._modules, module._parameters, module._buffers) for name in group}
    if odd := parts - known if type(module) is not nn.ModuleList else set():
        return f"{sorted(odd)[0]} is not implemented in C"
    if isinstance(module, SelfAttention | CrossAttention):
        biased = [name for name in ("w_q", "w_k", "w_v", "w_o") if getattr(module, name).bias is not None]
        return f"a bias in {biased[0]} is not implemented in C" if biased else None
    return None


class CompiledTransformer:
    """A model that searches through C. It copies the weights: changing the model afterwards does not change it."""

    @torch.inference_mode()
    def __init__(self, model: SequenceModel) -> None:
        """
        Raises:
            ValueError: `reason_not_compiled` has a reason.
        """
        if reason := reason_not_compiled(model):
            raise ValueError(f"not a model for the C decoder: {reason}")
        assert isinstance(model, Transformer)  # there would be a reason
        self._model = model
        self._embedded_VD = model.embedding(torch.arange(model.vocab_size))
        embedding = model.embedding
        logits_DV = (
            _weight(embedding.projection) if isinstance(embedding, Int8Embedding) else _transposed(embedding.weight)
        )
        last_norm = model.decoder_norm if isinstance(model.decoder_norm, nn.LayerNorm) else None
        layers = [_layer_weights(layer) for layer in model.decoder]  # type: ignore[arg-type]
        self._decoder = CompiledDecoder(layers, logits_DV, last_norm, model.config.h)

    def start(self, src_BS: Tensor) -> DecoderState:
        """Encode source sentences for a search, which then calls `step`."""
        return self._model.start(src_BS)

    def step(self, ids_BW: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Return logits_BWV of what follows the newest token of each hypothesis, and the state after it."""
        position, n_slots = state.position, state.cache.n_slots
        state = state.extended(ids_BW.size(1))
        x_BWD = F.embedding(ids_BW, self._embedded_VD) + self._model.target_positions.table(position + 1)[position]
        layers = [(*own, *source) for own, source in zip(state.cache.layers, state.source.layers, strict=True)]
        return self._decoder(x_BWD, layers, n_slots, state.sees_BWM, state.source.mask_B1S), state


def _layer_weights(layer: DecoderLayer) -> DecoderLayerWeights:
    own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
    return DecoderLayerWeights(
        self_qkv=_weight(own.w_q, own.w_k, own.w_v),
        self_out=_weight(own.w_o),
        cross_q=_weight(cross.w_q),
        cross_out=_weight(cross.w_o),
        w_1=_weight(feed_forward.w_1),
        w_2=_weight(feed_forward.w_2),
        b_1=feed_forward.w_1.bias,
        b_2=feed_forward.w_2.bias,
        self_norm=layer.self_attention_residual.norm,
        cross_norm=layer.cross_attention_residual.norm,
        feed_forward_norm=layer.feed_forward_residual.norm,
    )


def _weight(*linears: nn.Module) -> Weight:
    """Return the weights of linear layers as one matrix d_in x d_out."""
    if all(isinstance(linear, Int8Linear) for linear in linears):
        codes_OI, scale_O = (torch.cat([getattr(one, name) for one in linears]) for name in ("codes_OI", "scale_O"))
        return Int8Weight(codes_OI, scale_O)
    return _transposed(torch.cat([linear.weight for linear in linears]))  # type: ignore[misc]


def _transposed(weight_OI: Tensor) -> Tensor:
    return weight_OI.detach().T.contiguous()  # for few rows, products with this layout are up to twice as fast
