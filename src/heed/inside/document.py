"""An inspection as one document for the page: JSON that names arrays, and the arrays' bytes.

A page of a small model holds every number of the walk. For a large one that would be hundreds of megabytes, so layers
and columns of weight matrices are left out until it fits, and the document says which are there.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.inside.inspection import Inspection, Look
from heed.model.embedding import SharedEmbedding
from heed.model.transformer import Transformer

LIMIT_BYTES = 5_000_000  # of a whole page, unless attention alone is larger
_BASE64 = 4 / 3
_OTHER_BYTES = 450_000  # for the page's own code and the JSON
_LAYERS_SHARE = 0.5  # of the room that is left, for layers' numbers; weights get the rest
_WORDS_TRACED = 5  # of each step: those whose logit can be added up
_SUBLAYERS = {"encoder": ("self",), "decoder": ("self", "cross")}


@dataclass(frozen=True)
class Document:
    """What the page shows."""

    summary: dict[str, Any]  # with "arrays": name -> dtype, shape and where its bytes begin
    data: bytes

    def compressed(self) -> bytes:
        """Return the arrays' bytes as zlib packs them, which a browser can unpack by itself."""
        return zlib.compress(self.data, 6)

    def json(self) -> str:
        return json.dumps(self.summary, ensure_ascii=False, separators=(",", ":"))


class _Packing:
    """Arrays end to end, each at a multiple of four bytes."""

    def __init__(self) -> None:
        self.index: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, name: str, array: NDArray[Any], dtype: str) -> None:
        packed = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
        content = packed.tobytes()
        self.index[name] = {"dtype": dtype, "shape": list(packed.shape), "at": self._size}
        padding = b"\0" * (-len(content) % 4)
        self._parts += [content, padding]
        self._size += len(content) + len(padding)

    def add_bytes(self, name: str, shares: NDArray[np.floating[Any]]) -> None:
        """Add numbers from 0 to 1 as whole 255ths."""
        self.add(name, np.round(255 * shares), "uint8")
        self.index[name]["scale"] = 1 / 255

    def data(self) -> bytes:
        return b"".join(self._parts)


def document(inspection: Look, limit: int = LIMIT_BYTES, walk: bool = True) -> Document:
    """Pack an inspection into at most `limit` bytes of page; what is always there may need more.

    Without `walk`, the numbers of the layers and their weights are left out.
    """
    packing = _Packing()
    attention_bytes = sum(one.nbytes for one in inspection.attention.values())
    precision = "float32" if attention_bytes * _BASE64 < limit / 2 else "float16"
    are_bytes = attention_bytes / 2 * _BASE64 > limit  # a very long text
    for kind, weights in inspection.attention.items():
        if are_bytes:
            packing.add_bytes(f"attention.{kind}", weights)
        else:
            packing.add(f"attention.{kind}", weights, precision)
        if isinstance(inspection, Inspection) and kind in inspection.heads_off.change:
            packing.add(f"heads_off.change.{kind}", inspection.heads_off.change[kind], "float32")
            packing.add(f"heads_off.first_choice.{kind}", inspection.heads_off.first_choice[kind], "int32")
        if inspection.roles is not None:
            packing.add(f"roles.share.{kind}", inspection.roles.share[kind], "float32")
            packing.add(f"roles.chance.{kind}", inspection.roles.chance[kind], "float32")
    if isinstance(inspection, Inspection):
        packing.add("occlusion.change", inspection.occlusion.change, "float32")
        packing.add("occlusion.first_choice", inspection.occlusion.first_choice, "int32")
    if inspection.lens is not None:
        packing.add("lens.rank", inspection.lens.rank, "int32")
        packing.add("lens.probability", inspection.lens.probability, "float32")
        packing.add("lens.first_choice", inspection.lens.first_choice, "int32")
    layers: dict[str, list[int]] = {}
    columns: dict[str, int] = {}
    if walk and isinstance(inspection.model, Transformer):
        _add_ends(packing, inspection, inspection.model)
        left = (limit - _OTHER_BYTES) / _BASE64 - len(zlib.compress(packing.data(), 1))
        layers, used = _add_layers(packing, inspection, left * _LAYERS_SHARE)
        columns = _add_weights(packing, inspection, layers, left - used)
    summary = inspection.summary()
    summary["arrays"] = packing.index
    summary["walk"] = {
        "layers": layers,
        "columns": columns,
        "precision": "float16",
        "attention": "whole 255ths" if are_bytes else precision,
    }
    return Document(summary, packing.data())


def _add_ends(packing: _Packing, inspection: Look, model: Transformer) -> None:
    """Add what enters the two stacks, what leaves them, and which positions may attend to which."""
    walk = inspection.walk
    outputs = {*inspection.target.ids, *inspection.top_ids[:, :_WORDS_TRACED].ravel().tolist()}
    if model.vocabulary.is_shared:
        outputs.update(inspection.source.ids)
    else:
        _add_embedding(packing, "source_embedding", model.source_embedding, inspection.source.ids)
    _add_embedding(packing, "embedding", model.embedding, outputs)
    if "decoder.next_word" in walk:
        packing.add("walk.decoder.next_word", walk["decoder.next_word"], "float16")
    for name in walk:
        if name.endswith(".may_attend"):
            packing.add(f"walk.{name}", walk[name], "uint8")
    for stack in ("encoder", "decoder"):
        packing.add(f"walk.{stack}.positions", walk[f"{stack}.positions"], "float16")
        packing.add(f"walk.{stack}.out", walk[f"{stack}.out"], "float16")


