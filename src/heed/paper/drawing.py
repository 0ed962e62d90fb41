"""Boxes, arrows and text of the paper's diagrams, as SVG that needs no script and no font but the reader's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

# The colours of the paper's figure 1: attention, feed-forward, norms, embeddings, projections.
COLOURS = {
    "attention": "#ffe0b5",
    "feed": "#c3e7f7",
    "norm": "#f2f4c1",
    "embedding": "#fce0e1",
    "linear": "#dce0ef",
    "softmax": "#cbe7cf",
    "other": "#eeeeee",
}
_TITLE, _LINE, _PADDING = 16, 14, 7  # heights in pixels


@dataclass
class Drawing:
    """Shapes in the order they are drawn, and the size of the page."""

    width: float
    height: float
    shapes: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, title: str, details: Sequence[str], colour: str) -> None:
        """Draw a box with a title and lines below it; (x, y) is its upper left corner."""
        height = box_height(details)
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="6" '
            f'fill="{COLOURS[colour]}" stroke="#333"/>'
        )
        self.text(x + width / 2, y + _PADDING + 12, title, bold=True)
        for i, detail in enumerate(details):
            self.text(x + width / 2, y + _PADDING + 12 + _TITLE - 1 + i * _LINE, detail, size=11)

    def frame(self, x: float, y: float, width: float, height: float) -> None:
        """Draw the dashed frame around a layer."""
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="12" fill="#fafafa" '
            'stroke="#777" stroke-dasharray="5 4"/>'
        )

    def arrow(self, *points: tuple[float, float]) -> None:
        """Draw a line through these points with a head at the last one."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(
            f'<polyline points="{path}" fill="none" stroke="#333" stroke-width="1.3" marker-end="url(#head)"/>'
        )

    def text(
        self, x: float, y: float, text: str, *, bold: bool = False, size: int = 12, anchor: str = "middle"
    ) -> None:
        """Write text at a point of its baseline."""
        weight = ' font-weight="bold"' if bold else ""
        self.shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{weight}>{escape(text)}</text>'
        )

    def svg(self, title: str) -> str:
        """Return the figure as an SVG file."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}" font-family="sans-serif" role="img" '
            f'aria-label="{escape(title)}"><title>{escape(title)}</title>'
            '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z" fill="#333"/></marker></defs>'
            f'<rect width="100%" height="100%" fill="#fff"/>{"".join(self.shapes)}</svg>'
        )


def box_height(details: Sequence[str]) -> float:
    """Return the height of a box with this many lines below its title."""
    return 2 * _PADDING + _TITLE + _LINE * len(details) - 2
