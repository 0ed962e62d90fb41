"""Four ways to turn scores into weights."""

from collections.abc import Callable

import torch
from torch import Tensor

from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "Why softmax?"
_SCORES = (2.0, 1.0, -1.0)


def answer(asked: Asked) -> Part:
    """Compute weights, what a shift of all scores does to them, and whether a gradient comes back."""
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "softmax": lambda s: s.softmax(-1),
        "scores as they are": lambda s: s,
        "scores / sum": lambda s: s / s.sum(),
        "all on the largest": lambda s: torch.nn.functional.one_hot(s.argmax(-1), len(s)).float(),
    }
    rows, values = [], {}
    for name, weigh in ways.items():
        scores = torch.tensor(_SCORES, requires_grad=True)
        weights = weigh(scores)
        shifted = (weigh(scores + 1.0) - weights).abs().max().item()
        gradient = _gradient(weights, scores)
        values[name] = {
            "weights": weights.tolist(),
            "sum": weights.sum().item(),
            "shifted": shifted,
            "gradient": gradient,
        }
        rows.append(
            (
                name,
                "  ".join(f"{value:+.2f}" for value in weights.tolist()),
                f"{weights.sum().item():.2f}",
                f"{shifted:.2f}",
                f"{gradient:.2f}",
            )
        )
    columns = ("weights by", "of the scores 2, 1, -1", "sum", "if all + 1", "gradient")
    return Part(
        "question-softmax",
        QUESTION,
        (Table(columns, tuple(rows), "Weights, their change if 1 is added to every score, and a gradient"),),
        (
            "Weights must be positive and sum to 1, so that the result is an average of values and has their size "
            "however long the sentence is; only differences between scores should count; and a gradient must come "
            "back to every score, so that attention can be learnt. Softmax does all three. Taking the largest has "
            "no gradient, and dividing by the sum gives negative weights.",
        ),
        values=values,
    )


def _gradient(weights: Tensor, scores: Tensor) -> float:
    """Return the norm of the gradient of the first weight by the scores; 0 if there is none."""
    if not weights.requires_grad:
        return 0.0
    (gradient,) = torch.autograd.grad(weights[0], scores)
    return float(gradient.norm())
