"""The modules of a model as a tree of names, kinds and shapes; equal layers of a stack are shown once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

_ARROW, _TIMES = "→", "×"


@dataclass(frozen=True)
class Box:
    """One module: its name in the model, its class, its own parameters, and what it is made of."""

    name: str
    kind: str
    detail: str = ""  # shapes of its own parameters
    n_parameters: int = 0  # of it and all its parts, each counted `times` times
    times: int = 1  # how many equal ones there are in a row
    is_stack: bool = False  # a list of layers, of which `parts` has the different ones
    norm_first: bool | None = None  # of a residual connection: where its norm is
    parts: tuple["Box", ...] = ()


def tree(model: Any) -> Box:
    """Return the tree of any PyTorch module."""
    return _box("", model)


def _box(name: str, module: Any) -> Box:
    kind = type(module).__name__
    parts = [_box(child, part) for child, part in module.named_children()]
    shapes = {key: tuple(weight.shape) for key, weight in module.named_parameters(recurse=False)}
    post = getattr(module, "post", None)
    return Box(
        name,
        kind,
        _detail(kind, shapes),
        sum(weight.numel() for weight in module.parameters()),
        is_stack=kind == "ModuleList",
        norm_first=None if post is None else not post,
        parts=tuple(_collapsed(parts) if kind == "ModuleList" else parts),
    )


def _detail(kind: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """Write the shapes of a module's own parameters; of a linear layer, what goes in and what comes out."""
    if kind == "Linear":
        n_out, n_in = shapes["weight"]
        return f"{n_in:,} {_ARROW} {n_out:,}" + (" + bias" if "bias" in shapes else "")
    if kind == "LayerNorm":
        return f"{shapes['weight'][0]:,}"
    written = {key: f" {_TIMES} ".join(f"{n:,}" for n in shape) for key, shape in shapes.items()}
    if len(written) == 1:
        return next(iter(written.values()))
    return ", ".join(f"{key} {shape}" for key, shape in written.items())


def _collapsed(layers: list[Box]) -> Iterator[Box]:
    """Yield each run of equal layers once, named for its range and counted."""
    i = 0
    while i < len(layers):
        same = i
        while same + 1 < len(layers) and replace(layers[same + 1], name=layers[i].name) == layers[i]:
            same += 1
        times = same - i + 1
        first, last = layers[i].name, layers[same].name
        total = layers[i].n_parameters * times
        yield replace(layers[i], name=first if times == 1 else f"{first}-{last}", times=times, n_parameters=total)
        i = same + 1


def lines(root: Box, width: int = 80) -> list[str]:
    """Return the tree for the terminal: names, kinds and shapes, with the number of parameters at the right."""
    return list(_lines(root, "", "", width))


def _lines(box: Box, before: str, below: str, width: int) -> Iterator[str]:
    times = f"{box.times} {_TIMES} " if box.times > 1 else ""
    words = [box.name, f"{times}{box.kind}" if box.kind != "ModuleList" else "", box.detail]
    left, right = before + "  ".join(filter(None, words)), f"{box.n_parameters:,}" if box.n_parameters else ""
    room = width - len(right) - 2
    if len(left) > room:
        left = f"{left[: room - 1]}…"
    yield f"{left:<{room}}  {right}".rstrip()
    for i, part in enumerate(box.parts):
        is_last = i == len(box.parts) - 1
        yield from _lines(part, below + ("└─ " if is_last else "├─ "), below + ("   " if is_last else "│  "), width)


def find(box: Box, name: str) -> Box | None:
    """Return the first module with this name, depth first; None if there is none."""
    for part in box.parts:
        if part.name == name:
            return part
        if (found := find(part, name)) is not None:
            return found
    return None
