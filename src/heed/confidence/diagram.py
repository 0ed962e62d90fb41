"""Draw reliability diagrams: how often translations of each confidence are good, in the terminal or as SVG."""

from collections.abc import Sequence

from heed.confidence.calibration import Trial
from heed.confidence.measures import N_BINS, Bin

_COLUMNS = 40  # of a bar that means 100 %
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP, _COUNTS = 260, 260, 56, 44, 84, 60  # pixels of a panel, and around it
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2937}.small{font-size:11px;fill:#555}"
    ".title{font-size:14px;font-weight:600}.axis{stroke:#888;fill:none}.ideal{stroke:#888;stroke-dasharray:4 4}"
    ".bin{fill:#0072b2}.line{stroke:#0072b2;stroke-width:1.6;fill:none}.count{fill:#9ecae1}"
)


def as_text(trial: Trial) -> list[str]:
    """Return the diagram as lines of at most 80 columns: a bar for what was found, `|` where it should end."""
    lines = ["confidence    said    found        n"]
    for number, one in enumerate(trial.bins):
        label = f"{number / N_BINS:.1f} to {(number + 1) / N_BINS:.1f}"
        if not one.n:
            lines.append(f"{label:10}                       0")
            continue
        bar, ideal = "█" * round(one.found * _COLUMNS), round(one.said * _COLUMNS)
        bar = bar.ljust(ideal)[:ideal] + "|" + bar[ideal + 1 :]
        lines.append(f"{label:10}  {100 * one.said:4.0f} %   {100 * one.found:4.0f} %  {one.n:7,}  {bar}"[:80].rstrip())
    return lines


def as_svg(panels: Sequence[tuple[str, Trial]]) -> str:
    """Return the diagrams side by side as an SVG file, each with the number of items in each bin below it."""
    width = _LEFT + len(panels) * (_WIDTH + _GAP) - _GAP + 24
    height = _TOP + _HEIGHT + _COUNTS + 66
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        "<title>Reliability: confidence said against share found good</title>",
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for number, (name, trial) in enumerate(panels):
        parts += _panel(name, trial, _LEFT + number * (_WIDTH + _GAP))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(name: str, trial: Trial, left: float) -> list[str]:
    bottom = _TOP + _HEIGHT
    parts = [
        _text(left, 18, name, "title"),
        _text(left, 34, f"{trial.n:,}; AUC {trial.auc:.3f}, ECE {trial.error:.3f}", "small"),
        f'<rect class="axis" x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<line class="ideal" x1="{left}" y1="{bottom}" x2="{left + _WIDTH}" y2="{_TOP}"/>',
    ]
    for tenth in range(0, 11, 2):
        x, y = left + _WIDTH * tenth / 10, bottom - _HEIGHT * tenth / 10
        parts.append(_text(left - 8, y + 4, f"{tenth / 10:.1f}", "small", "end"))
        parts.append(_text(x, bottom + _COUNTS + 24, f"{tenth / 10:.1f}", "small", "middle"))
    filled = [one for one in trial.bins if one.n]
    points = [(left + _WIDTH * one.said, bottom - _HEIGHT * one.found) for one in filled]
    parts.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
    parts += [f'<circle class="bin" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points]
    parts += _counts(trial.bins, left, bottom + 8)
    middle = left + _WIDTH / 2
    parts.append(_text(middle, bottom + _COUNTS + 46, "confidence (bars: how many)", "small", "middle"))
    x, y = left - 38, _TOP + _HEIGHT / 2
    parts.append(
        f'<text class="small" text-anchor="middle" transform="translate({x} {y}) rotate(-90)">share that is good</text>'
    )
    return parts


def _counts(bins: Sequence[Bin], left: float, top: float) -> list[str]:
    most, step = max(one.n for one in bins), _WIDTH / len(bins)
    found = []
    for number, one in enumerate(bins):
        size = _COUNTS * one.n / most
        x, y = left + number * step + 1, top + _COUNTS - size
        found.append(f'<rect class="count" x="{x:.1f}" y="{y:.1f}" width="{step - 2:.1f}" height="{size:.1f}"/>')
    return found


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
