"""Table 3: variations of the base model, trained at a scale the user picks, and what each changes."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from heed.config import Config, DataConfig
from heed.errors import ConfigError
from heed.paper.chart import Axis, Series, chart
from heed.paper.plan import Planned, plan_part
from heed.paper.report import Part, Table
from heed.paper.rows import RowPlan, RowResult, operations
from heed.paper.speed import Speed
from heed.presets import TABLE_3, table3
from heed.training.precision import has_own_products
from heed.vocabulary import Vocabulary
from heed.wording import did_you_mean, perplexity


@dataclass(frozen=True)
class Published:
    """A row as printed: on newstest2013, beam search, no averaging."""

    change: str  # from base
    perplexity: float  # per word piece
    bleu: float
    millions: int | None = None  # of parameters; None: not printed, as in base


ROWS = {
    "base": Published("", 4.92, 25.8, 65),
    "A-h1": Published("h=1, d_k=d_v=512", 5.29, 24.9),
    "A-h4": Published("h=4, d_k=d_v=128", 5.00, 25.5),
    "A-h16": Published("h=16, d_k=d_v=32", 4.91, 25.8),
    "A-h32": Published("h=32, d_k=d_v=16", 5.01, 25.4),
    "B-dk16": Published("d_k=16", 5.16, 25.1, 58),
    "B-dk32": Published("d_k=32", 5.01, 25.4, 60),
    "C-N2": Published("N=2", 6.11, 23.7, 36),
    "C-N4": Published("N=4", 5.19, 25.3, 50),
    "C-N8": Published("N=8", 4.88, 25.5, 80),
    "C-d256": Published("d_model=256", 5.75, 24.5, 28),
    "C-d1024": Published("d_model=1024", 4.66, 26.0, 168),
    "C-ff1024": Published("d_ff=1024", 5.12, 25.4, 53),
    "C-ff4096": Published("d_ff=4096", 4.75, 26.2, 90),
    "D-drop0.0": Published("dropout 0.0", 5.77, 24.6),
    "D-drop0.2": Published("dropout 0.2", 4.95, 25.5),
    "D-ls0.0": Published("smoothing 0.0", 4.67, 25.3),
    "D-ls0.2": Published("smoothing 0.2", 5.47, 25.7),
    "E-learned": Published("learned positions", 4.92, 25.7),
    "big": Published("big, 3 x the steps", 4.33, 26.4, 213),
}
assert ROWS.keys() == TABLE_3.keys()
GROUPS = {
    "A": "heads",
    "B": "key size",
    "C": "size of the model",
    "D": "regularisation",
    "E": "positions",
    "big": "big",
}


@dataclass(frozen=True)
class Scale:
    """How a row is made smaller. Every row keeps its ratio to base; rates (dropout, smoothing) and heads stay."""

    width: int  # divides d_model, d_ff, d_k and d_v
    layers: int  # divides N
    max_steps: int  # of base; big has three times as many, as published
    batch_tokens: int
    warmup_steps: int
    vocab_size: int
    is_fast: bool = False  # products in bfloat16, where the processor has instructions for them


SCALES = {
    "tiny": Scale(4, 2, 1_500, 1_536, 500, 4_000, is_fast=True),
    "small": Scale(2, 1, 24_000, 8_192, 4_000, 16_000),
    "paper": Scale(1, 1, 100_000, 25_000, 4_000, 37_000),
}


def scale_named(name: str, known: Sequence[str] = tuple(SCALES)) -> Scale:
    """Return the scale with this name.

    Raises:
        ConfigError: there is none.
    """
    if name not in known:
        raise ConfigError(f'--scale "{name}"{did_you_mean(name, known)}; choose from: {", ".join(known)}')
    return SCALES[name]


def chosen_rows(names: str) -> list[str]:
    """Return the rows that "A,C-N2,big" names, in the table's order; base is always one of them. Empty: all.

    Raises:
        ConfigError: a name is neither a row nor a group.
    """
    wanted = {"base"}
    for name in filter(None, (part.strip() for part in names.split(","))):
        found = {row for row in ROWS if name.lower() in (row.lower(), row.partition("-")[0].lower())}
        if not found:
            known = [*(group for group in GROUPS if group != "big"), *ROWS]
            raise ConfigError(
                f'unknown row "{name}"{did_you_mean(name, known)}; groups: A, B, C, D, E; rows: {", ".join(ROWS)}'
            )
        wanted |= found
    return [row for row in ROWS if row in wanted or not names.strip()]


def shorter(scale: Scale, steps: int) -> Scale:
    """Return a scale whose base makes this many updates; the warm-up keeps its share of them."""
    return replace(scale, max_steps=steps, warmup_steps=max(1, scale.warmup_steps * steps // scale.max_steps))


def scaled(config: Config, scale: Scale) -> Config:
    """Return a row of the paper at a smaller scale, with all its ratios to base."""
    model, train = config.model, config.train
    max_steps = train.max_steps * scale.max_steps // table3("base").train.max_steps
    is_bfloat16 = scale.is_fast and not torch.cuda.is_available() and has_own_products("bfloat16", torch.device("cpu"))
    return replace(
        config,
        model=replace(
            model,
            encoder_layers=model.encoder_layers // scale.layers,
            decoder_layers=model.decoder_layers // scale.layers,
            d_model=model.d_model // scale.width,
            d_ff=model.d_ff // scale.width,
            d_k=None if model.d_k is None else model.d_k // scale.width,
            d_v=None if model.d_v is None else model.d_v // scale.width,
        ),
        text=replace(config.text, vocab_size=scale.vocab_size),
        train=replace(
            train,
            max_steps=max_steps,
            batch_tokens=scale.batch_tokens,
            warmup_steps=scale.warmup_steps,
            validate_every=max(1, max_steps // 2),
            save_every=max(1, max_steps // 20),
            keep_checkpoints=2,
            metric="bleu",
            precision="bfloat16" if is_bfloat16 else "float32",
        ),
    )


def plans(rows: Sequence[str], scale: str, seeds: int, data: DataConfig) -> list[RowPlan]:
    """Return what to train: each row once, and base with several seeds, whose spread is the noise."""
    found = []
    for row in rows:
        config = replace(scaled(table3(row), SCALES[scale]), data=data)
        for seed in range(1, (seeds if row == "base" else 1) + 1):
            name = row if seed == 1 else f"{row}-seed{seed}"
            found.append(RowPlan(name, replace(config, train=replace(config.train, seed=seed))))
    return found


def rule(scale: str, how: Scale | None = None) -> str:
    """Describe how a scale changes the paper's rows; `how` is the scale, if not as its name says."""
    how = how or SCALES[scale]
    if scale == "paper":
        return "The paper's rows to the letter: 100,000 updates of 25,000 tokens (big 300,000), 37,000 pieces."
    layers = f"N divided by {how.layers}" if how.layers > 1 else "N as published"
    return (
        f"Scale {scale}: d_model, d_ff, d_k and d_v divided by {how.width}, {layers}, so every row keeps its ratio to "
        f"base; heads, dropout, label smoothing and equation (3) as published. {how.max_steps:,} updates (big three "
        f"times as many, as published) of {how.batch_tokens:,} tokens with a warm-up of {how.warmup_steps:,}; at most "
        f"{how.vocab_size:,} pieces"
        + ("; products in bfloat16 on a CPU that has instructions for them." if how.is_fast else ".")
    )


