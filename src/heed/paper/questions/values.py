"""What attention loses without V: the weights alone, keys in the place of values, values without weights."""

from torch import Tensor

from heed.inside.observe import Around, Kind
from heed.model.attention import attention
from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "Why multiply by V?"


def answer(asked: Asked) -> Part:
    """Print the shapes, then change what the weights are multiplied with, and score translations."""
    arrays = asked.computed
    weights, values, context = (arrays[f"decoder.0.cross.{name}"].shape for name in ("weights", "v", "context"))
    shapes = Table(
        ("decoder layer 1, attention over the source", "shape"),
        tuple(
            (name, " x ".join(map(str, shape)))
            for name, shape in (
                ("weights: where to look (heads, target, source)", weights),
                ("V: what is there (heads, source, d_v)", values),
                ("weights times V: what was found (heads, target, d_v)", context),
            )
        ),
        f'"{SENTENCE}", {asked.name}',
    )
    changes: dict[str, Around] = {"weights times V": _times_values, "mean of V, without weights": _mean_of_values}
    if values[-1] == arrays["decoder.0.cross.k"].shape[-1]:
        changes["weights times K"] = _times_keys
    measured = {name: asked.log_probability(around=around) for name, around in changes.items()}
    rows = tuple((name, f"{value:.2f}") for name, value in measured.items())
    scored = Table(("in every layer", "log P of a token"), rows, "Eight sentences and their right translations")
    return Part(
        "question-values",
        QUESTION,
        (shapes, scored),
        (
            "The weights only say where to look. What is taken from there is V: a projection of its own, so a word "
            "can be found by one thing (K: it is a noun, the subject) and hand on another (V: it is a cat). The "
            "product has a fixed size, whatever the length of the sentence. With K in the place of V, or with V but "
            "without the weights, this model, which was trained with both, cannot predict any more.",
        ),
        values={"log_probability": measured, "weights": list(weights), "context": list(context)},
    )


def _times_values(kind: Kind, layer: int, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return attention(q, k, v, mask)[0]


def _times_keys(kind: Kind, layer: int, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return attention(q, k, k, mask)[0]


def _mean_of_values(kind: Kind, layer: int, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    return attention(q * 0, k, v, mask)[0]  # equal scores: every position that may be attended to weighs the same
