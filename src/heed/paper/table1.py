"""Table 1, measured: what layers cost for n positions of width d, and how far apart positions are in them."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isqrt
from typing import Any, NamedTuple

from heed.errors import ConfigError
from heed.paper.chart import Axis, Series, chart
from heed.paper.fit import crossing, meeting, power, two_powers
from heed.paper.report import Part, Table
from heed.paper.resumable import Rows
from heed.wording import gigabytes

_MAX_FREE_SHARE = 0.8  # of the free memory may be used
_MIN_LENGTHS = 2  # that a line can be fitted to


class Published(NamedTuple):
    """A row of the paper's table."""

    layer: str
    complexity: str
    sequential: str
    path: str


PUBLISHED = {
    "self-attention": Published("self-attention", "n²·d", "1", "1"),
    "recurrent": Published("recurrent", "n·d²", "n", "n"),
    "convolution": Published("convolution", "k·n·d²", "1", "log_k(n)"),
    "restricted": Published("restricted", "r·n·d", "1", "n/r"),
}
NOTES = (
    "What differs: the paper counts by hand, up to a constant factor; here the operations are counted as PyTorch runs "
    "them, for one layer and one sequence. As in the table, self-attention is equation (1) alone; its projections take "
    "another 8·n·d² (the row below it). A path is counted in layers, or in cells of a recurrent layer.",
    "Comparable: the exponents of the operations, the sequential operations and the path lengths are the paper's, and "
    "may stand beside its O(·). Time and memory are of this machine and of PyTorch's kernels; the paper gives none. "
    "The exponents of time are lower than those of the operations where calls take longer than computing.",
    "A contiguous convolution has a path of n/k, a dilated one of log_k(n) (section 4). A centred neighbourhood "
    "reaches r/2 to each side, so its paths are 2n/r long. A fused kernel does not keep the n × n weights for the "
    "backward pass, but computes them twice.",
)


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    lengths: tuple[int, ...] = (64, 128, 256, 512, 1024)
    widths: tuple[int, ...] = (64, 128, 256, 512)
    path_lengths: tuple[int, ...] = (16, 32, 64, 128, 256)
    rounds: int = 5
    r: int = 16
    k: int = 3

    @staticmethod
    def quick() -> "Plan":
        """Return the smallest plan that shows everything."""
        return Plan((32, 64, 128), (32, 64), (16, 32, 64))


def check(plan: Plan, free: int | None) -> None:
    """Refuse a plan that cannot work, before anything is measured.

    Raises:
        ConfigError: with what to change.
    """
    from heed.paper.layer_types import HEADS

    for option, values in (("--lengths", plan.lengths), ("--widths", plan.widths)):
        if len(set(values)) < _MIN_LENGTHS:
            raise ConfigError(f"{option} {','.join(map(str, values))}: give two or more, to fit an exponent to them")
        if min(values) < 1:
            raise ConfigError(f"{option} {min(values)}: must be at least 1")
    if odd := [d for d in plan.widths if d % HEADS]:
        raise ConfigError(f"--widths {odd[0]}: must be a multiple of {HEADS}, the number of attention heads")
    if plan.rounds < 1:
        raise ConfigError(f"--rounds {plan.rounds}: must be at least 1")
    n, d = max(plan.lengths), max(plan.widths)
    if free is not None and needed_bytes(n, d) > _MAX_FREE_SHARE * free:
        fits = longest_that_fits(d, int(_MAX_FREE_SHARE * free))
        advice = f"the longest that fits is {fits:,}" if fits else "lower --widths"
        raise ConfigError(
            f"--lengths {n}: self-attention over {n:,} positions of width {d:,} needs about "
            f"{gigabytes(needed_bytes(n, d))}, but only {gigabytes(free)} are free; {advice}"
        )


def needed_bytes(n: int, d: int) -> int:
    """Return what the largest of the layers needs at its peak: scores, weights and their gradients of each head."""
    from heed.paper.layer_types import HEADS

    return 4 * (4 * HEADS * n * n + 40 * n * d + 16 * d * d)


