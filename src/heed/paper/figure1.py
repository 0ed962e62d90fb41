"""Figure 1 of any model, drawn from its modules: each stack is a column, and each module of a layer is a box.

What is drawn comes from the module tree (`tree.py`): names, kinds and shapes. Residual connections are modules called
`X_residual` after a module X; attention over the encoder output is one called `cross_attention`.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from heed.paper.drawing import Drawing, box_height
from heed.paper.tree import Box, find

_WIDTH, _GAP, _MARGIN, _SPACE = 290, 90, 70, 16  # of a box; between columns; left and right; between boxes
_CHARACTERS = 46  # of a line in a box


@dataclass(frozen=True)
class _Item:
    """One box of a column, from the bottom to the top."""

    title: str
    details: tuple[str, ...]
    colour: str
    name: str = ""
    skips_from: int | None = None  # index of the item below which its residual connection begins

    @property
    def height(self) -> float:
        return box_height(self.details)


@dataclass(frozen=True)
class _Column:
    """A stack: what is below its layers, one layer (or each different one), and what is above them."""

    title: str
    below: tuple[_Item, ...]
    layers: tuple[tuple[str, tuple[_Item, ...]], ...]  # how many of which kind, and what they are made of
    above: tuple[_Item, ...]

    @property
    def height(self) -> float:
        items = [item for _, layer in self.layers for item in layer]
        boxes = sum(item.height + _SPACE for item in (*self.below, *items, *self.above))
        return boxes + len(self.layers) * 4.25 * _SPACE


def draw(root: Box, output: str) -> str:
    """Return figure 1 of a model as SVG; `output` names the parameter that turns hidden vectors into logits."""
    stacks = [part for part in root.parts if part.is_stack]
    others = [part for part in root.parts if not part.is_stack and part.kind not in ("Identity", "Dropout")]
    columns = [_column(stack, i, len(stacks), others, output, root) for i, stack in enumerate(stacks)]
    placed = {item.name for column in columns for item in (*column.below, *column.above)}
    shared = [_item(part) for part in others if part.name not in placed]
    n = max(1, len(columns))
    width = 2 * _MARGIN + n * _WIDTH + (n - 1) * _GAP
    ground = sum(item.height + _SPACE for item in shared) + 2 * _SPACE
    height = max((column.height for column in columns), default=0) + ground + 56
    drawing = Drawing(width, height)
    drawing.text(width / 2, 24, f"{root.kind}: {root.n_parameters:,} parameters", bold=True, size=15)
    y = height - _SPACE
    for item in shared:  # across all columns
        y -= item.height
        drawing.box(_MARGIN, y, width - 2 * _MARGIN, item.title, item.details, item.colour)
        y -= _SPACE
    places: dict[str, tuple[float, float]] = {}  # the middle of each named box of the last column
    tops = []
    for i, column in enumerate(columns):
        x = _MARGIN + i * (_WIDTH + _GAP)
        tops.append(_draw_column(drawing, column, x, y, bool(shared), places))
    if len(columns) == 2 and "cross_attention" in places:
        _connect(drawing, tops[0], places["cross_attention"])
    return drawing.svg(f"The modules of the model: {root.kind}")


def _draw_column(
    drawing: Drawing, column: _Column, x: float, y: float, grounded: bool, places: dict[str, tuple[float, float]]
) -> tuple[float, float]:
    """Draw a column upwards from y; return a point above its last box."""
    middle = x + _WIDTH / 2
    if grounded:
        drawing.arrow((middle, y + _SPACE), (middle, y))
    for item in column.below:
        y = _draw_item(drawing, item, x, y, places)
    for number, (title, layer) in enumerate(column.layers):
        came_from = y + _SPACE
        y -= 2 * _SPACE
        inner = sum(item.height + _SPACE for item in layer) - _SPACE
        drawing.frame(x - 26, y - inner - 2 * _SPACE, _WIDTH + 52, inner + 3 * _SPACE)
        drawing.text(x - 14, y - inner - _SPACE / 2 - 2, title, bold=True, size=14, anchor="start")
        if number or grounded or column.below:
            drawing.arrow((middle, came_from), (middle, y))
        bottoms = []
        for i, item in enumerate(layer):
            bottoms.append(y)
            if item.skips_from is not None:
                start, end = bottoms[item.skips_from] + _SPACE / 2, y - item.height / 2
                side = x - 13
                drawing.arrow((middle, start), (side, start), (side, end), (x, end))
            y = _draw_item(drawing, item, x, y, places)
            if i < len(layer) - 1:
                drawing.arrow((middle, y + _SPACE), (middle, y))
        drawing.arrow((middle, y + _SPACE), (middle, y - 2.25 * _SPACE))
        y -= 2.25 * _SPACE
    for item in column.above:
        y = _draw_item(drawing, item, x, y, places)
        drawing.arrow((middle, y + _SPACE), (middle, y))
    drawing.text(middle, y - 8, column.title, bold=True, size=14)
    return middle, y + _SPACE / 2


def _draw_item(drawing: Drawing, item: _Item, x: float, y: float, places: dict[str, tuple[float, float]]) -> float:
    """Draw a box whose lower edge is at y; return where the next one's lower edge is."""
    drawing.box(x, y - item.height, _WIDTH, item.title, item.details, item.colour)
    places[item.name] = (x, y - item.height / 2)
    return y - item.height - _SPACE


