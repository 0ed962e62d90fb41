"""The decoder a few positions at a time, as search asks for it: what `Transformer.decode` computes, for less.

Keys and values once made are never moved. Each has a slot, and each hypothesis sees the slots of its own past: where
hypotheses part, are dropped or doubled, only what they see changes. Queries, keys and values of self-attention come
from one product.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.model.layers import DecoderLayer, Residual
from heed.model.memory import Memory
from heed.model.transformer import Transformer

Product = Callable[[Tensor], Tensor]  # x to x · weightᵀ + bias
_ROOM = 64  # slots to begin with


def float_product(weight: Tensor, bias: Tensor | None = None) -> Product:
    return lambda x: F.linear(x, weight, bias)


@dataclass
class Past:
    """What has been decoded of B sentences: the keys and values of each layer, in slots that all layers share."""

    memory: Memory
    slots: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # k_BHMK, v_BHMC, with room for M
    n_slots: int = 0  # in use

    @property
    def n_sentences(self) -> int:
        return self.memory.keys_values[0][0].size(0)

    def select(self, sentences_B: Tensor) -> "Past":
        """Only these sentences."""

        def selected(pairs: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
            return [(keys.index_select(0, sentences_B), values.index_select(0, sentences_B)) for keys, values in pairs]

        mask = self.memory.may_attend_B11S
        memory = Memory(selected(self.memory.keys_values), None if mask is None else mask[sentences_B])
        return Past(memory, selected(self.slots), self.n_slots)

    def put(self, layer: int, k_BHNK: Tensor, v_BHNC: Tensor) -> tuple[Tensor, Tensor]:
        """Fill the next N slots of one layer; returns all its keys and values."""
        if layer == len(self.slots):
            self.slots.append((_with_room(k_BHNK[:, :, :0], _ROOM), _with_room(v_BHNC[:, :, :0], _ROOM)))
        begin, end = self.n_slots, self.n_slots + k_BHNK.size(2)
        keys, values = self.slots[layer]
        if end > keys.size(2):
            keys, values = _with_room(keys[:, :, :begin], 2 * end), _with_room(values[:, :, :begin], 2 * end)
            self.slots[layer] = keys, values
        keys[:, :, begin:end], values[:, :, begin:end] = k_BHNK, v_BHNC
        return keys[:, :, :end], values[:, :, :end]


def _with_room(slots_BHMX: Tensor, n: int) -> Tensor:
    n_sentences, h, used, size = slots_BHMX.shape
    larger_BHMX = slots_BHMX.new_empty(n_sentences, h, n, size)
    larger_BHMX[:, :, :used] = slots_BHMX
    return larger_BHMX


class IncrementalDecoder:
    """A model's decoder, without dropout. `product` makes the matrix products with its weights."""

    def __init__(self, model: Transformer, product: Callable[..., Product] = float_product) -> None:
        self.model = model
        self._layers = [_Layer(layer, product) for layer in cast("list[DecoderLayer]", model.decoder)]
        self._logits = product(model.embedding.weight)

    def start(self, src_BS: Tensor) -> Past:
        memory = self.model.encode(src_BS)
        if memory.may_attend_B11S is not None:
            memory.may_attend_B11S = to_add(memory.may_attend_B11S).to(memory.keys_values[0][0].dtype)
        return Past(memory)

    def extend(self, past: Past, ids_BN: Tensor, position: int | Tensor, sees_BNM: Tensor | None) -> Tensor:
        """logits_BNV of what follows N new nodes of each sentence; they get the next N slots.

        `position` is their number in the target sentence, of all alike or position_BN. `sees_BNM` is 0 where a node
        sees a slot, of its past or its own, and -inf elsewhere; None: it sees all.
        """
        n_positions = 1 + (position if isinstance(position, int) else int(position.max()))
        table_LD = self.model.target_positions.table(n_positions)
        x_RD = (self.model.embedding(ids_BN) + table_LD[position]).flatten(0, 1)
        sees_B1NM = None if sees_BNM is None else sees_BNM.unsqueeze(1)
        for number, layer in enumerate(self._layers):
            x_RD = layer(x_RD, past, number, sees_B1NM)
        past.n_slots += ids_BN.size(1)
        return self._logits(self.model.decoder_norm(x_RD)).view(*ids_BN.shape, -1)


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

    def __call__(self, x_RD: Tensor, past: Past, number: int, sees_B1NM: Tensor | None) -> Tensor:
        around, n_sentences = self._layer.self_attention_residual, past.n_sentences
        q, k, v = self._own_qkv(_before(around, x_RD)).split_with_sizes(self._sizes, 1)
        q, k, v = (x.view(n_sentences, -1, self._h, x.size(1) // self._h).transpose(1, 2) for x in (q, k, v))
        x_RD = _after(around, x_RD, self._own_out(_attend(q, *past.put(number, k, v), sees_B1NM)))

        around, memory = self._layer.cross_attention_residual, past.memory
        q = self._cross_q(_before(around, x_RD))
        q = q.view(n_sentences, -1, self._h, q.size(1) // self._h).transpose(1, 2)
        y_RD = self._cross_out(_attend(q, *memory.keys_values[number], memory.may_attend_B11S))
        x_RD = _after(around, x_RD, y_RD)

        around = self._layer.feed_forward_residual
        return _after(around, x_RD, self._w_2(self._w_1(_before(around, x_RD)).relu_()))


def _attend(q_BHNK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, mask: Tensor | None) -> Tensor:
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


def to_add(may_attend: Tensor) -> Tensor:
    """A mask to add to scores: 0 for True, -inf for False."""
    return torch.zeros(may_attend.shape, device=may_attend.device).masked_fill_(~may_attend, -math.inf)
