"""Learning curves: how many heads, and how much text, are enough for a model of a given size. Minutes; resumes."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from heed.bar import counting
from heed.durable import read_json, write_json
from heed.errors import ConfigError
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import Asked
from heed.paper.questions.tiny import SHAPE, Language, language, train
from heed.paper.report import Part, Table
from heed.wording import did_you_mean

QUESTION = "How many heads and how much text are enough?"


@dataclass(frozen=True)
class Scale:
    """How much is trained."""

    drawn: int  # sentences of the grammar
    max_words: int  # of an English sentence
    steps: int
    heads: tuple[int, ...]
    widths: tuple[int, ...]  # d_model
    shares: tuple[float, ...]  # of the text


SCALES = {
    "quick": Scale(15_000, 6, 300, (1, 4, 16), (16, 64), (0.1, 0.3, 1.0)),
    "small": Scale(60_000, 7, 800, (1, 2, 4, 8, 16), (32, 64, 128), (0.06, 0.12, 0.25, 0.5, 1.0)),
    "large": Scale(400_000, 10, 6_000, (1, 2, 4, 8, 16, 32), (64, 128, 256), (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)),
}


@dataclass(frozen=True)
class Cell:
    """One training."""

    d_model: int
    h: int
    pairs: int
    steps: int


def answer(asked: Asked) -> Part:
    """Train every cell that is not in the folder yet, and draw the curves.

    Raises:
        ConfigError: there is no such scale.
    """
    if asked.scale not in SCALES:
        raise ConfigError(
            f"no scale {asked.scale!r}; take one of {', '.join(SCALES)}{did_you_mean(asked.scale, list(SCALES))}"
        )
    scale = SCALES[asked.scale]
    text = language(scale.drawn, scale.max_words)
    by_heads = [Cell(64, h, len(text.train), scale.steps) for h in scale.heads]
    by_text = [
        Cell(width, 4, round(share * len(text.train)), scale.steps) for width in scale.widths for share in scale.shares
    ]
    cells = list(dict.fromkeys([*by_heads, *by_text]))
    folder = asked.folder / "saturation" / asked.scale
    with counting(len(cells), "trainings") as show:
        found = {}
        for number, cell in enumerate(cells, 1):
            found[cell] = _result(cell, text, folder)
            show(number)
    curves = [
        Series(f"d_model {width}", [(cell.pairs, found[cell][0]) for cell in by_text if cell.d_model == width])
        for width in scale.widths
    ]
    return Part(
        "question-saturation",
        QUESTION,
        (
            Table(("heads", "held-out loss", "translated right"), tuple(_rows(by_heads, found, "h")), "d_model 64"),
            Table(
                ("pairs", "d_model", "held-out loss", "translated right"),
                tuple(
                    (str(cell.pairs), *row) for cell, row in zip(by_text, _rows(by_text, found, "d_model"), strict=True)
                ),
                "4 heads",
            ),
        ),
        (
            f"Scale {asked.scale}: {scale.steps} steps each, one seed, so differences of a few percent are chance. "
            "Text is saturated where a curve is flat: more of it does not help a model of that size. Heads are where "
            "another one no longer lowers the loss; each one is narrower, as d_k = d_model / h. In Table 3 (A), 8 "
            "and 16 heads are best, 1 and 32 worse.",
        ),
        (chart("Held-out loss", Axis("training pairs", log=True), Axis("loss"), curves),),
        {"cells": [{**asdict(cell), "held_out_loss": one[0], "right": one[1]} for cell, one in found.items()]},
    )


def _result(cell: Cell, text: Language, folder: Path) -> tuple[float, float]:
    """Return the held-out loss of a cell and the share translated right: read if it was trained before."""
    path = folder / f"d{cell.d_model}-h{cell.h}-pairs{cell.pairs}-steps{cell.steps}.json"
    if not path.exists():
        # Every k-th pair, so that all lengths are there.
        pairs = [text.train[i * len(text.train) // cell.pairs] for i in range(cell.pairs)]
        shape = replace(SHAPE, d_model=cell.d_model, d_ff=4 * cell.d_model, h=cell.h)
        run = train(shape, cell.steps, 5e-3 * (64 / cell.d_model) ** 0.5, text=replace(text, train=pairs))
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, {"held_out_loss": run.held_out_loss, "right": run.right})
    kept = read_json(path, "delete it, and it is trained again")
    return kept["held_out_loss"], kept["right"]


def _rows(cells: list[Cell], found: dict[Cell, tuple[float, float]], name: str) -> Iterator[tuple[str, str, str]]:
    for cell in cells:
        yield str(getattr(cell, name)), f"{found[cell][0]:.2f}", f"{found[cell][1]:.0%}"
