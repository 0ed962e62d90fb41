"""Section 5.3: equation (3), the learning rate over a training, drawn and in numbers."""

from heed.config import Config
from heed.paper.chart import Axis, Series, chart
from heed.paper.report import Part, Table
from heed.presets import preset
from heed.training.schedule import cooldown, learning_rate

_POINTS = 60


def part(others: dict[str, Config]) -> Part:
    """Return the rate of the paper's base and big models, of base with other warm-ups, and of `others`, by name."""
    base, big = preset("base"), preset("big")
    curves = {"base": base, "big": big, **others}
    rows = tuple(
        (name, str(config.model.d_model), f"{warmup:,}", *(f"{_rate(config, step):.2e}" for step in (1, warmup, last)))
        for name, config in curves.items()
        for warmup, last in [(config.train.warmup_steps, config.train.max_steps)]
    )
    table = Table(("model", "d_model", "warm-up", "at step 1", "peak", "at the end"), rows)
    last = base.train.max_steps
    warmups = [1_000, 4_000, 16_000]
    by_warmup = [
        Series(
            f"warm-up {warmup:,}", [(step, learning_rate(step, base.model.d_model, warmup)) for step in _steps(last)]
        )
        for warmup in warmups
    ]
    by_model = [Series(name, [(s, _rate(one, s)) for s in _steps(one.train.max_steps)]) for name, one in curves.items()]
    charts = (
        chart("Equation (3): base and big", Axis("step", log=True), Axis("learning rate"), by_model),
        chart("Equation (3): base with other warm-ups", Axis("step", log=True), Axis("learning rate"), by_warmup),
    )
    notes = (
        "The rate rises linearly to factor * (d_model * warm-up)^-0.5, then falls with the inverse square root of the "
        "step. The paper prints the formula and the warm-up, and no rates: there is nothing to compare with.",
    )
    values = {"rows": [dict(zip(table.columns, row, strict=True)) for row in rows]}
    return Part("schedule", "Section 5.3: the learning rate", (table,), notes, charts, values)


def _rate(config: Config, step: int) -> float:
    train = config.train
    rate = learning_rate(step, config.model.d_model, train.warmup_steps, train.learning_rate_factor)
    return rate * cooldown(step, train.max_steps, train.cooldown_steps)


def _steps(last: int) -> list[int]:
    """Return steps from 1 to the last, evenly spaced on a logarithmic axis."""
    return sorted({round(last ** (i / _POINTS)) for i in range(_POINTS + 1)})
