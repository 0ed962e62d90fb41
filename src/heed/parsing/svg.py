"""Draw a tree as SVG, which browsers and word processors show."""

from html import escape

from heed.parsing.layout import Layout
from heed.parsing.trees import Tree

# Pixels. A column of text is as wide as most characters of the font are, or a little wider.
_COLUMN = 9
_LEVEL = 44
_LINE = 19
_MARGIN = 14
_STYLE = (
    "text{font:15px system-ui,sans-serif;text-anchor:middle;fill:#1f2937}"
    "path{stroke:#94a3b8;stroke-width:1.2;fill:none}"
    "text.label{font-size:14px;font-weight:600;fill:#1d4ed8}"
    "text.tag{font-size:12px;fill:#64748b}"
)


def svg(tree: Tree) -> str:
    """Return an SVG file: words in a row at the bottom, tags above them, brackets above those."""
    layout = Layout(tree)
    tag_line = _MARGIN + _LINE + layout.levels * _LEVEL
    size = f"{layout.width * _COLUMN + 2 * _MARGIN} {tag_line + _LINE + _MARGIN}".split()
    xs, ys = _centres(layout), []
    for node, depth in zip(layout.nodes, layout.depths, strict=True):
        ys.append(tag_line if node.word is not None else _MARGIN + _LINE + depth * _LEVEL)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}" role="img">',
        f"<title>{_text(' '.join(tree.words()))}</title>",
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for parent, children in enumerate(layout.children):
        for child in children:
            # Down, across, down: slanted lines to words would cross the labels between.
            bend = ys[parent] + _LEVEL // 2 - 5
            parts.append(f'<path d="M{xs[parent]:.1f} {ys[parent] + 6}V{bend}H{xs[child]:.1f}V{ys[child] - 14}"/>')
    for node, x, y in zip(layout.nodes, xs, ys, strict=True):
        kind = "label" if node.word is None else "tag"
        parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y}">{_text(node.label)}</text>')
        if node.word is not None:
            parts.append(f'<text x="{x:.1f}" y="{y + _LINE}">{_text(node.word)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _centres(layout: Layout) -> list[float]:
    """Return where each node is centred, in pixels from the left."""
    centres = [0.0] * len(layout.nodes)
    for number in reversed(range(len(layout.nodes))):
        if children := layout.children[number]:
            centres[number] = (centres[children[0]] + centres[children[-1]]) / 2
        else:
            centres[number] = _MARGIN + (layout.lefts[number] + layout.sizes[number] / 2) * _COLUMN
    return centres


def _text(text: str) -> str:
    """Return a text as XML may hold it: control characters, which it may not, as replacement characters."""
    return escape("".join(c if c.isprintable() or c == " " else "\ufffd" for c in text), quote=False)
