"""Section 5.2 and Table 2: the cost of a training, by the paper's rule and by counting operations.

The paper's rule: seconds x devices x the sustained speed of one device.
"""

from dataclasses import dataclass

from heed.errors import CheckpointError
from heed.paper.report import Part, Table
from heed.paper.rows import operations, session_seconds
from heed.presets import preset
from heed.run import RunFolder

# Sustained single-precision TFLOPS, as the paper assumes them.
DEVICES = {"K80": 2.8, "K40": 3.7, "M40": 6.0, "P100": 9.5}


@dataclass(frozen=True)
class Published:
    """A training of the paper: its time, and the operations that Table 2 prints."""

    preset: str
    seconds: float
    devices: int
    device: str
    operations: float


TRAININGS = {
    "base": Published("base", 12 * 3600, 8, "P100", 3.3e18),
    "big": Published("big", 3.5 * 86400, 8, "P100", 2.3e19),
}


def by_the_rule(seconds: float, devices: int, teraflops: float) -> float:
    """Return seconds x devices x sustained speed."""
    return seconds * devices * teraflops * 1e12


def part(run: RunFolder | None, teraflops: float | None) -> Part:
    """Return both counts for the paper's trainings, and for a run whose device has this sustained speed."""
    rows: list[tuple[str, ...]] = []
    for name, one in TRAININGS.items():
        config = preset(one.preset)
        counted = config.train.max_steps * operations(config)
        rule = by_the_rule(one.seconds, one.devices, DEVICES[one.device])
        rows.append(
            (
                name,
                f"{one.seconds / 3600:.1f} h",
                f"{one.devices} x {one.device}",
                f"{one.operations:.1e}",
                f"{rule:.1e}",
                f"{counted:.1e}",
                f"{counted / rule:.0%}",
            )
        )
    notes = [
        "Printed and by the rule: Table 2's FLOPs are seconds x GPUs x sustained TFLOPS (K80 2.8, K40 3.7, M40 6.0, "
        "P100 9.5), so they are what the GPUs could have done. Counted: the multiplications and additions of the "
        "matrix products, forward and backward, for updates of 25,000 tokens in sentences of 25. The share is how "
        "much of the GPUs' speed the training used.",
        "Comparable: printed and by the rule are the same numbers, rounded. The durations of the other rows of Table "
        "2 are not in the paper, so only the paper's own two models are recomputed.",
    ]
    if run is not None:
        row, note = _of_run(run, teraflops)
        rows.append(row)
        notes.append(note)
    columns = ("training", "time", "devices", "printed", "rule", "counted", "share")
    table = Table(columns, tuple(rows), "Operations of a training")
    values = {"rows": [dict(zip(columns, row, strict=True)) for row in rows]}
    return Part("cost", "Section 5.2 and Table 2: the cost of a training", (table,), tuple(notes), values=values)


def _of_run(run: RunFolder, teraflops: float | None) -> tuple[tuple[str, ...], str]:
    """Return the row of a run, from its events, and a note on how it was counted.

    Raises:
        CheckpointError: the run has no events of its training, as a model in the box.
    """
    events = run.events()
    steps = max((event["step"] for event in events if event.get("event") == "step"), default=0)
    if not steps:
        raise CheckpointError(f"{run.events_path}: has no update of a training; give a run folder of `heed train`")
    seconds, tokens = session_seconds(events), run.config.train.batch_tokens
    counted = steps * operations(run.config)
    rule = None if teraflops is None else by_the_rule(seconds, 1, teraflops)
    row = (
        run.path.name,
        f"{seconds / 3600:.1f} h",
        "this" if teraflops is None else f"1 x {teraflops:g} T",
        "–",
        "–" if rule is None else f"{rule:.1e}",
        f"{counted:.1e}",
        "–" if not rule else f"{counted / rule:.0%}",
    )
    note = (
        f"{run.path}: {steps:,} updates of at most {tokens:,} tokens, counted as full ones; the time includes "
        "validation."
    )
    return row, note + ("" if teraflops else " For the rule, give the device's sustained speed: --teraflops.")