def _connect(drawing: Drawing, top: tuple[float, float], cross: tuple[float, float]) -> None:
    """Draw the way of the encoder output from the top of its stack to the attention over it."""
    x, y = top
    lane = cross[0] - _GAP / 2 - 4
    drawing.arrow((x, y), (lane, y), (lane, cross[1]), cross)


def _column(stack: Box, index: int, n: int, others: Sequence[Box], output: str, root: Box) -> _Column:
    """Return the column of a stack, with the modules beside it that its name or its side says are its own."""
    side = "source" if index == 0 and n > 1 else "target"
    own = [part for part in others if n > 1 and part.name.startswith((f"{side}_", f"{stack.name}_"))]
    below = tuple(_item(part) for part in own if part.name.startswith(f"{side}_"))
    above = [_item(part) for part in own if part.name.startswith(f"{stack.name}_")]
    if index == n - 1 and output:
        matrix = find(root, output.rpartition(".")[0]) or root
        above += [
            _Item("logits", (f"hidden · {output}ᵀ ({matrix.detail})",), "linear"),
            _Item("softmax", (), "softmax"),
        ]
    layers = tuple((f"{layer.times} × {layer.kind}", tuple(_layer(layer))) for layer in stack.parts)
    return _Column(stack.name, below, layers, tuple(above))


def _layer(layer: Box) -> list[_Item]:
    """Return the boxes of a layer, from the bottom to the top; a residual connection begins below its sub-layer."""
    if not layer.parts:
        return [_item(layer)]
    items: list[_Item] = []
    parts = {part.name: part for part in layer.parts}
    for part in layer.parts:
        if part.name.endswith("_residual") and part.name.removesuffix("_residual") in parts:
            continue
        residual = parts.get(f"{part.name}_residual")
        if residual is None:
            items.append(_item(part))
            continue
        start = len(items)
        norm = find(residual, "norm")
        size = "" if norm is None else f"{norm.kind} {norm.detail}"
        if residual.norm_first:
            items += [_Item("norm", (size,), "norm"), _item(part), _Item("add", (residual.name,), "norm", "", start)]
        else:
            items += [_item(part), _Item("add and norm", (f"{residual.name}: {size}",), "norm", "", start)]
    return items


def _item(box: Box) -> _Item:
    """Return a module as a box: its name, kind and shapes."""
    kinds = {"Attention": "attention", "FeedForward": "feed", "Norm": "norm", "Embedding": "embedding"}
    colour = next((colour for word, colour in kinds.items() if word in box.kind), "other")
    if "Positions" in box.kind:
        colour = "embedding"
    by_shape: dict[str, list[str]] = {}
    for part in _leaves(box):
        if part.detail:
            by_shape.setdefault(part.detail, []).append(part.name)
    shapes = [f"{' '.join(names)}: {shape}" for shape, names in by_shape.items()]
    written = [line for text in (box.detail, *shapes) for line in textwrap.wrap(text, _CHARACTERS)]
    return _Item(f"{box.name} ({box.kind})", tuple(written or ["no parameters"]), colour, box.name)


def _leaves(box: Box) -> list[Box]:
    return [leaf for part in box.parts for leaf in ([part] if not part.parts else _leaves(part))]
