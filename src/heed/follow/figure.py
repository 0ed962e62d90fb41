"""Draw curves to a file, with matplotlib."""

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.errors import ConfigError
from heed.follow.curves import Drawn, Panel, is_logarithmic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".pdf")
# The colour-blind-safe palette of Okabe and Ito, without its yellow, which is too light on white. With seven colours
# and four line styles, the first 28 runs all look different; line styles and markers also work without colour.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
_MARKERS = "osD^vPX"


def check_format(path: Path) -> None:
    """Check that a figure can be written in this format, before anything is read.

    Raises:
        ConfigError: matplotlib is not installed, or the format is not supported.
    """
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"--out {path}: the name must end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # hides messages about its cache folder
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigError(
            'figures need matplotlib: pip install "heed[plot]" (or matplotlib). '
            "Without --out, curves are drawn in the terminal"
        ) from None


def save_figure(path: Path, names: Sequence[str], panels: list[tuple[Panel, list[Drawn]]]) -> None:
    """Draw the panels to a file, with all runs in each panel."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = min(len(panels), 2)
    rows = math.ceil(len(panels) / 2)
    n_legend_rows = math.ceil(len(names) / 2)
    figure = Figure(figsize=(5.5 * columns, 3.4 * rows + 0.3 * n_legend_rows), layout="constrained")
    first = None  # all panels share its axis of steps
    for number, (panel, drawn) in enumerate(panels, 1):
        axes = figure.add_subplot(rows, columns, number, sharex=first)
        _draw(axes, panel, drawn)
        first = first or axes
    figure.legend(
        handles=[Line2D([], [], **_style(run)) for run in range(len(names))],
        labels=[name.replace("$", r"\$") for name in names],  # a bare $ would start a formula
        loc="outside lower center",
        ncols=2,
        frameon=False,
        handlelength=3.5,
    )
    figure.savefig(path, dpi=150)


def _draw(axes: "Axes", panel: Panel, drawn: list[Drawn]) -> None:
    from matplotlib.ticker import LogLocator

    both = len({one.validation for one in drawn}) == 2
    for one in drawn:
        steps, values = zip(*one.curve, strict=True)
        style = _style(one.run) | {"markevery": _every(one)}
        if both and not one.validation:
            style |= {"marker": "", "linewidth": 0.9, "alpha": 0.6}
        axes.plot(steps, values, **style)
    if is_logarithmic(panel, drawn):
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 200 * low else (1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_title(panel.title + (": training thin, validation with markers" if both else ""), fontsize=11, loc="left")
    axes.set_xlabel("step")
    axes.set_ylabel(panel.unit + (", log scale" if axes.get_yscale() == "log" else ""))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _style(run: int) -> dict[str, Any]:
    return {
        "color": _COLOURS[run % len(_COLOURS)],
        "linestyle": _LINES[run % len(_LINES)],
        "linewidth": 1.4,
        "marker": _MARKERS[run % len(_MARKERS)],
        "markersize": 4,
    }


def _every(one: Drawn) -> tuple[int, int]:
    """Return the first point to mark and the distance to the next: about 25 validations, or 8 training steps."""
    n = len(one.curve)
    every = max(n // (25 if one.validation else 8), 1)
    return one.run * every // 3 % every, every  # so that the markers of runs do not overlap