def _add_embedding(packing: _Packing, name: str, embedding: SharedEmbedding, used: Iterable[int]) -> None:
    """Add the rows of an embedding matrix that are used, and their ids."""
    ids = sorted(set(used))
    packing.add(f"{name}.ids", np.array(ids), "int32")
    packing.add(f"{name}.rows", _numpy(embedding.weight)[ids], "float16")


def _stored(inspection: Look, stack: str, layer: int) -> dict[str, NDArray[Any]]:
    """Return the numbers of a layer that the page cannot work out from others."""
    at = f"{stack}.{layer}"
    names = [f"{at}.x", f"{at}.ff.inner", f"{at}.ff.out"]
    for sublayer in _SUBLAYERS[stack]:
        names += [f"{at}.{sublayer}.{what}" for what in ("q", "k", "v", "out")]
    found = {f"walk.{name}": inspection.walk[name] for name in names}
    module: Any = getattr(inspection.model, stack)[layer]
    for short, part in (("self", "self_attention"), ("cross", "cross_attention"), ("ff", "feed_forward")):
        if hasattr(module, part):
            norm = getattr(module, f"{part}_residual").norm
            found[f"weights.{at}.{short}.norm"] = np.stack([_numpy(norm.weight), _numpy(norm.bias)])
    return found


def _add_layers(packing: _Packing, inspection: Look, room: float) -> tuple[dict[str, list[int]], float]:
    """Add the layers that fit, from both ends of each stack inwards; return which, and the bytes they take."""
    used = 0.0
    n_encoder, n_decoder = len(inspection.attention["encoder"]), len(inspection.attention["decoder"])
    # In turns; the encoder begins with its first layer, the decoder with its last, which leads to the output.
    order = [(place, "encoder", layer) for place, layer in enumerate(_from_the_ends(n_encoder))]
    order += [(place, "decoder", n_decoder - 1 - layer) for place, layer in enumerate(_from_the_ends(n_decoder))]
    chosen: dict[str, list[int]] = {"encoder": [], "decoder": []}
    for _, stack, layer in sorted(order, key=lambda one: one[0]):
        arrays = {name: array.astype(np.float16) for name, array in _stored(inspection, stack, layer).items()}
        size = len(zlib.compress(b"".join(array.tobytes() for array in arrays.values()), 1))
        if used + size > room and chosen[stack]:  # one of each stack in any case
            continue
        for name, array in arrays.items():
            packing.add(name, array, "float16")
        chosen[stack].append(layer)
        used += size
    if inspection.model.config.norm == "pre":
        for stack in ("encoder", "decoder"):
            norm: Any = getattr(inspection.model, f"{stack}_norm")
            packing.add(f"weights.{stack}.norm", np.stack([_numpy(norm.weight), _numpy(norm.bias)]), "float16")
    return {stack: sorted(layers) for stack, layers in chosen.items()}, used


def _from_the_ends(n: int) -> list[int]:
    """0, n-1, 1, n-2 and so on."""
    return [i // 2 if i % 2 == 0 else n - 1 - i // 2 for i in range(n)]


def _add_weights(packing: _Packing, inspection: Look, layers: dict[str, list[int]], left: float) -> dict[str, int]:
    """Add as many columns of every weight matrix as fit, the same share of each, and return how many.

    Column j of W is what makes number j of x W. "head": of W_Q and W_K within each head, "value": of W_V there,
    "model": of W_O and W_2, "inner": of W_1.
    """
    config = inspection.model.config
    sizes = {"head": config.key_size, "value": config.value_size, "model": config.d_model, "inner": config.d_ff}
    floats = 0
    for stack, numbers in layers.items():
        attentions = len(_SUBLAYERS[stack])
        per_layer = attentions * config.h * (2 * config.key_size + config.value_size) * config.d_model
        per_layer += attentions * config.d_model * config.h * config.value_size
        per_layer += 2 * config.d_model * config.d_ff
        floats += len(numbers) * per_layer
    share = min(1.0, max(left, 0) * 0.97 / (2 * floats))
    columns = {name: int(size * share) for name, size in sizes.items()}
    for stack, numbers in layers.items():
        for layer in numbers:
            module: Any = getattr(inspection.model, stack)[layer]
            at = f"weights.{stack}.{layer}"
            for sublayer in _SUBLAYERS[stack]:
                part = getattr(module, f"{sublayer}_attention")
                for name, n in (("q", columns["head"]), ("k", columns["head"]), ("v", columns["value"])):
                    rows = _numpy(getattr(part, f"w_{name}").weight)  # a linear layer stores columns as rows
                    by_head = rows.reshape(config.h, -1, config.d_model)[:, :n]
                    packing.add(f"{at}.{sublayer}.w_{name}", by_head, "float16")
                packing.add(f"{at}.{sublayer}.w_o", _numpy(part.w_o.weight)[: columns["model"]], "float16")
            ff = module.feed_forward
            packing.add(f"{at}.ff.w_1", _numpy(ff.w_1.weight)[: columns["inner"]], "float16")
            packing.add(f"{at}.ff.b_1", _numpy(ff.w_1.bias)[: columns["inner"]], "float16")
            packing.add(f"{at}.ff.w_2", _numpy(ff.w_2.weight)[: columns["model"]], "float16")
            packing.add(f"{at}.ff.b_2", _numpy(ff.w_2.bias)[: columns["model"]], "float16")
    return columns


def _numpy(tensor: Any) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
    return array
