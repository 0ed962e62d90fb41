"""Views as figures, in the paper's style: SVG that needs no script and no font but the reader's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.decode.penalty import length_penalty
from heed.errors import ConfigError
from heed.inside.inspection import Inspection, has_heads
from heed.inside.observe import KINDS, Kind
from heed.inside.words import by_words

Floats = NDArray[np.floating]

# Okabe and Ito's colours, which people who see few colours can tell apart.
HEADS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d1f", "#7a5195")
_KIND_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "encoder-decoder"}
_STYLE = (
    "text{font:13px 'Times New Roman',Tinos,serif;fill:#000}"
    ".small{font-size:11px}.soft{fill:#555}.bold{font-weight:bold}.on-dark{fill:#fff}"
)
_COLUMN, _WORD_LENGTH, _GAP, _LEAST_WEIGHT = 24, 96, 190, 0.02
_CELL_HEIGHT = 22
_OF_ANY_MODEL = ("beam", "occlusion")
_OF_ATTENTION = ("attention", "heatmap", "grid")  # of a decoder to its source


@dataclass(frozen=True)
class Choice:
    """What a figure shows; layers, heads and words count from 1. None: the view's own choice."""

    kind: Kind | None = None
    layer: int | None = None
    heads: Sequence[int] | None = None
    word: str | None = None
    whole_words: bool = True


def draw(inspection: Inspection, view: str, choice: Choice) -> str:
    """Return one view as SVG.

    Raises:
        ConfigError: a layer, head or word that is not there, or a view that the model does not have.
    """
    kind = inspection.model.config.kind
    views = (*_OF_ATTENTION, *_OF_ANY_MODEL) if inspection.attention else _OF_ANY_MODEL
    if not has_heads(inspection.model) and view not in views:
        raise ConfigError(
            f'--svg {view}: a model of model.kind = "{kind}" has no attention heads; '
            f"its views are {', '.join(views[:-1])} and {views[-1]}"
        )
    if choice.kind and view in _OF_ATTENTION and choice.kind not in inspection.attention:
        raise ConfigError(f'--kind {choice.kind}: a model of model.kind = "{kind}" attends to its source only: cross')
    return _VIEWS[view](inspection, choice)


# --- the paper's figures: words above and below, lines between ------------------------------------------------


def _attention(inspection: Inspection, choice: Choice) -> str:
    kind = choice.kind or "cross"
    layer = _layer(inspection, kind, choice.layer)
    heads = _heads(inspection, choice.heads)
    return _figure([_bipartite(inspection, kind, layer, heads, choice.word, choice.whole_words)])


def _figure3(inspection: Inspection, choice: Choice) -> str:
    """Figure 3: what one word attends to, in all heads of one encoder layer."""
    kind = choice.kind or "encoder"
    layer = _layer(inspection, kind, choice.layer, like_the_paper=True)
    word = choice.word or _longest_word(inspection)
    return _figure([_bipartite(inspection, kind, layer, _heads(inspection, choice.heads), word, choice.whole_words)])


def _figure4(inspection: Inspection, choice: Choice) -> str:
    """Figure 4: one head in full, and then what one word attends to in two heads."""
    kind = choice.kind or "encoder"
    layer = _layer(inspection, kind, choice.layer, like_the_paper=True)
    word = choice.word or _longest_word(inspection)
    heads = _heads(inspection, choice.heads) if choice.heads else _sharpest(inspection, kind, layer, word, choice)
    return _figure(
        [
            _bipartite(inspection, kind, layer, heads[:1], None, choice.whole_words),
            _bipartite(inspection, kind, layer, heads, word, choice.whole_words),
        ]
    )


def _figure5(inspection: Inspection, choice: Choice) -> str:
    """Figure 5: two heads of one layer, each in full."""
    kind = choice.kind or "encoder"
    layer = _layer(inspection, kind, choice.layer, like_the_paper=True)
    heads = _heads(inspection, choice.heads) if choice.heads else _sharpest(inspection, kind, layer, None, choice)
    return _figure([_bipartite(inspection, kind, layer, [head], choice.word, choice.whole_words) for head in heads])


def _sharpest(inspection: Inspection, kind: Kind, layer: int, word: str | None, choice: Choice) -> list[int]:
    """Return the two heads of a layer whose heaviest weights, of one word or on average, are the heaviest."""
    (rows, row_groups), (_, column_groups) = _sides(inspection, kind, choice.whole_words)
    weights = [by_words(one, row_groups, column_groups).max(1) for one in inspection.attention[kind][layer]]
    found = [one.mean() if word is None else one[_find(rows, word)] for one in weights]
    return sorted(np.argsort(found)[::-1][:2].tolist())


