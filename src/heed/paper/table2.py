"""Table 2: translation quality and training cost, of the paper's model and of those it was compared with.

The baselines are real models beside the Transformer (`model/recurrent.py`, `model/convolutional.py`) of about its size.
All train on the same text and vocabulary with the same batches, twice: with as many operations as the Transformer, and
with as many minutes. Equation (3) does not depend on the number of updates, so a budget only says where to stop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from heed.config import Config, DataConfig
from heed.errors import ConfigError
from heed.model.build import model_class
from heed.paper.chart import Axis, Series, chart
from heed.paper.plan import cost_note, shown_hours
from heed.paper.report import Part, Table
from heed.paper.rows import RowPlan, RowResult, operations
from heed.paper.speed import Speed
from heed.presets import preset
from heed.vocabulary import Vocabulary
from heed.wording import did_you_mean, perplexity

Budget = Literal["FLOPs", "minutes"]


@dataclass(frozen=True)
class Published:
    """A row as printed: BLEU on newstest2014 and training FLOPs; None: not printed."""

    model: str
    en_de: float | None
    en_fr: float | None
    flops_en_de: float | None = None
    flops_en_fr: float | None = None


PUBLISHED = (
    Published("ByteNet", 23.75, None),
    Published("Deep-Att + PosUnk", None, 39.2, None, 1.0e20),
    Published("GNMT + RL", 24.6, 39.92, 2.3e19, 1.4e20),
    Published("ConvS2S", 25.16, 40.46, 9.6e18, 1.5e20),
    Published("MoE", 26.03, 40.56, 2.0e19, 1.2e20),
    Published("Deep-Att + PosUnk ensemble", None, 40.4, None, 8.0e20),
    Published("GNMT + RL ensemble", 26.30, 41.16, 1.8e20, 1.1e21),
    Published("ConvS2S ensemble", 26.36, 41.29, 7.7e19, 1.2e21),
    Published("Transformer (base)", 27.3, 38.1, 3.3e18, 3.3e18),
    Published("Transformer (big)", 28.4, 41.8, 2.3e19, 2.3e19),
)
# Sustained single-precision TFLOPS of the devices that the paper assumes, in its footnote 5.
PAPER_TFLOPS = {"K80": 2.8, "K40": 3.7, "M40": 6.0, "P100": 9.5}


@dataclass(frozen=True)
class Baseline:
    """A row that heed trains."""

    preset: str
    peak: float  # learning rate, at the end of the warm-up
    theirs: str  # the published row that it stands for; empty: none


BASELINES = {
    "transformer": Baseline("tiny", 0.003, "Transformer (base)"),
    "gnmt": Baseline("gnmt-tiny", 0.002, "GNMT + RL"),
    "gru": Baseline("gru-tiny", 0.002, ""),
    "convs2s": Baseline("convs2s-tiny", 0.002, "ConvS2S"),
    "bytenet": Baseline("bytenet-tiny", 0.002, "ByteNet"),
}
BY_DEFAULT = ("transformer", "gnmt", "gru", "convs2s")
REFERENCE = "transformer"  # its operations and minutes are every row's budget


@dataclass(frozen=True)
class Scale:
    """The size of all rows."""

    width: int  # multiplies the presets' widths
    steps: int  # updates of the Transformer
    batch_tokens: int
    vocab_size: int


SCALES = {"tiny": Scale(1, 1_500, 2_048, 4_000), "small": Scale(2, 20_000, 8_192, 16_000)}

TRIAL_PEAKS, TRIAL_DROPOUTS = (0.5, 1.0, 2.0), (0.1, 0.3)  # times a row's own peak


def chosen_rows(names: str) -> list[str]:
    """Return the rows that "gnmt,convs2s" names, in the table's order; the Transformer is always one of them.

    Raises:
        ConfigError: there is no such row.
    """
    wanted = {name.strip() for name in names.split(",") if name.strip()} or set(BY_DEFAULT)
    for name in sorted(wanted - BASELINES.keys()):
        raise ConfigError(f'unknown row "{name}"{did_you_mean(name, BASELINES)}; rows: {", ".join(BASELINES)}')
    return [row for row in BASELINES if row in wanted | {REFERENCE}]


def row_config(row: str, scale: str, steps: int, data: DataConfig, peak: float = 1.0, dropout: float = -1.0) -> Config:
    """Return the settings of a row. `steps` are the Transformer's: a quarter of them is every row's warm-up.

    `peak` multiplies the row's own peak learning rate; a negative `dropout` is the preset's.
    """
    baseline, how = BASELINES[row], SCALES[scale]
    config = preset(baseline.preset)
    model, train, warmup = config.model, config.train, max(1, steps // 4)
    model = replace(model, d_model=how.width * model.d_model, dropout=dropout if dropout >= 0 else model.dropout)
    if model.kind == "transformer":
        model = replace(model, d_ff=how.width * model.d_ff)
    # Equation (3) peaks at factor · (d_model · warm-up)^-0.5.
    factor = peak * baseline.peak / how.width**0.5 * (model.d_model * warmup) ** 0.5
    return replace(
        config,
        model=model,
        text=replace(config.text, vocab_size=how.vocab_size),
        data=data,
        train=replace(
            train,
            batch_tokens=how.batch_tokens,
            warmup_steps=warmup,
            learning_rate_factor=factor,
            patience=0,
            metric="bleu",
        ),
    )


def plan(name: str, config: Config, steps: int) -> RowPlan:
    """Return a row to train for this many updates."""
    steps = max(1, steps)
    train = replace(
        config.train,
        max_steps=steps,
        validate_every=steps,
        save_every=max(1, steps // 20),
        log_every=max(1, min(50, steps // 5)),
    )
    return RowPlan(name, replace(config, train=train))


def trials(row: str, scale: str, steps: int, data: DataConfig) -> list[RowPlan]:
    """Return short trainings of a row, a quarter as long, with other learning rates and dropouts."""
    return [
        plan(
            f"{row}-try-peak{peak:g}-dropout{dropout:g}",
            row_config(row, scale, max(1, steps // 4), data, peak, dropout),
            steps // 4,
        )
        for peak in TRIAL_PEAKS
        for dropout in TRIAL_DROPOUTS
    ]


def best_trial(results: Sequence[RowResult]) -> tuple[float, float]:
    """Return peak (relative) and dropout of the trial with the lowest validation perplexity."""
    best = min(range(len(results)), key=lambda i: results[i].perplexity)
    return TRIAL_PEAKS[best // len(TRIAL_DROPOUTS)], TRIAL_DROPOUTS[best % len(TRIAL_DROPOUTS)]


# --- cost ---------------------------------------------------------------------------------------------------


def steps_for(budget: float, per_step: float) -> int:
    """Return how many updates use up a budget."""
    return max(1, round(budget / per_step))


# --- results ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ours:
    """A trained row, measured."""

    row: str
    budget: Budget
    steps: int
    parameters: int
    perplexity: float  # of the validation text, after the last update
    bleu: float  # sacreBLEU of the scored text, by the best checkpoint
    tokens_per_second: float  # target tokens in training, without validation
    sentences_per_second: float  # in translation
    operations: float  # of the whole training, counted
    seconds: float  # of the updates
    rate: float  # FLOP/s that this machine sustains

    @property
    def flops_by_rule(self) -> float:
        """Return the training FLOPs as the paper estimates them: time × devices × sustained rate."""
        return self.seconds * self.rate


def plan_part(rows: Sequence[str], scale: str, steps: int, speeds: Mapping[str, Speed]) -> Part:
    """Return the plan: the size of each row, its updates for each budget, and its cost."""
    configs = {row: row_config(row, scale, steps, DataConfig()) for row in rows}
    costs = {row: operations(config) for row, config in configs.items()}
    budget = steps * costs[REFERENCE]
    minutes = budget * speeds[REFERENCE].seconds_per_operation / 60
    table, total = [], 0.0
    for row in rows:
        seconds = costs[row] * speeds[row].seconds_per_operation
        by_flops, by_minutes = steps_for(budget, costs[row]), steps_for(60 * minutes, seconds)
        total += (by_flops + (by_minutes if row != REFERENCE else 0)) * seconds / 3600
        millions = _parameters(configs[row]) / 1e6
        found = (row, f"{millions:.1f}", _flops(costs[row]), f"{by_flops:,}")
        table.append((*found, f"{by_flops * seconds / 60:,.0f}", f"{by_minutes:,}"))
    columns = ("row", "M", "FLOPs/step", "steps", "its minutes", "steps in equal time")
    notes = (
        rule(scale, steps),
        cost_note(
            shown_hours(total),
            "sentences of 25 pieces",
            f"--tune adds {len(TRIAL_PEAKS) * len(TRIAL_DROPOUTS)} trials for each row, a quarter as long",
            speeds.values(),
        ),
    )
    values = {"rows": [dict(zip(columns, row, strict=True)) for row in table], "hours": total}
    return Part("table2-plan", "Table 2: the plan", (Table(columns, tuple(table)),), notes, values=values)


def rule(scale: str, steps: int) -> str:
    """Describe how the rows are trained."""
    how = SCALES[scale]
    widths = "the presets' widths" if how.width == 1 else f"{how.width} times the presets' widths"
    return (
        f"Scale {scale}: {widths}, at most {how.vocab_size:,} pieces, updates of {how.batch_tokens:,} tokens. The "
        f"Transformer makes {steps:,} updates; the others make as many as have the same number of operations and, in a "
        f"second training, as take the same time. Adam and equation (3) with a warm-up of {max(1, steps // 4):,}; each "
        "row has its own peak learning rate and dropout."
    )


def part(ours: Sequence[Ours], tried: Sequence[RowResult], scale: str, steps: int, scored: str, device: str) -> Part:
    """Return the table: the published rows, and ours for each budget."""
    theirs = {row.model: row for row in PUBLISHED}
    tables = [published_table()]
    for budget in ("FLOPs", "minutes"):
        rows = [_row(one, theirs.get(BASELINES[one.row].theirs)) for one in ours if one.budget == budget]
        columns = ("row", "theirs", "BLEU", "steps", "M", "tok/s", "sent/s", "FLOPs", "by rule", "min")
        tables.append(Table(columns, tuple(rows), f"Ours, equal {budget}"))
    if tried:
        listed = tuple((one.name, f"{one.steps:,}", perplexity(one.perplexity), f"{one.bleu:.2f}") for one in tried)
        tables.append(Table(("trial", "steps", "perplexity", "BLEU"), listed, "Trials, on validation text"))
    points = [Series(one.row, [(one.operations, one.bleu)]) for one in ours if one.budget == "minutes"]
    printed = [
        Series(row.model, [(row.flops_en_de, row.en_de)])
        for row in PUBLISHED
        if row.flops_en_de is not None and row.en_de is not None
    ]
    flops = Axis("training FLOPs", log=True)
    charts = (
        chart("Published, newstest2014 English-German", flops, Axis("BLEU"), printed),
        chart(f"Ours, equal minutes, {scored}", flops, Axis("BLEU"), points),
    )
    notes = (
        rule(scale, steps),
        f"theirs: BLEU as printed, English-German, newstest2014, models 30 to 100 times as large on 4.5 M pairs. Ours: "
        f"sacreBLEU on {scored}. The two may not be compared; whether the rows come in the same order may.",
        "FLOPs: multiplications and additions of the matrix products, forward and backward, counted from shapes and "
        "the lengths of the sentences; without padding, softmax and Adam. by rule: the paper's estimate, time × "
        f"devices × sustained rate; here one device ({device}). The paper assumes "
        f"{', '.join(f'{name} {rate}' for name, rate in PAPER_TFLOPS.items())} TFLOPS.",
        "Differences from the published models: gnmt is GNMT without reinforcement learning and with half of the width "
        "in each direction of its first layer; gru is the same with GRU cells; convs2s has no weight normalisation; "
        "bytenet has ByteNet's dilations, but attends to the source as ConvS2S does.",
        _tuned_note(bool(tried)),
    )
    values = {
        "published": [asdict(row) for row in PUBLISHED],
        "ours": [{**asdict(one), "flops_by_rule": one.flops_by_rule} for one in ours],
        "trials": [{**asdict(one), "path": str(one.path)} for one in tried],
        "scale": scale,
        "steps": steps,
        "scored": scored,
    }
    title = "Table 2: translation quality and training cost"
    return Part("table2", title, tuple(tables), notes, charts, values)


def published_part() -> Part:
    """Return the published rows alone."""
    note = "To train rows of your own beside them: heed paper table2 --data FOLDER (heed data get multi30k)."
    values = {"published": [asdict(row) for row in PUBLISHED]}
    return Part("table2", "Table 2: translation quality and training cost", (published_table(),), (note,), (), values)


def published_table() -> Table:
    """Return the published rows as a table."""
    rows = tuple(
        (row.model, _number(row.en_de), _number(row.en_fr), _flops(row.flops_en_de), _flops(row.flops_en_fr))
        for row in PUBLISHED
    )
    columns = ("model", "EN-DE", "EN-FR", "FLOPs EN-DE", "FLOPs EN-FR")
    return Table(columns, rows, "Published: BLEU on newstest2014, training FLOPs")


def _row(one: Ours, theirs: Published | None) -> tuple[str, ...]:
    return (
        one.row,
        _number(None if theirs is None else theirs.en_de),
        f"{one.bleu:.2f}",
        f"{one.steps:,}",
        f"{one.parameters / 1e6:.1f}",
        f"{one.tokens_per_second:,.0f}",
        f"{one.sentences_per_second:.0f}",
        _flops(one.operations),
        _flops(one.flops_by_rule),
        f"{one.seconds / 60:.1f}",
    )


def _tuned_note(is_tuned: bool) -> str:
    if is_tuned:
        return (
            "Each row's learning rate and dropout are those of its best trial above, a quarter as long, by validation "
            "perplexity; every row had the same number of trials."
        )
    return (
        "Learning rates and dropouts are the defaults of the rows, not tuned on this text; --tune chooses them on the "
        "validation text, with as many trials for each row."
    )


def _parameters(config: Config) -> int:
    return model_class(config.model).count_parameters(config.model, Vocabulary(config.text.vocab_size))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _flops(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}".replace("e+", "e")
