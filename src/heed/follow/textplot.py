"""Draw curves with characters, for the terminal.

Training is a line, with a different dash pattern for each run; validation is the run's letter at each point. So runs
differ without colour as well. Braille characters give each cell 2 × 4 dots; ASCII replaces them where necessary.
"""

import math
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from heed.follow.curves import Drawn, Panel, is_logarithmic

HEIGHT = 10  # rows of a plot, without title and axis
CHARACTERS = "⣿│┤└┬─"  # if the terminal cannot show these, draw in ASCII
_DASHES = ("1", "11110000", "1000", "11111100100")  # the dots along a line that are drawn
_ASCII_LINES = ".+*=~#%"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille character, by row and column
# The closest of a terminal's 256 colours to the colour-blind-safe palette of Okabe and Ito.
_COLOURS = (32, 208, 36, 175, 74, 166, 220)


def letter(run: int) -> str:
    return string.ascii_letters[run % len(string.ascii_letters)]


def legend(names: Sequence[str], ascii_only: bool = False, colours: bool = False) -> list[str]:
    """Return a line for each run: its letter, its dash pattern and its name."""
    lines = []
    for run, name in enumerate(names):
        cells = _Cells(8, 1, ascii_only)
        cells.line(run, [(0.0, 0.5), (1.0, 0.5)])
        lines.append(f"{_paint(letter(run), run, colours)} {cells.rows(colours)[0]} {name}")
    return lines


def draw(panel: Panel, drawn: list[Drawn], width: int, *, ascii_only: bool = False, colours: bool = False) -> list[str]:
    """Draw a panel as lines of at most `width` characters; `drawn` must not be empty."""
    logarithmic = is_logarithmic(panel, drawn)
    y_axis = _Axis.of([value for one in drawn for _, value in one.curve], logarithmic)
    x_axis = _Axis.of([0.0, *(float(step) for one in drawn for step, _ in one.curve)], False)
    labels = {_row(y_axis.place(tick)): f"{tick:g}" for tick in y_axis.ticks(6)}
    margin = max(map(len, labels.values()), default=0)
    cells = _Cells(max(width - margin - 2 - len(" step"), 10), HEIGHT, ascii_only)
    for one in drawn:
        places = [(x_axis.place(step), y_axis.place(value)) for step, value in one.curve]
        if not (one.validation and panel.training):  # next to training lines, validation is only letters
            cells.line(one.run, places)
        for place in places if one.validation else places[-1:]:
            cells.mark(one.run, place)
    bar, tick_mark = ("|", "+") if ascii_only else ("│", "┤")
    lines = [_title(panel, drawn, logarithmic)]
    for row, content in enumerate(cells.rows(colours)):
        lines.append(f"{labels.get(row, ''):>{margin}} {tick_mark if row in labels else bar}{content}".rstrip())
    return [*lines, *_below(x_axis, cells.width, margin, ascii_only)]


def _title(panel: Panel, drawn: list[Drawn], logarithmic: bool) -> str:
    notes = [panel.unit]
    if logarithmic:
        notes.append("log scale")
    if panel.training and any(one.validation for one in drawn):
        notes.append("letters: validation")
    return f"{panel.title} ({'; '.join(notes)})"


def _row(place: float) -> int:
    return min(int((1 - place) * HEIGHT), HEIGHT - 1)


def _below(axis: "_Axis", width: int, margin: int, ascii_only: bool) -> list[str]:
    """Draw the axis of steps, with numbers under the ticks."""
    corner, dash, tick_mark = ("+", "-", "+") if ascii_only else ("└", "─", "┬")
    rule = [dash] * width
    numbers = ""
    for tick in axis.ticks(max(width // 12, 1)):
        column = min(int(axis.place(tick) * width), width - 1)
        text = f"{tick:,.0f}"
        begin = min(column - len(text) // 2, width - len(text))
        if tick != round(tick) or begin < (len(numbers) + 1 if numbers else 0):
            continue
        numbers = numbers.ljust(begin) + text
        rule[column] = tick_mark
    indent = " " * (margin + 1)
    return [indent + corner + "".join(rule), f"{indent} {numbers.ljust(width)} step"]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    logarithmic: bool

    @classmethod
    def of(cls, values: Sequence[float], logarithmic: bool) -> "_Axis":
        low, high = min(values), max(values)
        if low == high:
            padding = abs(low) / 10 or 1.0
            low, high = low - padding, high + padding
        return cls(low, high, logarithmic)

    def place(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 at the low end to 1 at the high end."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, n: int) -> list[float]:
        """Return about n round numbers on the axis."""
        if self.logarithmic:
            exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            factors = (1,) if self.high > 200 * self.low else (1, 2, 5)
            numbers = (factor * 10.0**exponent for exponent in exponents for factor in factors)
            return [number for number in numbers if self.low <= number <= self.high]
        rough = (self.high - self.low) / n
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


class _Cells:
    """A grid of characters to draw on; places range from (0, 0) at the bottom left to (1, 1)."""

    def __init__(self, width: int, height: int, ascii_only: bool) -> None:
        self.width, self._height, self._ascii = width, height, ascii_only
        self._x_dots, self._y_dots = (1, 1) if ascii_only else (2, 4)
        self._dots = [[0] * width for _ in range(height)]
        self._marks = [[""] * width for _ in range(height)]
        self._owner = [[0] * width for _ in range(height)]  # the run drawn last, for the colour

    def line(self, run: int, places: Sequence[tuple[float, float]]) -> None:
        """Draw a line through the places, with the run's dash pattern."""
        dash = "1" if self._ascii else _DASHES[run % len(_DASHES)]
        for i, (x, y) in enumerate(_path([self._dot(place) for place in places])):
            if dash[i % len(dash)] == "0":
                continue
            row, column = y // self._y_dots, x // self._x_dots
            self._owner[row][column] = run
            if self._ascii:
                self._marks[row][column] = _ASCII_LINES[run % len(_ASCII_LINES)]
            else:
                self._dots[row][column] |= _DOTS[y % self._y_dots][x % self._x_dots]

    def mark(self, run: int, place: tuple[float, float]) -> None:
        x, y = self._dot(place)
        row, column = y // self._y_dots, x // self._x_dots
        self._marks[row][column], self._owner[row][column] = letter(run), run

    def rows(self, colours: bool) -> list[str]:
        lines = []
        for dots, marks, owners in zip(self._dots, self._marks, self._owner, strict=True):
            shown = [mark or (chr(0x2800 + dot) if dot else " ") for dot, mark in zip(dots, marks, strict=True)]
            painted = (_paint(cell, run, colours and cell != " ") for cell, run in zip(shown, owners, strict=True))
            lines.append("".join(painted))
        return lines

    def _dot(self, place: tuple[float, float]) -> tuple[int, int]:
        x_dots, y_dots = self.width * self._x_dots, self._height * self._y_dots
        return min(int(place[0] * x_dots), x_dots - 1), min(int((1 - place[1]) * y_dots), y_dots - 1)


def _path(dots: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield all dots of the straight lines through these dots, each joint once."""
    yield dots[0]
    for (x, y), (next_x, next_y) in pairwise(dots):
        n = max(abs(next_x - x), abs(next_y - y))
        for i in range(1, n + 1):
            yield round(x + i / n * (next_x - x)), round(y + i / n * (next_y - y))


def _paint(text: str, run: int, colours: bool) -> str:
    return f"\x1b[38;5;{_COLOURS[run % len(_COLOURS)]}m{text}\x1b[0m" if colours else text
