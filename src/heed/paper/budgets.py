"""Train the rows of Table 2 to two budgets, the operations and the minutes of the Transformer, and measure them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from heed.config import DataConfig
from heed.data.store import PairStore
from heed.errors import DataError
from heed.paper import table2 as table
from heed.paper.measured import sustained_rate, training_speed, translated
from heed.paper.plan import cost_on
from heed.paper.rows import OnProgress, RowPlan, RowResult, train_rows
from heed.text.lines import read_lines


@dataclass(frozen=True)
class Scored:
    """The text that every row translates."""

    source: str
    target: str

    def pairs(self) -> tuple[list[str], list[str]]:
        """Return its lines and their translations.

        Raises:
            DataError: the two do not have the same number of lines.
        """
        sources, references = list(read_lines(self.source)), list(read_lines(self.target))
        if len(sources) != len(references) or not sources:
            raise DataError(
                f"{self.source} has {len(sources):,} lines and {self.target} {len(references):,}; give a text and its "
                "translation, line by line"
            )
        return sources, references


def train_to_budgets(
    rows: Sequence[str],
    scale: str,
    steps: int,
    data: DataConfig,
    folder: Path,
    scored: Scored,
    tune: bool,
    on_progress: OnProgress,
    say: Callable[[str], None],
) -> tuple[list[table.Ours], list[RowResult]]:
    """Train every row that is not finished, in subfolders of `folder`; return the rows, measured, and the trials.

    Raises:
        CheckpointError: a row's folder was started with other settings.
        KeyboardInterrupt: training was stopped by a signal; what is done is saved.
        HeedError: as `heed.training.loop.train` raises it.
    """
    sources, references = scored.pairs()
    store = PairStore.open(Path(data.prepared))
    vocabulary = store.tokenizer.vocabulary
    rate = sustained_rate(folder)
    configs = {row: table.row_config(row, scale, steps, data) for row in rows}
    lengths = store.source.lengths, store.target.lengths
    costs = {row: cost_on(config, vocabulary, *lengths) for row, config in configs.items()}
    by_flops = {row: table.steps_for(steps * costs[table.REFERENCE].operations, costs[row].operations) for row in rows}

    tried: list[RowResult] = []
    if tune:
        say(f"trials: {len(table.TRIAL_PEAKS) * len(table.TRIAL_DROPOUTS)} for each of {len(rows)} rows")
        plans = {row: table.trials(row, scale, by_flops[row], data) for row in rows}
        tried = train_rows([one for some in plans.values() for one in some], folder, on_progress)
        named = {one.name: one for one in tried}
        for row, some in plans.items():
            chosen = table.best_trial([named[one.name] for one in some])
            configs[row] = table.row_config(row, scale, steps, data, *chosen)

    def measured(budget: table.Budget, plans: dict[str, RowPlan]) -> list[table.Ours]:
        results = train_rows(list(plans.values()), folder, on_progress)
        found = []
        for row, result in zip(plans, results, strict=True):
            bleu, sentences_per_second = translated(result.path, sources, references, scored.source, say)
            speed = training_speed(result.path)
            found.append(
                table.Ours(
                    row=row,
                    budget=budget,
                    steps=result.steps,
                    parameters=result.parameters,
                    perplexity=result.perplexity,
                    bleu=bleu,
                    tokens_per_second=speed,
                    sentences_per_second=sentences_per_second,
                    operations=result.steps * costs[row].operations,
                    seconds=result.steps * costs[row].target_tokens / speed,
                    rate=rate,
                )
            )
        return found

    say("equal training FLOPs")
    # The Transformer's row is the same for both budgets: it defines them.
    names = {row: row if row == table.REFERENCE else f"{row}-flops" for row in rows}
    ours = measured("FLOPs", {row: table.plan(names[row], configs[row], by_flops[row]) for row in rows})
    seconds = {one.row: one.seconds / one.steps for one in ours}
    budget = next(one.seconds for one in ours if one.row == table.REFERENCE)
    by_minutes = {row: steps if row == table.REFERENCE else table.steps_for(budget, seconds[row]) for row in rows}
    say("equal minutes")
    names = {row: row if row == table.REFERENCE else f"{row}-minutes" for row in rows}
    ours += measured("minutes", {row: table.plan(names[row], configs[row], by_minutes[row]) for row in rows})
    return ours, tried
