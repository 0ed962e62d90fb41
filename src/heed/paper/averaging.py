"""Section 6.1: what averaging the last n checkpoints of a run changes."""

from collections.abc import Callable

from heed.checkpoint import average, read_tensors
from heed.errors import CheckpointError
from heed.evaluate.criterion import BLEU
from heed.model.build import build_model
from heed.paper.chart import Axis, Series, chart
from heed.paper.report import Part, Table
from heed.paper.trained import Trained
from heed.run import load_weights
from heed.training.validate import validate
from heed.training.workers import all_workers
from heed.wording import perplexity


def part(one: Trained, tell: Callable[[int], None] = lambda done: None) -> Part:
    """Average the last 1, 2, 3, ... checkpoints of a run, and score each average.

    Raises:
        CheckpointError: the run has fewer than two checkpoints.
    """
    run, steps = one.run, one.run.steps()
    if len(steps) < 2:
        raise CheckpointError(
            f"{run.path}: has {len(steps)} checkpoint; averaging needs two or more. Train with a smaller "
            "train.save_every and a larger train.keep_checkpoints"
        )
    found = []
    with all_workers() as workers:
        for n in range(1, len(steps) + 1):
            weights = average(read_tensors(run.step_path(step), "model") for step in steps[-n:])
            model = build_model(run.config.model, run.tokenizer.vocabulary).to(workers.device)
            load_weights(model, weights, str(run.path))
            scores = validate(model, run.tokenizer, one.pairs, run.config.decode, BLEU, workers).scores
            found.append((n, steps[-n], scores["perplexity"], scores["bleu"]))
            tell(n)
    first = found[0]
    rows = tuple(
        (str(n), f"{since:,}", perplexity(ppl), f"{bleu:.2f}", f"{ppl - first[2]:+.3f}", f"{bleu - first[3]:+.2f}")
        for n, since, ppl, bleu in found
    )
    columns = ("averaged", "from step", "perplexity", "BLEU", "change", "change")
    notes = (
        f"{run.path}, on {len(one.pairs):,} pairs of {one.text}; sacreBLEU, beam {run.config.decode.beam}, alpha "
        f"{run.config.decode.alpha:g}.",
        "The paper averages the last 5 checkpoints of base, written every 10 minutes, and the last 20 of big. It "
        "prints no score of one model with and without, so there is nothing to compare the change with.",
    )
    series = [Series("BLEU", [(n, bleu) for n, _, _, bleu in found])]
    values = {"rows": [dict(zip(("averaged", "from_step", "perplexity", "bleu"), row, strict=True)) for row in found]}
    title = "Section 6.1: averaging the last n checkpoints"
    picture = chart("BLEU of the average", Axis("checkpoints averaged"), Axis("BLEU"), series)
    return Part("averaging", title, (Table(columns, rows),), notes, (picture,), values)