@dataclass(frozen=True)
class _Drawing:
    width: float
    height: float
    content: str


def _bipartite(
    inspection: Inspection, kind: Kind, layer: int, heads: Sequence[int], word: str | None, whole_words: bool
) -> _Drawing:
    """Draw the words that attend above those attended to, as the paper does, lines as strong as weights."""
    (rows, row_groups), (columns, column_groups) = _sides(inspection, kind, whole_words)
    only = None if word is None else _find(rows, word)
    n = max(len(rows), len(columns))
    title = _title(inspection, kind, layer, heads)
    width, top = n * _COLUMN + 20, 24 + _WORD_LENGTH
    bottom = top + _GAP
    parts = [_text(6, 14, title, "small soft")]
    for number, head in enumerate(heads):
        colour = HEADS[head % len(HEADS)]
        weights = by_words(inspection.attention[kind][layer, head], row_groups, column_groups)
        shift = (number - (len(heads) - 1) / 2) * min(2.0, 12 / len(heads))
        for i, row in enumerate(weights):
            for j, weight in enumerate(row):
                if weight < _LEAST_WEIGHT or only not in (None, i):
                    continue
                x, y = 20 + i * _COLUMN + shift, 20 + j * _COLUMN + shift
                parts.append(
                    f'<line x1="{x:.1f}" y1="{top}" x2="{y:.1f}" y2="{bottom}" stroke="{colour}" '
                    f'stroke-width="{1.8 if len(heads) == 1 else 1.5}" stroke-opacity="{min(float(weight), 1):.3f}"/>'
                )
    for i, label in enumerate(rows):
        style = "bold" if i == only else "" if only is None else "soft"
        parts.append(_upright(20 + i * _COLUMN, top - 6, label, "start", style))
    for j, label in enumerate(columns):
        parts.append(_upright(20 + j * _COLUMN, bottom + 6, label, "end"))
    height = bottom + _WORD_LENGTH + 8
    if len(heads) > 1:
        for number, head in enumerate(heads):
            x = 10 + number * 62
            parts.append(f'<rect x="{x}" y="{height}" width="10" height="10" fill="{HEADS[head % len(HEADS)]}"/>')
            parts.append(_text(x + 14, height + 9, f"head {head + 1}", "small"))
        width, height = max(width, 20 + 62 * len(heads)), height + 16
    return _Drawing(max(width, _width_of(title)), height, "".join(parts))


# --- tables ----------------------------------------------------------------------------------------------------


def _heatmap(inspection: Inspection, choice: Choice) -> str:
    kind = choice.kind or "cross"
    layer, heads = _layer(inspection, kind, choice.layer), _heads(inspection, choice.heads)
    (rows, row_groups), (columns, column_groups) = _sides(inspection, kind, choice.whole_words)
    each = [by_words(inspection.attention[kind][layer, head], row_groups, column_groups) for head in heads]
    weights = np.mean(each, axis=0)
    title = _title(inspection, kind, layer, heads) + (", mean" if len(heads) > 1 else "")
    return _figure([_table(title, rows, columns, weights, lambda v: f"{v:.2f}".replace("0.", "."), _blue)])


