"""Section 3.5: learned positions against sinusoids, beyond the length that was trained on.

The paper chose sinusoids because they "may allow the model to extrapolate to sequence lengths longer than the ones
encountered during training", and measured no such lengths. Here both are trained on short sentences only.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from heed.config import DataConfig
from heed.durable import write_file
from heed.errors import DataError
from heed.evaluate.criterion import BLEU
from heed.paper.chart import Axis, Series, chart
from heed.paper.report import Part, Table
from heed.paper.rows import RowPlan, RowResult
from heed.paper.table3 import SCALES, scaled
from heed.paper.texts import Texts
from heed.paper.trained import within_limit
from heed.presets import table3
from heed.run import RunFolder
from heed.text.lines import read_lines
from heed.training.validate import validate
from heed.training.workers import all_workers
from heed.wording import perplexity

KINDS = {"sinusoidal": "base", "learned": "E-learned"}  # and the row of Table 3 that has them
_LEAST_PAIRS = 50  # to train on


def short_texts(texts: Texts, longest: int, folder: Path) -> Texts:
    """Write the training pairs of at most `longest` words on both sides to a folder; the validation text stays.

    Raises:
        DataError: there are too few of them.
    """
    paths = [folder / f"train-{longest}.{side}" for side in ("source", "target")]
    pairs = zip(read_lines(texts.source), read_lines(texts.target), strict=True)
    short = [pair for pair in pairs if max(len(side.split()) for side in pair) <= longest]
    if len(short) < _LEAST_PAIRS:
        raise DataError(
            f"{texts.source}: only {len(short)} pairs have at most {longest} words on both sides; raise --longest"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for side, path in enumerate(paths):
        content = "".join(f"{pair[side]}\n" for pair in short).encode()
        if not path.exists() or path.read_bytes() != content:  # a run notices by its time that a text has changed
            write_file(path, content)
    return replace(texts, source=str(paths[0].absolute()), target=str(paths[1].absolute()))


def plans(scale: str, data: DataConfig) -> list[RowPlan]:
    """Return the two models to train, which differ in their positions only."""
    return [RowPlan(kind, replace(scaled(table3(row), SCALES[scale]), data=data)) for kind, row in KINDS.items()]


def buckets(longest: int) -> list[tuple[int, int]]:
    """Return ranges of lengths in words: within what was trained, then beyond it in steps of half of it."""
    step = max(1, longest // 2)
    starts = [longest + 1 + i * step for i in range(3)]
    return [(1, longest), *((begin, begin + step - 1) for begin in starts), (starts[-1] + step, 1 << 30)]


def part(results: Sequence[RowResult], texts: Texts, longest: int, scale: str) -> Part:
    """Score both models on validation sentences by length; a range without sentences is left out."""
    pairs = list(zip(read_lines(texts.valid_source), read_lines(texts.valid_target), strict=True))
    pairs = within_limit(RunFolder.open(results[0].path), pairs)
    groups = {
        (low, high): [pair for pair in pairs if low <= max(len(side.split()) for side in pair) <= high]
        for low, high in buckets(longest)
    }
    groups = {bounds: group for bounds, group in groups.items() if group}
    scores: dict[str, list[dict[str, float]]] = {}
    for result in results:
        run = RunFolder.open(result.path)
        model = run.load_model("last")
        with all_workers() as workers:
            scores[result.name] = [
                validate(model.to(workers.device), run.tokenizer, group, run.config.decode, BLEU, workers).scores
                for group in groups.values()
            ]
    rows = tuple(
        (
            f"{low}-{high}" if high < 1 << 30 else f"{low} and more",
            "yes" if high <= longest else "no",
            str(len(group)),
            *(perplexity(scores[kind][i]["perplexity"]) for kind in KINDS),
            *(f"{scores[kind][i]['bleu']:.1f}" for kind in KINDS),
        )
        for i, ((low, high), group) in enumerate(groups.items())
    )
    columns = ("words", "trained", "pairs", "ppl sin", "learned", "BLEU sin", "learned")
    notes = (
        f"Both models were trained on pairs of at most {longest} words, and differ in nothing but their positions "
        f"(Table 3, base and row (E), at scale {scale}). Learned positions beyond the longest training sentence have "
        "never been trained; sinusoids have no parameters.",
        'The paper says that sinusoids "may allow the model to extrapolate", and prints no number: there is nothing to '
        "compare with. On lengths that were trained it found no difference (25.8 and 25.7 BLEU).",
    )
    series = [
        Series(kind, [(low, found["perplexity"]) for (low, _), found in zip(groups, scores[kind], strict=True)])
        for kind in KINDS
    ]
    picture = chart(
        "Perplexity by length", Axis("words, at least"), Axis("perplexity", log=True), series, [("trained", longest)]
    )
    values = {
        "longest": longest,
        "scale": scale,
        "groups": [{"words": bounds, "pairs": len(group)} for bounds, group in groups.items()],
        "scores": scores,
    }
    title = "Section 3.5: positions beyond the trained length"
    return Part("positions", title, (Table(columns, rows),), notes, (picture,), values)