def plan_of(found: Sequence[RowPlan], scale: str, speed: Speed) -> Part:
    """Return the plan: the shape of each model, its size and its cost."""
    planned = [Planned(row, Vocabulary(row.config.text.vocab_size), operations(row.config)) for row in found]
    settings: dict[str, Callable[[RowPlan], str]] = {
        "N": lambda row: str(row.config.model.encoder_layers),
        "d_model": lambda row: str(row.config.model.d_model),
        "d_ff": lambda row: str(row.config.model.d_ff),
        "h": lambda row: str(row.config.model.h),
        "d_k/d_v": lambda row: f"{row.config.model.key_size}/{row.config.model.value_size}",
        "drop/ls": lambda row: f"{row.config.model.dropout:g}/{row.config.train.label_smoothing:g}",
    }
    return plan_part(
        "table3-plan",
        "Table 3: the plan",
        planned,
        settings,
        [speed] * len(planned),
        rule(scale),
        "sentences of 25 pieces",
        "validation comes on top",
    )


@dataclass(frozen=True)
class Ours:
    """A row as trained here."""

    result: RowResult
    paper_bleu: float  # tokenised and compound-split, the kind of BLEU in the paper


def part(rows: Sequence[str], ours: Sequence[Ours], scale: str, valid: str) -> Part:
    """Return the table: theirs, ours, the change from base in both, and what differs."""
    by_name = {one.result.name: one for one in ours}
    bases = [one for one in ours if one.result.name.partition("-seed")[0] == "base"]
    spread = {
        "perplexity": _spread([one.result.perplexity for one in bases]),
        "bleu": _spread([one.paper_bleu for one in bases]),
    }
    tables = (_scores(rows, by_name, bases), _changes(rows, by_name, bases, spread))
    seeds = len(bases)
    noise = (
        f"base was trained with {seeds} seeds: they differ by {spread['perplexity']:.2f} in perplexity and "
        f"{spread['bleu']:.1f} BLEU. Smaller changes are called noise."
        if seeds > 1
        else "base was trained with one seed, so the noise is not known; --seeds 2 measures it."
    )
    return Part(
        "table3",
        "Table 3: variations of the base model",
        tables,
        (rule(scale), noise, comparable(scale, valid), _BLEU_NOTE),
        (_chart(rows, by_name, bases),),
        {
            "scale": scale,
            "noise": spread,
            "published": {row: vars(ROWS[row]) for row in rows},
            "ours": {name: {**one.result.plain(), "paper_bleu": one.paper_bleu} for name, one in by_name.items()},
        },
    )


