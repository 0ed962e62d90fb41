"""Figure 2: scaled dot-product attention and multi-head attention, with the shapes of a model and a sentence."""

import math

from heed.config import ModelConfig
from heed.paper.drawing import Drawing, box_height

_BOX, _GAP, _TOP = 250, 18, 70  # width of a box, space between two, room for the title


def draw(model: ModelConfig, n: int) -> str:
    """Return both diagrams as SVG, for encoder self-attention over n tokens."""
    h, d_k, d_v, d = model.h, model.key_size, model.value_size, model.d_model
    left = [
        ("MatMul", f"Q Kᵀ: {n} × {d_k} by {d_k} × {n} = {n} × {n}", "linear"),
        ("Scale", f"÷ √{d_k} = {math.sqrt(d_k):.2f}", "norm"),
        ("Mask (opt.)", "−∞ where a position may not attend", "embedding"),
        ("SoftMax", f"{n} rows of {n} weights that sum to 1", "softmax"),
        ("MatMul", f"weights by V: {n} × {n} by {n} × {d_v} = {n} × {d_v}", "linear"),
    ]
    right = [
        ("Linear, h times", f"V, K, Q: {n} × {d} to {n} × {d_v}, {d_k}, {d_k}", "linear"),
        ("Scaled dot-product attention", f"{h} heads at once: {h} × {n} × {d_v}", "attention"),
        ("Concat", f"{n} × {h * d_v} (h · d_v = {h} · {d_v})", "norm"),
        ("Linear", f"{h * d_v} to {d}: {n} × {d}", "linear"),
    ]
    column = _BOX + 70
    height = box_height([""])
    step = height + _GAP
    drawing = Drawing(2 * column + 60, _TOP + len(left) * step + 74)
    bottom = drawing.height - 48
    inputs = (
        [(f"Q  {n} × {d_k}", 0.2), (f"K  {n} × {d_k}", 0.55), (f"V  {n} × {d_v}", 1.12)],
        [(f"V  {n} × {d}", 0.12), (f"K  {n} × {d}", 0.5), (f"Q  {n} × {d}", 0.88)],
    )
    titles = ("Scaled dot-product attention (one head)", f"Multi-head attention (h = {h})")
    for side, items in enumerate((left, right)):
        x = 30 + side * (column + 20)
        drawing.text(x + _BOX / 2, 28, titles[side], bold=True, size=14)
        y = bottom - height
        for name, at in inputs[side]:
            drawing.text(x + at * _BOX, bottom + 34, name)
            if at < 1:
                drawing.arrow((x + at * _BOX, bottom + 20), (x + at * _BOX, bottom))
        for i, (title, detail, colour) in enumerate(items):
            if i:
                drawing.arrow((x + _BOX / 2, y + step), (x + _BOX / 2, y + height))
            drawing.box(x, y, _BOX, title, [detail], colour)
            last, y = y, y - step
        drawing.arrow((x + _BOX / 2, last), (x + _BOX / 2, last - 20))
        drawing.text(x + _BOX / 2, last - 26, f"{n} × {(d_v, d)[side]}")
        if side == 0:  # V skips to the last product
            lane = x + inputs[0][2][1] * _BOX
            middle = last + height / 2
            drawing.arrow((lane, bottom + 20), (lane, middle), (x + _BOX, middle))
    return drawing.svg("Scaled dot-product attention and multi-head attention, with shapes")
