"""The decoder a few positions at a time, as search asks for it: what `Transformer.decode` computes, for less.

Keys and values once made stay where they are. Each has a slot, and each hypothesis sees the slots of its own past:
where hypotheses part, are dropped or doubled, only what they see changes. Queries, keys and values of self-attention
come from one product.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.kernels.decoder import CompiledDecoder, DecoderLayerWeights, LayerPast, Weight
from heed.model.layers import DecoderLayer, Residual
from heed.model.transformer import Transformer

_ROOM = 64  # slots to begin with


class Product(Protocol):
    """x_RI to x · weightᵀ + bias."""

    @property
    def weight(self) -> Weight:
        """As the product wants it; the compiled decoder knows which it can do."""

    def __call__(self, x_RI: Tensor, /) -> Tensor: ...


class FloatProduct:
    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None = None) -> None:
        self.weight = weight_OI.T.contiguous()  # for few rows, that way round is up to twice as fast
        self._bias_O = bias_O

    def __call__(self, x_RI: Tensor, /) -> Tensor:
        return torch.mm(x_RI, self.weight) if self._bias_O is None else torch.addmm(self._bias_O, x_RI, self.weight)


@dataclass(frozen=True)
class Source:
    """What the decoder sees of the encoder, in one layer: keys and values, those of all heads side by side."""

    k_BSX: Tensor
    v_BSX: Tensor
    mask_B1S: Tensor | None  # to add to scores

    def select(self, sentences_B: Tensor) -> "Source":
        mask = None if self.mask_B1S is None else self.mask_B1S[sentences_B]
        return Source(self.k_BSX.index_select(0, sentences_B), self.v_BSX.index_select(0, sentences_B), mask)


@dataclass
class Past:
    """What has been decoded of B sentences: the keys and values of each layer, in slots that all layers share."""

    sources: list[Source]
    slots: list[tuple[Tensor, Tensor]]  # of all heads: k_BMX, v_BMX, with room for M
    n_slots: int = 0  # in use

    @staticmethod
    def of(sources: list[Source]) -> "Past":
        """Nothing yet, of these sentences."""
        return Past(
            sources, [(_with_room(one.k_BSX[:, :0], _ROOM), _with_room(one.v_BSX[:, :0], _ROOM)) for one in sources]
        )

    @property
    def n_sentences(self) -> int:
        return self.sources[0].k_BSX.size(0)

    def select(self, sentences_B: Tensor, slots_BM: Tensor) -> "Past":
        """Only these sentences, with these slots of each, which get new numbers."""
        all_stay = len(sentences_B) == self.n_sentences
        sources = self.sources if all_stay else [source.select(sentences_B) for source in self.sources]
        n_slots = slots_BM.size(1)
        room = max(_ROOM, 2 * n_slots)

        def moved(old_BMX: Tensor) -> Tensor:
            rows_R = (sentences_B.unsqueeze(1) * old_BMX.size(1) + slots_BM).flatten()
            new_BMX = old_BMX.new_empty(len(sentences_B), room, old_BMX.size(2))
            new_BMX[:, :n_slots] = old_BMX.flatten(0, 1).index_select(0, rows_R).view_as(new_BMX[:, :n_slots])
            return new_BMX

        return Past(sources, [(moved(keys), moved(values)) for keys, values in self.slots], n_slots)

    def make_room(self, n: int) -> None:
        """For n more slots."""
        end = self.n_slots + n
        if end > self.slots[0][0].size(1):
            self.slots = [
                (_with_room(keys[:, : self.n_slots], 2 * end), _with_room(values[:, : self.n_slots], 2 * end))
                for keys, values in self.slots
            ]

    def put(self, layer: int, k_BNX: Tensor, v_BNX: Tensor) -> tuple[Tensor, Tensor]:
        """Fill the next N slots of one layer; returns all its keys and values."""
        begin, end = self.n_slots, self.n_slots + k_BNX.size(1)
        keys, values = self.slots[layer]
        keys[:, begin:end], values[:, begin:end] = k_BNX, v_BNX
        return keys[:, :end], values[:, :end]


def _with_room(slots_BMX: Tensor, n: int) -> Tensor:
    n_sentences, used, size = slots_BMX.shape
    larger_BMX = slots_BMX.new_empty(n_sentences, n, size)
    larger_BMX[:, :used] = slots_BMX
    return larger_BMX


class IncrementalDecoder:
    """A model's decoder, without dropout. `product` makes the matrix products with its weights."""

    @torch.inference_mode()
    def __init__(self, model: Transformer, product: Callable[..., Product] = FloatProduct) -> None:
        self.model = model
        self._product = product
        weight_VD, layers = model.embedding.weight, cast("list[DecoderLayer]", model.decoder)
        self._embedded_VD = model.embedding(torch.arange(model.vocab_size, device=weight_VD.device))
        self._layers = [_Layer(layer, product) for layer in layers]
        self._logits = product(weight_VD)
        self._compiled = self._compile() if CompiledDecoder.can_do(self._logits.weight) else None

    def _compile(self) -> CompiledDecoder:
        norm = self.model.decoder_norm
        last_norm = norm if isinstance(norm, nn.LayerNorm) else None
        layers = [layer.weights() for layer in self._layers]
        return CompiledDecoder(layers, self._logits.weight, last_norm, self.model.config.h)

    def restricted(self, symbols_v: Tensor) -> "IncrementalDecoder":
        """The same decoder, were there no other symbols than these; its ids are their places among them."""
        other = copy.copy(self)
        weight_vD = self.model.embedding.weight.index_select(0, symbols_v)
        other._embedded_VD = self._embedded_VD.index_select(0, symbols_v)
        other._logits = self._product(weight_vD)
        other._compiled = self._compiled and self._compiled.with_logits(other._logits.weight)
        return other

    def start(self, src_BS: Tensor) -> Past:
        memory = self.model.encode(src_BS)
        may_attend_B11S = memory.may_attend_B11S
        mask_B1S = None if may_attend_B11S is None else to_add(may_attend_B11S[:, 0], self.model.embedding.weight)
        return Past.of(
            [
                Source(k_BHSK.transpose(1, 2).flatten(2), v_BHSC.transpose(1, 2).flatten(2), mask_B1S)
                for k_BHSK, v_BHSC in memory.keys_values
            ]
        )

    def extend(self, past: Past, ids_BN: Tensor, position: int | Tensor, sees_BNM: Tensor | None) -> Tensor:
        """logits_BNV of what follows N new nodes of each sentence; they get the next N slots.

        `position` is their number in the target sentence, of all alike or position_BN. `sees_BNM` is 0 where a node
        sees a slot, of its past or its own, and -inf elsewhere; None: it sees all.
        """
        n_positions = 1 + (position if isinstance(position, int) else int(position.max()))
        table_LD = self.model.target_positions.table(n_positions)
        x_BND = F.embedding(ids_BN, self._embedded_VD) + table_LD[position]
        past.make_room(ids_BN.size(1))
        if self._compiled is None:
            logits_BNV = self._by_layers(x_BND, past, sees_BNM)
        else:
            pasts = [
                LayerPast(*own, source.k_BSX, source.v_BSX)
                for own, source in zip(past.slots, past.sources, strict=True)
            ]
            logits_BNV = self._compiled(x_BND, pasts, past.n_slots, sees_BNM, past.sources[0].mask_B1S)
        past.n_slots += ids_BN.size(1)
        return logits_BNV

    def _by_layers(self, x_BND: Tensor, past: Past, sees_BNM: Tensor | None) -> Tensor:
        x_RD, sees_B1NM = x_BND.flatten(0, 1), None if sees_BNM is None else sees_BNM.unsqueeze(1)
        for number, layer in enumerate(self._layers):
            x_RD = layer(x_RD, past, number, sees_B1NM)
        return self._logits(self.model.decoder_norm(x_RD)).view(*x_BND.shape[:2], -1)


