"""Are the heads of a layer alike, and what does each one do for the translation?"""

from typing import cast

import numpy as np

from heed.inside.heads import switch_off_heads
from heed.inside.observe import KINDS, Kind
from heed.inside.walk import attention_of
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "Do all heads learn the same thing?"


def answer(asked: Asked) -> Part:
    """Compare the heads' weights with each other, and switch each head off once."""
    config = asked.model.config
    layers: dict[Kind, int] = {
        "encoder": config.encoder_layers,
        "decoder": config.decoder_layers,
        "cross": config.decoder_layers,
    }
    numbers = [str(head + 1) for head in range(config.h)]
    weights = attention_of(asked.computed, layers)
    off = switch_off_heads(asked.model, asked.source, asked.target, layers, config.h, lambda n: None)
    rows, similar, change, each = [], [], [], []
    for kind in KINDS:
        for layer in range(layers[kind]):
            overlap = _overlaps(weights[kind][layer])
            drop = off.change[kind][layer].mean(-1)
            similar.append(float(overlap.mean()) if len(overlap) else 1.0)
            change.append([float(value) for value in drop])
            rows.append(
                (
                    f"{kind} {layer + 1}",
                    f"{similar[-1]:.2f}",
                    f"{overlap.max():.2f}" if len(overlap) else "",
                )
            )
            each.append((f"{kind} {layer + 1}", *(f"{value:+.3f}" for value in drop)))
    every = sorted((value for row in change for value in row), reverse=False)
    apart = {kind: _apart(weights[kind]) for kind in KINDS}
    between = tuple((kind, f"{value:.2f}") for kind, value in apart.items() if value is not None)
    series = [Series("heads, in order", list(enumerate(every, 1)))]
    return Part(
        "question-heads",
        QUESTION,
        (
            Table(
                ("heads of one layer", "mean overlap", "largest"),
                tuple(rows),
                f'{config.h} heads a layer, "{SENTENCE}", {asked.name}',
            ),
            *([Table(("heads of different layers", "mean overlap"), between)] if between else []),
            Table(("head off:", *numbers), tuple(each), "Change of log P if one head is switched off"),
        ),
        (
            "No. Overlap is the share of the weight that two heads of a layer put on the same positions: 1 if they "
            "are the same, 0 if they never look at the same place. Heads of one layer overlap hardly more than heads "
            "of different layers do. log P is the mean log-probability of a token of the translation. Most heads can "
            "be switched off one by one with little harm; a few matter: what is lost with one is partly done by "
            "others.",
        ),
        (chart("One head off", Axis("head, sorted"), Axis("change in log P"), series),),
        cast("dict[str, object]", {"overlap": similar, "between_layers": apart, "change": change}),
    )


def _apart(weights_NHLM: np.ndarray) -> float | None:
    """Return the mean overlap of a head with heads of other layers; None for a single layer."""
    n = len(weights_NHLM)
    found = [
        np.minimum(one, other).sum(-1).mean()
        for a in range(n)
        for b in range(a)
        for one in weights_NHLM[a]
        for other in weights_NHLM[b]
    ]
    return float(np.mean(found)) if found else None


def _overlaps(weights_HLM: np.ndarray) -> np.ndarray:
    """Return for each pair of heads the mean over rows of Σ min(a, b)."""
    h = len(weights_HLM)
    pairs = [(a, b) for a in range(h) for b in range(a)]
    return np.array([np.minimum(weights_HLM[a], weights_HLM[b]).sum(-1).mean() for a, b in pairs])