_BLEU_NOTE = (
    "BLEU is the paper's kind, tokenised and compound-split, for theirs and ours; the JSON has sacreBLEU as well. "
    "Perplexity is per piece and without label smoothing. Scores are of the last update, without averaging, as in the "
    "paper."
)


def comparable(scale: str, valid: str) -> str:
    """Say whether our numbers may stand beside the paper's."""
    if scale == "paper" and Path(valid).name.startswith("newstest2013"):
        return (
            "Comparable: the paper's models, updates and test set. What differs: sub-words are learnt by sentencepiece "
            "on raw text, so perplexity is per other pieces; docs/paper.md lists the rest."
        )
    return (
        f"Not comparable in absolute numbers: other text ({Path(valid).name})"
        + (", smaller models and fewer updates" if scale != "paper" else "")
        + ". What may be compared is the direction of each change from base."
    )


def _scores(rows: Sequence[str], ours: dict[str, Ours], bases: Sequence[Ours]) -> Table:
    found = []
    for row in rows:
        theirs, one = ROWS[row], ours[row]
        ppl = _mean([base.result.perplexity for base in bases]) if row == "base" else one.result.perplexity
        bleu = _mean([base.paper_bleu for base in bases]) if row == "base" else one.paper_bleu
        found.append(
            (
                row,
                theirs.change,
                str(theirs.millions or ROWS["base"].millions),
                f"{one.result.parameters / 1e6:.1f}",
                f"{theirs.perplexity:.2f}",
                perplexity(ppl),
                f"{theirs.bleu:.1f}",
                f"{bleu:.1f}",
            )
        )
    return Table(("row", "change", "M", "ours", "ppl", "ours", "BLEU", "ours"), tuple(found), "Theirs and ours")


def _changes(rows: Sequence[str], ours: dict[str, Ours], bases: Sequence[Ours], spread: dict[str, float]) -> Table:
    found = []
    base_ppl, base_bleu = _mean([one.result.perplexity for one in bases]), _mean([one.paper_bleu for one in bases])
    for row in rows:
        if row == "base":
            continue
        theirs = ROWS[row].perplexity - ROWS["base"].perplexity, ROWS[row].bleu - ROWS["base"].bleu
        here = ours[row].result.perplexity - base_ppl, ours[row].paper_bleu - base_bleu
        found.append(
            (
                row,
                f"{theirs[0]:+.2f}",
                f"{here[0]:+.2f}",
                verdict(theirs[0], here[0], spread["perplexity"], 0.005),
                f"{theirs[1]:+.1f}",
                f"{here[1]:+.1f}",
                verdict(theirs[1], here[1], spread["bleu"], 0.05),
            )
        )
    columns = ("row", "ppl", "ours", "same way?", "BLEU", "ours", "same way?")
    return Table(columns, tuple(found), "Change from base")


def verdict(theirs: float, ours: float, noise: float, rounding: float) -> str:
    """Say whether a change has the direction of the published one."""
    if abs(theirs) < rounding:
        return "theirs: none"
    if abs(ours) <= max(noise, rounding):
        return "noise"
    return "yes" if (theirs > 0) == (ours > 0) else "no"


def _chart(rows: Sequence[str], ours: dict[str, Ours], bases: Sequence[Ours]) -> str:
    base = _mean([one.paper_bleu for one in bases])
    series = [
        Series(
            f"({group}) {name}" if group != "big" else "big",
            [
                (ROWS[row].bleu - ROWS["base"].bleu, ours[row].paper_bleu - base)
                for row in rows
                if row.partition("-")[0] == group
            ],
            line=False,
        )
        for group, name in GROUPS.items()
    ]
    shown = [one for one in series if one.points]
    return chart("BLEU: change from base", Axis("theirs"), Axis("ours"), shown)


def _spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values)