def longest_that_fits(d: int, free: int) -> int:
    """Return the largest n that needs no more than this many bytes; 0: there is none."""
    low, high = 0, isqrt(free)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed_bytes(middle, d) <= free else (low, middle)
    return low


def measure(plan: Plan, rows: Rows, done: Callable[[int], None]) -> dict[str, Any]:
    """Measure all that is not among the rows yet, and return it; `done` is told how many cells are."""
    import torch

    from heed.paper.layer_cost import kept_bytes, longest_chain, operations, seconds
    from heed.paper.layer_types import layer_types
    from heed.paper.path_length import maximum_path_length

    kinds, n_done = layer_types(plan.r, plan.k), 0
    settings = f"r={plan.r} k={plan.k} rounds={plan.rounds} threads={torch.get_num_threads()}"
    names = [kind.name for kind in kinds]
    found: dict[str, Any] = {"layers": names, "rows": [kind.row for kind in kinds], "cells": [], "paths": []}
    for d in plan.widths:
        for n in plan.lengths:
            name = f"cost n={n} d={d} {settings}"
            cell = rows.get(name)
            if cell is None:
                torch.manual_seed(1)
                layers = [kind.build(d, 1) for kind in kinds]
                cell = rows.add(
                    name,
                    {
                        **{"n": n, "d": d, "seconds": seconds(layers, n, d, plan.rounds)},
                        "operations": [operations(layer, n, d) for layer in layers],
                        "bytes": [kept_bytes(layer, n, d) for layer in layers],
                    },
                )
            found["cells"].append(cell)
            done(n_done := n_done + 1)
    d = min(plan.widths)
    for n in plan.path_lengths:
        name = f"path n={n} {settings}"
        cell = rows.get(name)
        if cell is None:
            lengths = [maximum_path_length(kind, n) for kind in kinds]
            chains = [longest_chain(kind.build(d, 1), n, d) for kind in kinds]
            cell = rows.add(name, {"n": n, "path": lengths, "chain": chains})
        found["paths"].append(cell)
        done(n_done := n_done + 1)
    found["against"] = {
        "r": [[r, operations(layer_types(r, plan.k)[3].build(d, 1), 1024, d)] for r in (32, 64, 128)],
        "k": [[k, operations(layer_types(plan.r, k)[7].build(d, 1), 1024, d)] for k in (3, 6, 12)],
    }
    return found


def n_cells(plan: Plan) -> int:
    """Return how many cells a plan measures."""
    return len(plan.lengths) * len(plan.widths) + len(plan.path_lengths)


def part(plan: Plan, found: dict[str, Any]) -> Part:
    """Return the table, what it was fitted to, the crossover, and charts of them."""
    names: list[str] = found["layers"]
    cells = found["cells"]

    def exponents(what: str, i: int) -> tuple[float, float]:
        return two_powers([(cell["n"], cell["d"], max(cell[what][i], 1e-12)) for cell in cells])

    fitted = {what: [exponents(what, i) for i in range(len(names))] for what in ("operations", "seconds", "bytes")}
    ends = found["paths"][0], found["paths"][-1]
    per_position = [
        (ends[1]["chain"][i] - ends[0]["chain"][i]) / (ends[1]["n"] - ends[0]["n"]) for i in range(len(names))
    ]
    against = {letter: power(points)[1] for letter, points in found["against"].items()}
    crossovers = [_crossover(d, names, cells) for d in plan.widths]
    tables = (
        _beside(names, found, fitted["operations"], per_position, against),
        Table(
            ("layer", "operations", "time", "memory"),
            tuple(
                (name, *(_powers(*fitted[what][i]) for what in ("operations", "seconds", "bytes")))
                for i, name in enumerate(names)
            ),
            "Exponents fitted on log-log axes: operations and time of a layer, memory kept",
        ),
        Table(
            ("layer", *(f"n = {cell['n']}" for cell in found["paths"])),
            tuple((name, *(str(cell["path"][i]) for cell in found["paths"])) for i, name in enumerate(names)),
            "Maximum path length, measured by gradients",
        ),
        Table(
            ("d", *(f"{what}, {kind}" for what in ("count", "time") for kind in ("tanh", "LSTM", "GRU"))),
            tuple(
                (f"{one['d']}", *(_length(one[what][i]) for what in ("count", "time") for i in range(3)))
                for one in crossovers
            ),
            "n above which self-attention costs more than recurrence (–: at no n measured)",
        ),
    )
    values = {
        "plan": asdict(plan),
        **found,
        "exponents": fitted,
        "crossovers": crossovers,
        "published": [one._asdict() for one in PUBLISHED.values()],
    }
    return Part("table1", "Table 1: why self-attention", tables, NOTES, _charts(plan, found), values)


