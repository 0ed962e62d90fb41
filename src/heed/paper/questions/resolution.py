"""An average of two words can equal a third one; heads keep them apart."""

import numpy as np

from heed.inside.observe import KINDS
from heed.inside.walk import attention_of
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = 'What does "reduced effective resolution due to averaging" mean?'


def answer(asked: Asked) -> Part:
    """Average by hand, then count how many positions heads average over in a model."""
    red, blue, purple = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])
    one_head = 0.5 * red + 0.5 * blue
    two_heads = np.concatenate((red, blue))  # one head attends to red, the other to blue
    two_heads_purple = np.concatenate((purple, purple))
    by_hand = Table(
        ("attended to", "one head", "two heads"),
        (
            ("red (1, 0) and blue (0, 1)", _shown(one_head), _shown(two_heads)),
            ("purple (0.5, 0.5)", _shown(purple), _shown(two_heads_purple)),
        ),
        "What attention hands on",
    )
    config = asked.model.config
    layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers, "cross": config.decoder_layers}
    weights = attention_of(asked.computed, layers)  # type: ignore[arg-type]
    positions = {kind: (_positions(weights[kind]), _positions(weights[kind].mean(1))) for kind in KINDS}
    measured = Table(
        ("attention", "a head", "the mean of its heads", "positions"),
        tuple((kind, f"{a:.1f}", f"{b:.1f}", str(weights[kind].shape[-1])) for kind, (a, b) in positions.items()),
        f"Positions averaged over (exp of the entropy), {asked.name}",
    )
    return Part(
        "question-resolution",
        QUESTION,
        (by_hand, measured),
        (
            "One head returns one weighted average, and different words can have the same average: detail is lost, "
            "as in a blurred picture. Several heads return several averages side by side, so each can be sharp. In "
            "the model, one head averages over fewer positions than all heads of its layer together.",
        ),
        values={
            "one_head_differs": float(np.abs(one_head - purple).max()),
            "two_heads_differ": float(np.abs(two_heads - two_heads_purple).max()),
            "positions": {kind: list(both) for kind, both in positions.items()},
        },
    )


def _positions(weights: np.ndarray) -> float:
    """Return the mean over rows of exp(entropy): 1 for a row with all its weight on one position."""
    entropy = -(weights * np.log(np.maximum(weights, 1e-12))).sum(-1)
    return float(np.exp(entropy).mean())


def _shown(vector: np.ndarray) -> str:
    return f"({', '.join(f'{value:g}' for value in vector)})"
