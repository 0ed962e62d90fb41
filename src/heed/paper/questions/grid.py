"""A matrix as a picture, such as a mask or the position encodings: an SVG, and rows of characters for a table."""

from collections.abc import Sequence
from html import escape

_CELL, _LABEL, _TOP = 22, 70, 50


def picture(
    title: str, cells: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], cell: int = _CELL
) -> str:
    """Return a matrix of numbers from 0 to 1 as an <svg> element: 1 is dark blue, 0 is white."""
    width, height = max(320, _LABEL + cell * len(columns) + 10), _TOP + cell * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}" style="max-width:{width}px;width:100%" font-family="sans-serif" font-size="11">',
        f'<text x="4" y="16" font-weight="bold" fill="currentColor">{escape(title)}</text>',
    ]
    for j, label in enumerate(columns):
        parts.append(
            f'<text x="{_LABEL + cell * (j + 0.5):.1f}" y="{_TOP - 6}" text-anchor="middle" fill="currentColor">'
            f"{escape(label)}</text>"
        )
    for i, row in enumerate(cells):
        y = _TOP + cell * i
        parts.append(
            f'<text x="{_LABEL - 6}" y="{y + cell / 2 + 4:.1f}" text-anchor="end" fill="currentColor">'
            f"{escape(rows[i])}</text>"
        )
        parts += [
            f'<rect x="{_LABEL + cell * j}" y="{y}" width="{cell - 1}" height="{cell - 1}" '
            f'fill="rgb({_shade(255, 0, value)},{_shade(255, 114, value)},{_shade(255, 178, value)})" stroke="#8884"/>'
            for j, value in enumerate(row)
        ]
    return "".join([*parts, "</svg>"])


def marks(row: Sequence[float]) -> tuple[str, ...]:
    """Return a row of a mask as characters: ■ may be attended to, · may not."""
    return tuple("■" if value else "·" for value in row)


def _shade(white: int, dark: int, value: float) -> int:
    return round(white + (dark - white) * min(1.0, max(0.0, value)))