def _beside(
    names: Sequence[str],
    found: dict[str, Any],
    operations: Sequence[tuple[float, float]],
    per_position: Sequence[float],
    against: dict[str, float],
) -> Table:
    """Return the published table and ours, side by side; a name that begins with a dash is a variant."""
    last = found["paths"][-1]
    rows = []
    for i, name in enumerate(names):
        theirs = PUBLISHED[found["rows"][i]]
        letter = {"restricted": "r", "convolution": "k"}.get(found["rows"][i])
        complexity = (f"{letter}^{against[letter]:.1f} " if letter else "") + _powers(*operations[i])
        sequential = "1" if per_position[i] == 0 else f"{per_position[i]:.0f}·n"
        path = {"- dilated": "log_k(n)"}.get(name, "n/k" if theirs.layer == "convolution" else theirs.path)
        rows.append((name, theirs.complexity, complexity, theirs.sequential, sequential, path, str(last["path"][i])))
    columns = ("layer", "O(·)", "ours", "seq.", "ours", "path", f"n = {last['n']}")
    return Table(columns, tuple(rows), "Table 1: O(·) as published, and as counted and measured")


def _crossover(d: int, names: Sequence[str], cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return where self-attention begins to cost more than each recurrent layer: by operations, and by time."""

    def curve(what: str, name: str) -> list[tuple[float, float]]:
        at = names.index(name)
        return [(cell["n"], cell[what][at]) for cell in cells if cell["d"] == d]

    recurrent = ("recurrent, tanh", "- LSTM", "- GRU")
    attention = {what: curve(what, "self-attention") for what in ("operations", "seconds")}
    return {
        "d": d,
        "count": [meeting(attention["operations"], curve("operations", name)) for name in recurrent],
        "time": [crossing(attention["seconds"], curve("seconds", name)) for name in recurrent],
    }


def _charts(plan: Plan, found: dict[str, Any]) -> tuple[str, ...]:
    inside = [d for d in plan.widths if d <= max(plan.lengths)]
    d = max(inside or plan.widths)  # a width whose crossover is on the chart
    charts = []
    for what, label in (("operations", "operations"), ("seconds", "seconds"), ("bytes", "bytes kept")):
        series = [
            Series(name, [(cell["n"], cell[what][i]) for cell in found["cells"] if cell["d"] == d])
            for i, name in enumerate(found["layers"])
        ]
        title = f"{label.capitalize()} of a layer of width {d}"
        charts.append(chart(title, Axis("positions n", True), Axis(label, True), series, [(f"n = d = {d}", d)]))
    series = [
        Series(name, [(cell["n"], cell["path"][i]) for cell in found["paths"]])
        for i, name in enumerate(found["layers"])
    ]
    charts.append(chart("Maximum path length", Axis("positions n", True), Axis("layers or cells", True), series))
    return tuple(charts)


def _powers(n: float, d: float) -> str:
    return f"n^{abs(n) if abs(n) < 0.005 else n:.2f} d^{abs(d) if abs(d) < 0.005 else d:.2f}"


def _length(n: float | None) -> str:
    return "–" if n is None else f"{n:,.0f}"
