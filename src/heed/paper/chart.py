"""Draw lines and points as SVG, for the report: no script, no font but the reader's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

# Okabe and Ito's colours, which people who see few colours can tell apart; shapes tell series apart without colour.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#555555")
_DASHES = ("", "7 3", "2 3", "9 3 2 3")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 340, 70, 34, 52
_LEGEND_WIDTH = 190


@dataclass(frozen=True)
class Series:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    line: bool = True  # join the points


@dataclass(frozen=True)
class Axis:
    """One axis of a chart; a logarithmic one leaves out values that are not positive."""

    label: str
    log: bool = False


def chart(title: str, x: Axis, y: Axis, series: Sequence[Series], marks: Sequence[tuple[str, float]] = ()) -> str:
    """Return a chart as an <svg> element. `marks` are named vertical lines, at values of x."""
    shown = [
        Series(one.name, [(a, b) for a, b in one.points if _fits(a, x) and _fits(b, y)], one.line) for one in series
    ]
    points = [point for one in shown for point in one.points] or [(1.0, 1.0)]
    across = _Scale(x, [a for a, _ in points] + [at for _, at in marks], _LEFT, _WIDTH - _LEGEND_WIDTH)
    upward = _Scale(y, [b for _, b in points], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" style="max-width:{_WIDTH}px;width:100%" '
        f'font-family="sans-serif" font-size="12">',
        f'<text x="{_LEFT}" y="18" font-weight="bold" fill="currentColor">{escape(title)}</text>',
    ]
    for value in across.ticks():
        at = across(value)
        parts += [_line(at, _TOP, at, _HEIGHT - _BOTTOM, "#8884"), _text(at, _HEIGHT - _BOTTOM + 16, _number(value))]
    for value in upward.ticks():
        at = upward(value)
        parts += [
            _line(_LEFT, at, _WIDTH - _LEGEND_WIDTH, at, "#8884"),
            _text(_LEFT - 6, at + 4, _number(value), "end"),
        ]
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts += [
        _text((_LEFT + _WIDTH - _LEGEND_WIDTH) / 2, _HEIGHT - 14, x.label),
        f'<text transform="translate(14 {middle:.0f}) rotate(-90)" text-anchor="middle" fill="currentColor">'
        f"{escape(y.label)}</text>",
    ]
    for name, value in marks:
        at = across(value)
        parts += [_line(at, _TOP, at, _HEIGHT - _BOTTOM, "currentColor", "4 4"), _text(at, _TOP - 3, name)]
    for i, one in enumerate(shown):
        colour, dash = _COLOURS[i % len(_COLOURS)], _DASHES[i // len(_COLOURS) % len(_DASHES)]
        places = [(across(a), upward(b)) for a, b in one.points]
        if one.line and len(places) > 1:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
            )
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
        row, left = _TOP + 10 + 18 * i, _WIDTH - _LEGEND_WIDTH + 12
        if one.line:
            parts.append(_line(left, row - 4, left + 24, row - 4, colour, dash, 2))
        parts += [
            f'<circle cx="{left + 12}" cy="{row - 4}" r="4" fill="{colour}"/>',
            _text(left + 30, row, one.name, "start"),
        ]
    return "".join([*parts, "</svg>"])


class _Scale:
    """Map values to places on the page."""

    def __init__(self, axis: Axis, values: Sequence[float], begin: float, end: float) -> None:
        self.log = axis.log
        low, high = (self._inner(value) for value in (min(values), max(values)))
        margin = 0.04 * (high - low) or 0.5
        self.low, self.high = low - margin, high + margin
        self.begin, self.end = begin, end

    def _inner(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def __call__(self, value: float) -> float:
        return self.begin + (self.end - self.begin) * (self._inner(value) - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Return round values between the ends: powers of ten, or multiples of 1, 2 or 5 times one."""
        if self.log and self.high - self.low > 1:
            powers = [10.0**power for power in range(math.floor(self.low), math.floor(self.high) + 1)]
            times = (1,) if self.high - self.low > 3 else (1, 2, 5)
            values = [power * each for power in powers for each in times]
            return [value for value in values if self.low <= math.log10(value) <= self.high]
        low, high = (10**self.low, 10**self.high) if self.log else (self.low, self.high)
        rough = (high - low) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough)
        return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _fits(value: float, axis: Axis) -> bool:
    return math.isfinite(value) and (value > 0 or not axis.log)


def _number(value: float) -> str:
    if value and (abs(value) >= 1e5 or abs(value) < 1e-3):
        digits, power = f"{value:.3e}".split("e")
        return f"{float(digits):g}e{int(power)}"
    return f"{value:,.10g}" if abs(value) >= 10 else f"{value:.3g}"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "", width: int = 1) -> str:
    more = (f' stroke-dasharray="{dash}"' if dash else "") + (f' stroke-width="{width}"' if width > 1 else "")
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{escape(text)}</text>'