def _grid(inspection: Inspection, choice: Choice) -> str:
    """All heads of all layers, small."""
    drawings = []
    for kind in inspection.attention if choice.kind is None else (choice.kind,):
        weights = inspection.attention[kind]
        n_layers, h = weights.shape[:2]
        title = f"{_KIND_NAMES[kind]}: layers down, heads across"
        size, parts = 72, [_text(6, 14, title, "small soft")]
        for layer in range(n_layers):
            for head in range(h):
                x, y = 6 + head * (size + 6), 22 + layer * (size + 6)
                cell_x, cell_y = size / weights.shape[3], size / weights.shape[2]
                parts += [
                    f'<rect x="{x + j * cell_x:.2f}" y="{y + i * cell_y:.2f}" width="{cell_x + 0.05:.2f}" '
                    f'height="{cell_y + 0.05:.2f}" fill="{_blue(float(weight))}"/>'
                    for (i, j), weight in np.ndenumerate(weights[layer, head])
                    if weight >= _LEAST_WEIGHT
                ]
                parts.append(f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="none" stroke="#999"/>')
        drawings.append(
            _Drawing(max(12 + h * (size + 6), _width_of(title)), 28 + n_layers * (size + 6), "".join(parts))
        )
    return _figure(drawings)


def _heads_off(inspection: Inspection, choice: Choice) -> str:
    drawings, shade = [], _signed(np.concatenate([one.sum(-1) for one in inspection.heads_off.change.values()]))
    for kind in KINDS if choice.kind is None else (choice.kind,):
        change = inspection.heads_off.change[kind].sum(-1)
        rows, columns = (
            [f"{name} {i + 1}" for i in range(n)] for name, n in zip(("layer", "head"), change.shape, strict=True)
        )
        title = f"{_KIND_NAMES[kind]}: change of log P(translation) with one head off"
        drawings.append(_table(title, rows, columns, change, lambda v: f"{v:.2f}".replace("-", "−"), shade, 44))
    return _figure(drawings)


def _occlusion(inspection: Inspection, choice: Choice) -> str:
    groups = inspection.target.words
    change = np.stack([inspection.occlusion.change[:, group].sum(1) for group in groups])
    title = "change of each word's log P without one source word"
    rows, columns = inspection.target.word_labels, inspection.source.word_labels[:-1]
    return _figure([_table(title, rows, columns, change, lambda v: f"{v:.1f}".replace("-", "−"), _signed(change))])


def _layers(inspection: Inspection, choice: Choice) -> str:
    assert inspection.lens is not None
    rank = inspection.lens.rank
    rows = ["input", *(f"after layer {layer}" for layer in range(1, len(rank)))]
    most = np.log(inspection.model.vocabulary.size)
    shade = lambda v: _blue(0.8 * (1 - float(np.log(v)) / most))  # noqa: E731
    title = "rank of the final word after each decoder layer"
    return _figure([_table(title, rows, inspection.target.labels, rank, lambda v: f"{v:.0f}", shade, 38)])


def _beam(inspection: Inspection, choice: Choice) -> str:
    """One line per hypothesis over the steps; height is the rank among the step's candidates."""
    tree = inspection.beam
    column, row, best = 76, 26, set(tree.best)
    shown = [i for i, node in enumerate(tree.nodes) if node.fate in ("kept", "finished")]
    place = {i: (40 + (tree.nodes[i].step - 0.5) * column, 34 + (tree.nodes[i].rank - 1) * row) for i in shown}
    parts = [_text(6, 14, f"beam {tree.beam}, α = {tree.alpha:g}: rank of each hypothesis at each step", "small soft")]
    for i in shown:
        (x, y), parent = place[i], tree.nodes[i].parent
        if parent >= 0:
            px, py = place[parent]
            look = 'stroke="#0072b2" stroke-width="3"' if i in best else 'stroke="#888" stroke-width="1"'
            parts.append(f'<path d="M{px + 28},{py} C{px + 42},{py} {x - 42},{y} {x - 28},{y}" fill="none" {look}/>')
    for i in shown:
        (x, y), node = place[i], tree.nodes[i]
        edge = "#0072b2" if node.fate == "finished" else "#999"
        parts.append(f'<rect x="{x - 28}" y="{y - 10}" width="56" height="20" rx="3" fill="#fff" stroke="{edge}"/>')
        label = node.piece.replace("▁", "") or "␣"
        parts.append(_text(x, y + 4, _cut(label, 8), "small bold" if i in best else "small", "middle"))
    width = 50 + column * max(tree.nodes[i].step for i in shown)
    height = 50 + row * max(tree.nodes[i].rank for i in shown)
    score = inspection.translation.log_probability / length_penalty(tree.nodes[tree.best[-1]].step, tree.alpha)
    parts.append(_text(6, height, f"the thick line scores {score:.3f}".replace("-", "−"), "small soft"))
    return _figure([_Drawing(max(width, 320), height + 8, "".join(parts))])


def _table(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: NDArray[Any],
    text: Callable[[float], str],
    shade: Callable[[float], str],
    cell: int = 32,
) -> _Drawing:
    left, top = 118, 24 + _WORD_LENGTH
    parts = [_text(6, 14, title, "small soft")]
    parts += [_upright(left + (j + 0.5) * cell, top - 6, label, "start") for j, label in enumerate(columns)]
    for i, label in enumerate(rows):
        y = top + i * _CELL_HEIGHT
        parts.append(_text(left - 6, y + 15, _cut(label, 15), "", "end"))
        for j, value in enumerate(values[i].tolist()):
            colour = shade(value)
            style = "small on-dark" if _is_dark(colour) else "small"
            x = left + j * cell
            parts.append(f'<rect x="{x}" y="{y}" width="{cell - 1}" height="{_CELL_HEIGHT - 1}" fill="{colour}"/>')
            parts.append(_text(x + cell / 2, y + 15, text(value), style, "middle"))
    width = max(left + len(columns) * cell + 10, _width_of(title))
    return _Drawing(width, top + len(rows) * _CELL_HEIGHT + 10, "".join(parts))


# --- parts -------------------------------------------------------------------------------------------------------


def _figure(drawings: Sequence[_Drawing]) -> str:
    """Put drawings one below the other, on white."""
    width, height = max(one.width for one in drawings), sum(one.height for one in drawings)
    parts, y = [], 0.0
    for one in drawings:
        parts.append(f'<g transform="translate(0,{y:g})">{one.content}</g>')
        y += one.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
    )


