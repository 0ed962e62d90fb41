"""A Transformer whose decoder runs in C (`kernels/decoder.c`): a step of search is one call.

C is used only for models that it implements exactly: `reason_not_compiled` checks the configuration field by field and
the decoder module by module. Any other model is searched by its PyTorch code.
"""

from collections.abc import Iterator
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.kernels.decoder import CompiledDecoder, DecoderLayerWeights, Weight, is_available
from heed.kernels.implemented import not_implemented
from heed.kernels.int8 import Int8Weight
from heed.model.attention import CrossAttention, SelfAttention
from heed.model.cache import DecoderState
from heed.model.dropout import Dropout
from heed.model.embedding import SharedEmbedding
from heed.model.feedforward import FeedForward
from heed.model.follower import Follower, FollowerState
from heed.model.int8 import Int8Embedding, Int8Linear
from heed.model.interface import Searchable, SequenceModel
from heed.model.layers import DecoderLayer, Residual
from heed.model.positions import LearnedPositions, SinusoidalPositions
from heed.model.transformer import Transformer

# Every class of module that the decoder may have, with the names of its parts. A module of another class, or with
# another part, a hook or its own forward method, is not implemented.
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
    """Return why C cannot decode with this model; None: it can."""
    if type(model) not in (Transformer, Follower):
        return f"it is a {type(model).__name__}, not a Transformer"
    assert isinstance(model, Transformer)
    if setting := not_implemented(model.config, ("transformer", "follower")):
        return f"{setting} is not implemented in C"
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
    """A fingerprint of a model, to detect whether it has been changed, converted or replaced since.

    Every call to translate compares it, so that must take microseconds: the modules are walked only once, here.
    """

    def __init__(self, model: nn.Module) -> None:
        modules = list(model.modules())
        self._model = model
        # Replacing a part or a weight changes a table's values; a hook or a new forward method changes a length.
        self._tables = [table for one in modules for table in (one._modules, one._parameters)]
        self._sized = [table for one in modules for table in (vars(one), one._forward_hooks, one._forward_pre_hooks)]
        self._weights = list(model.parameters())
        self._versioned = [weight for weight in self._weights if not weight.is_inference()]
        self._state = self._read()

    def matches(self, model: nn.Module) -> bool:
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
    """Yield the name and module of every part that a step of search runs."""
    for part in ("decoder", "decoder_norm", "embedding", "target_positions"):
        for name, module in getattr(model, part).named_modules():
            yield f"{part}.{name}".rstrip("."), module


def _fault(module: nn.Module) -> str | None:
    """Return what C does not implement of a module; None: it implements all of it."""
    known = _MODULES.get(type(module))
    if known is None:
        return f"a {type(module).__name__} is not implemented in C"
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    if any(hooks) or "forward" in vars(module):
        return "it has a hook or its own forward method"
    parts = {name for group in (module._modules, module._parameters, module._buffers) for name in group}
    if unknown := parts - known if type(module) is not nn.ModuleList else set():
        return f"{sorted(unknown)[0]} is not implemented in C"
    if isinstance(module, SelfAttention | CrossAttention):
        biased = [name for name in ("w_q", "w_k", "w_v", "w_o") if getattr(module, name).bias is not None]
        return f"a bias in {biased[0]} is not implemented in C" if biased else None
    return None


class CompiledTransformer(Searchable):
    """A model whose decoder runs in C. It copies the weights: changing the model afterwards does not change it."""

    @torch.inference_mode()
    def __init__(self, model: SequenceModel) -> None:
        """Copy the weights of a model into the layout that C reads.

        Raises:
            ValueError: `reason_not_compiled` returns a reason.
        """
        if reason := reason_not_compiled(model):
            raise ValueError(f"the C decoder does not implement this model: {reason}")
        assert isinstance(model, Transformer)  # checked by `reason_not_compiled`
        self._model = model
        self._embedded_VD = model.embedding(torch.arange(model.vocabulary.size))
        embedding = model.embedding
        logits_DV = (
            _weight(embedding.projection) if isinstance(embedding, Int8Embedding) else _transposed(embedding.weight)
        )
        last_norm = model.decoder_norm if isinstance(model.decoder_norm, nn.LayerNorm) else None
        layers = [_layer_weights(layer) for layer in model.decoder]  # type: ignore[arg-type]
        self._decoder = CompiledDecoder(layers, logits_DV, last_norm, model.config.h)

    def start(self, src_BS: Tensor) -> DecoderState:
        return self._model.start(src_BS)

    def step(self, ids_BW: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        return self._decoded(F.embedding(ids_BW, self._embedded_VD), state)

    def _decoded(self, embedded_BWD: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        position, n_slots = state.position, state.cache.n_slots
        state = state.extended(embedded_BWD.size(1))
        x_BWD = embedded_BWD + self._model.target_positions.table(position + 1)[position]
        layers = [(*target, *source) for target, source in zip(state.cache.layers, state.source.layers, strict=True)]
        return self._decoder(x_BWD, layers, n_slots, state.mask_BWM, state.source.mask_B1S), state


class CompiledFollower(CompiledTransformer):
    """A Follower whose decoder runs in C."""

    def step(  # type: ignore[override]
        self, ids_BW: Tensor, state: FollowerState
    ) -> tuple[Tensor, FollowerState]:
        assert isinstance(self._model, Follower)
        state = state.after(ids_BW, self._model.writes_word_V)
        embedded_BWD = F.embedding(ids_BW, self._embedded_VD) + state.next_words()
        logits_BWV, decoder = self._decoded(embedded_BWD, state.decoder)
        return logits_BWV, replace(state, decoder=decoder)


def compiled(model: SequenceModel) -> CompiledTransformer:
    """Return the model with its decoder in C; `reason_not_compiled` has returned None."""
    return CompiledFollower(model) if isinstance(model, Follower) else CompiledTransformer(model)


def _layer_weights(layer: DecoderLayer) -> DecoderLayerWeights:
    attention, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
    return DecoderLayerWeights(
        self_qkv=_weight(attention.w_q, attention.w_k, attention.w_v),
        self_out=_weight(attention.w_o),
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
    """Return the weights of linear layers, concatenated into one matrix d_in x d_out."""
    if all(isinstance(linear, Int8Linear) for linear in linears):
        codes_OI, scale_O = (torch.cat([getattr(one, name) for one in linears]) for name in ("codes_OI", "scale_O"))
        return Int8Weight(codes_OI, scale_O)
    return _transposed(torch.cat([linear.weight for linear in linears]))  # type: ignore[misc]


def _transposed(weight_OI: Tensor) -> Tensor:
    return weight_OI.detach().T.contiguous()  # for few rows, products with this layout are up to twice as fast
