"""Post-norm against pre-norm, with warm-up and without; all else equal."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from heed.config import Config, DataConfig
from heed.paper.report import Part, Table
from heed.paper.rows import RowPlan, RowResult
from heed.paper.table3 import Scale, rule, scaled
from heed.presets import table3
from heed.wording import perplexity

NORMS: tuple[Literal["post", "pre"], ...] = ("post", "pre")
WARMUPS = {
    "on": "equation (3), as published",
    "peak": "no rise: starts at the peak, then falls with 1/sqrt(step)",
    "off": "equation (3) without its rise: higher from the start",
}


def plans(how: Scale, seeds: int, data: DataConfig) -> list[RowPlan]:
    """Return all combinations of norm, warm-up and seed."""
    base = replace(scaled(table3("base"), how), data=data)
    return [
        RowPlan(f"{norm}-{warmup}-seed{seed}", _config(base, norm, warmup, seed))
        for norm in NORMS
        for warmup in WARMUPS
        for seed in range(1, seeds + 1)
    ]


def _config(base: Config, norm: Literal["post", "pre"], warmup: str, seed: int) -> Config:
    """Return base with another norm, warm-up and seed. With a warm-up of 1 step, equation (3) only falls."""
    train = replace(base.train, seed=seed)
    if warmup != "on":
        factor = train.warmup_steps**-0.5 if warmup == "peak" else train.learning_rate_factor
        train = replace(train, warmup_steps=1, learning_rate_factor=factor)
    return replace(base, model=replace(base.model, norm=norm), train=train)


def part(results: Sequence[RowResult], scale: str, how: Scale, seeds: int) -> Part:
    """Return perplexity and BLEU of each combination: mean over the seeds, and the range."""
    by_name = {one.name: one for one in results}
    rows = []
    for norm in NORMS:
        for warmup in WARMUPS:
            found = [by_name[f"{norm}-{warmup}-seed{seed}"] for seed in range(1, seeds + 1)]
            ppl, bleu = [one.perplexity for one in found], [one.bleu for one in found]
            rows.append(
                (
                    norm,
                    warmup,
                    perplexity(statistics.fmean(ppl)) if all(map(math.isfinite, ppl)) else "not finite",
                    f"{perplexity(min(ppl))} to {perplexity(max(ppl))}",
                    f"{statistics.fmean(bleu):.1f}",
                    f"{min(bleu):.1f} to {max(bleu):.1f}",
                )
            )
    columns = ("norm", "warm-up", "perplexity", "of all seeds", "BLEU", "of all seeds")
    notes = (
        f"{seeds} seeds each. Warm-up: " + "; ".join(f'"{name}": {what}' for name, what in WARMUPS.items()) + ".",
        rule(scale, how),
        "The paper has post-norm with warm-up only: there is nothing to compare with. BLEU is sacreBLEU.",
    )
    values = {"rows": [one.plain() for one in results], "scale": scale, "steps": how.max_steps}
    return Part(
        "norm",
        f"Post-norm and pre-norm, with and without warm-up, {how.max_steps:,} updates",
        (Table(columns, tuple(rows)),),
        notes,
        values=values,
    )