def _width_of(title: str) -> float:
    """Return how wide a small title is at most, with its margins."""
    return 12 + 6 * len(title)


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{_markup(text)}</text>'


def _upright(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    """Write a word along a vertical line, read from below, as under the paper's figures."""
    return (
        f'<text class="{style}" transform="translate({x + 4:g},{y:g}) rotate(-90)" text-anchor="{anchor}">'
        f"{_markup(_cut(text, 14))}</text>"
    )


def _markup(text: str) -> str:
    """Escape what XML takes for markup; control characters have no place in it."""
    return escape("".join(one if one.isprintable() or one in "\u200d\u200c" else "\ufffd" for one in text))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _sides(
    inspection: Inspection, kind: Kind, whole_words: bool
) -> tuple[tuple[list[str], list[list[int]]], tuple[list[str], list[list[int]]]]:
    """Return labels and piece numbers of those that attend, and of those attended to."""
    source, target = inspection.source, inspection.target

    def side(labels: list[str], word_labels: list[str], words: list[list[int]]) -> tuple[list[str], list[list[int]]]:
        return (word_labels, words) if whole_words else (labels, [[i] for i in range(len(labels))])

    of_source = side(source.labels, source.word_labels, source.words)
    of_target = side(target.labels, target.word_labels, target.words)
    if kind == "encoder":
        return of_source, of_source
    if kind == "cross":
        return of_target, of_source
    labels, groups = of_target
    return of_target, (["<s>", *labels[:-1]], [[0], *([one + 1 for one in group] for group in groups[:-1])])


def _title(inspection: Inspection, kind: Kind, layer: int, heads: Sequence[int]) -> str:
    n_layers = len(inspection.attention[kind])
    name = f"{_KIND_NAMES[kind]} attention, layer {layer + 1} of {n_layers}, "
    if len(heads) > 1:
        return f"{name}heads {', '.join(str(head + 1) for head in heads)}"
    role = "" if inspection.roles is None else f" ({inspection.roles.name(kind, layer, heads[0])})"
    return f"{name}head {heads[0] + 1}{role}"


def _layer(inspection: Inspection, kind: Kind, given: int | None, like_the_paper: bool = False) -> int:
    """Return a layer counted from 0: the one given, the last, or in the paper's figures "layer 5 of 6"."""
    n = len(inspection.attention[kind])
    if given is None:
        return max(n - 2, 0) if like_the_paper else n - 1
    if not 1 <= given <= n:
        raise ConfigError(f"--layer {given}: the {_KIND_NAMES[kind]} attention has layers 1 to {n}")
    return given - 1


def _heads(inspection: Inspection, given: Sequence[int] | None) -> list[int]:
    h = inspection.n_heads
    if not given:
        return list(range(h))
    for head in given:
        if not 1 <= head <= h:
            raise ConfigError(f"--head {head}: the model has heads 1 to {h}")
    return [head - 1 for head in given]


def _find(labels: list[str], word: str) -> int:
    if word in labels:
        return labels.index(word)
    folded = [label.casefold().strip(".,!?") for label in labels]
    if word.casefold() in folded:
        return folded.index(word.casefold())
    raise ConfigError(f'--word "{word}": there is no such word; there are: {" ".join(labels)}')


def _longest_word(inspection: Inspection) -> str:
    return max(inspection.source.word_labels[:-1], key=len)


def _blue(share: float) -> str:
    """Return paper at 0 and ink at 1."""
    share = min(max(share, 0.0), 1.0)
    return _mixed((255, 255, 255), (8, 48, 107), share)


def _signed(values: Floats) -> Callable[[float], str]:
    """Return a scale from orange, a loss, by way of white to blue, a gain."""
    most = max(float(np.abs(values).max()), 1e-9)
    return lambda v: _mixed((255, 255, 255), (180, 70, 0) if v < 0 else (5, 70, 150), min(abs(v) / most, 1.0))


def _mixed(a: tuple[int, int, int], b: tuple[int, int, int], share: float) -> str:
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _is_dark(colour: str) -> bool:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140


_VIEWS: dict[str, Callable[[Inspection, Choice], str]] = {
    "attention": _attention,
    "heatmap": _heatmap,
    "grid": _grid,
    "beam": _beam,
    "heads": _heads_off,
    "occlusion": _occlusion,
    "layers": _layers,
    "figure3": _figure3,
    "figure4": _figure4,
    "figure5": _figure5,
}
