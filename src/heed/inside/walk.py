"""One real forward pass, recorded: what every part of the model was given, and what it made of it."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.data.batch import batch_of_ids
from heed.inside.observe import KINDS, NOTHING_OFF, Kind, Observed, Switches
from heed.model.follower import Follower
from heed.model.transformer import Transformer

Arrays = dict[str, NDArray[np.float32]]

# The name of each attention's sub-layer in a layer: encoder.0.self, decoder.3.cross.
SUBLAYER: dict[Kind, tuple[str, str]] = {
    "encoder": ("encoder", "self"),
    "decoder": ("decoder", "self"),
    "cross": ("decoder", "cross"),
}


def private_copy(model: Transformer) -> Transformer:
    """Return the same modules once more, over the same weights.

    Hooks on it are seen by no other thread that uses the model.
    """
    shared = {id(one): one for one in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, memo=shared)


@torch.inference_mode()
def record(
    model: Transformer, source: Sequence[int], target: Sequence[int], switches: Switches = NOTHING_OFF
) -> Arrays:
    """Run the model on a sentence and a translation, given without end tokens, and return all it computed.

    S and T count the end token. Of the encoder's layer 0, and so on for every layer of both stacks:

        encoder.embedding  encoder.positions  encoder.x  encoder.out        (S, d_model)
        encoder.0.x                                                         (S, d_model)   the layer's input
        encoder.0.self.q .k .v                                              (h, S, d_k or d_v)
        encoder.0.self.weights                                              (h, S, S)
        encoder.0.self.context                                              (h, S, d_v)
        encoder.0.self.out  encoder.0.self.y                                (S, d_model)   W_O's, and after add & norm
        encoder.0.ff.inner                                                  (S, d_ff)      after the ReLU
        encoder.0.ff.out  encoder.0.ff.y                                    (S, d_model)
        decoder.0.cross.q .k .v .weights .context .out .y                   as above; keys and values from the encoder
        decoder.self.may_attend                                             (T, T)         1 or 0; absent: all may
        decoder.next_word                                                   (T, d_model)   of a decoder that follows
        logits                                                              (T, vocabulary)
    """
    model = private_copy(model).eval()
    found: dict[str, Tensor] = {}
    stack = "encoder"

    def keep(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def hook(module: nn.Module, given: Any, made: Tensor) -> None:
            found[name] = made

        return hook

    def keep_of_stack(name: str) -> Callable[[nn.Module, Any, Tensor], None]:
        def hook(module: nn.Module, given: Any, made: Tensor) -> None:
            found[f"{stack}.{name}"] = made

        return hook

    for embedding in {model.embedding, model.source_embedding}:
        embedding.register_forward_hook(keep_of_stack("embedding"))
    model.source_positions.register_forward_hook(keep("encoder.positions"))
    model.target_positions.register_forward_hook(keep("decoder.positions"))
    model.dropout.register_forward_hook(keep_of_stack("x"))  # not in training: it passes its input on
    model.encoder_norm.register_forward_hook(keep("encoder.out"))
    model.decoder_norm.register_forward_hook(keep("decoder.out"))
    for name, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, layer in enumerate(layers):
            _watch_layer(f"{name}.{number}", layer, keep)
            layer.register_forward_pre_hook(_keep_first(found, f"{name}.{number}.x"))

    def around(kind: Kind, layer: int, q_BHLK: Tensor, k_BHMK: Tensor, v_BHMC: Tensor, mask: Tensor | None) -> Tensor:
        context_BHLC, weights_BHLM = switches.attention(kind, layer, q_BHLK, k_BHMK, v_BHMC, mask)
        in_stack, sublayer = SUBLAYER[kind]
        for what, tensor in zip(
            ("q", "k", "v", "weights", "context"), (q_BHLK, k_BHMK, v_BHMC, weights_BHLM, context_BHLC), strict=True
        ):
            found[f"{in_stack}.{layer}.{sublayer}.{what}"] = tensor
        may_attend = switches.mask(kind, mask)
        if may_attend is not None and not may_attend.all():
            found[f"{in_stack}.{sublayer}.may_attend"] = may_attend.expand(1, 1, *weights_BHLM.shape[2:])[:, 0]
        return context_BHLC

    batch = batch_of_ids([source], [target], model.vocabulary).to(model.device)
    encoded = model.encode(Observed(batch.src_BS, batch.pad, around))
    stack = "decoder"
    hidden_BTD = model.decode(Observed(batch.tgt_in_BT, batch.pad, around), encoded)
    if isinstance(model, Follower):
        found["decoder.next_word"] = found["decoder.x"] - found["decoder.embedding"] - found["decoder.positions"]
    found["logits"] = model.embedding.logits(hidden_BTD)
    return {name: _array(tensor) for name, tensor in found.items()}


def _watch_layer(name: str, layer: nn.Module, keep: Callable[[str], Callable[[nn.Module, Any, Tensor], None]]) -> None:
    parts = {"self": "self_attention", "cross": "cross_attention", "ff": "feed_forward"}
    for short, part in parts.items():
        if not hasattr(layer, part):  # an encoder layer has no cross-attention
            continue
        getattr(layer, f"{part}_residual").register_forward_hook(keep(f"{name}.{short}.y"))
        getattr(layer, part).register_forward_hook(keep(f"{name}.{short}.out"))
    feed_forward: Any = layer.feed_forward
    feed_forward.w_2.register_forward_hook(
        lambda module, given, made: keep(f"{name}.ff.inner")(module, given, given[0])
    )


def _keep_first(found: dict[str, Tensor], name: str) -> Callable[[nn.Module, tuple[Any, ...]], None]:
    def hook(module: nn.Module, given: tuple[Any, ...]) -> None:
        found[name] = given[0]

    return hook


def attention_of(arrays: Arrays, n_layers: dict[Kind, int]) -> dict[Kind, NDArray[np.float32]]:
    """Return every head's weights of the three attentions, by kind: layers × heads × rows × columns."""
    return {
        kind: np.stack([arrays[f"{stack}.{layer}.{sublayer}.weights"] for layer in range(n_layers[kind])])
        for kind in KINDS
        for stack, sublayer in (SUBLAYER[kind],)
    }


def _array(tensor: Tensor) -> NDArray[np.float32]:
    """Return a tensor of a batch of one without its batch; positions have none."""
    array: NDArray[np.float32] = tensor.float().cpu().numpy()
    return array[0] if array.shape[0] == 1 and array.ndim > 2 else array