class _Layer:
    def __init__(self, layer: DecoderLayer, product: Callable[..., Product]) -> None:
        own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        self._layer, self._h = layer, own.h
        self._sizes = [w.out_features for w in (own.w_q, own.w_k, own.w_v)]
        self._own_qkv = product(torch.cat([w.weight for w in (own.w_q, own.w_k, own.w_v)]))
        self._own_out = product(own.w_o.weight)
        self._cross_q, self._cross_out = product(cross.w_q.weight), product(cross.w_o.weight)
        self._w_1 = product(feed_forward.w_1.weight, feed_forward.w_1.bias)
        self._w_2 = product(feed_forward.w_2.weight, feed_forward.w_2.bias)

    def weights(self) -> DecoderLayerWeights:
        layer = self._layer
        return DecoderLayerWeights(
            self._own_qkv.weight,
            self._own_out.weight,
            self._cross_q.weight,
            self._cross_out.weight,
            self._w_1.weight,
            self._w_2.weight,
            b_1=layer.feed_forward.w_1.bias,
            b_2=layer.feed_forward.w_2.bias,
            own_norm=layer.self_attention_residual.norm,
            cross_norm=layer.cross_attention_residual.norm,
            feed_forward_norm=layer.feed_forward_residual.norm,
        )

    def __call__(self, x_RD: Tensor, past: Past, number: int, sees_B1NM: Tensor | None) -> Tensor:
        around, n_sentences = self._layer.self_attention_residual, past.n_sentences
        qkv_BNX = self._own_qkv(_before(around, x_RD)).view(n_sentences, -1, sum(self._sizes))
        q_BNX, k_BNX, v_BNX = qkv_BNX.split_with_sizes(self._sizes, 2)
        context_RX = self._attend(q_BNX, *past.put(number, k_BNX, v_BNX), sees_B1NM)
        x_RD = _after(around, x_RD, self._own_out(context_RX))

        around, source = self._layer.cross_attention_residual, past.sources[number]
        q_BNX = self._cross_q(_before(around, x_RD)).view(n_sentences, -1, self._sizes[0])
        mask_B11S = None if source.mask_B1S is None else source.mask_B1S.unsqueeze(1)
        y_RD = self._cross_out(self._attend(q_BNX, source.k_BSX, source.v_BSX, mask_B11S))
        x_RD = _after(around, x_RD, y_RD)

        around = self._layer.feed_forward_residual
        return _after(around, x_RD, self._w_2(self._w_1(_before(around, x_RD)).relu_()))

    def _attend(self, q_BNX: Tensor, k_BMX: Tensor, v_BMX: Tensor, mask: Tensor | None) -> Tensor:
        q_BHNK, k_BHMK, v_BHMC = (
            x_BLX.view(*x_BLX.shape[:2], self._h, -1).transpose(1, 2) for x_BLX in (q_BNX, k_BMX, v_BMX)
        )
        context_BHNC = F.scaled_dot_product_attention(q_BHNK, k_BHMK, v_BHMC, attn_mask=mask)
        return context_BHNC.transpose(1, 2).flatten(2).flatten(0, 1)


def _before(around: Residual, x_RD: Tensor) -> Tensor:
    return x_RD if around.post else _normalized(around, x_RD)


def _after(around: Residual, x_RD: Tensor, y_RD: Tensor) -> Tensor:
    y_RD += x_RD
    return _normalized(around, y_RD) if around.post else y_RD


def _normalized(around: Residual, x_RD: Tensor) -> Tensor:
    norm = around.norm  # without the cost of calling a module
    return torch.layer_norm(x_RD, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def to_add(may_attend: Tensor, like: Tensor) -> Tensor:
    """A mask to add to scores, in numbers like these: 0 for True, -inf for False."""
    return torch.zeros(may_attend.shape, dtype=like.dtype, device=like.device).masked_fill_(~may_attend, -math.inf)
