"""Which settings of a model the C code of search implements."""

from dataclasses import fields
from typing import Any

# Every field of ModelConfig, with the values that C implements; ... means any. A field missing here is not implemented.
_CONFIG: dict[str, Any] = {
    "encoder_layers": ...,
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
    "attention_window": (0,),
    "cell": ...,  # of other kinds of models
    "kernel_width": ...,
    "dilated": ...,
}


def not_implemented(config: Any, kinds: tuple[str, ...]) -> str | None:
    """Return a setting of a ModelConfig that C does not implement; None: it implements all. It knows these kinds."""
    for field in fields(config):
        value, implemented = getattr(config, field.name), {**_CONFIG, "kind": kinds}.get(field.name, ())
        if implemented is not ... and value not in implemented:
            return f"model.{field.name} = {value!r}"
    return None
