"""Softmax with and without the division by the root of d_k, for growing d_k."""

import torch
from torch import Tensor

from heed.model.attention import attention
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "Why divide by the square root of d_k?"
_WIDTHS = (4, 16, 64, 256, 1024)
_QUERIES, _KEYS = 200, 16


def answer(asked: Asked) -> Part:
    """Draw queries and keys of variance 1, and measure the largest weight and the gradient that comes back."""
    torch.manual_seed(1)
    found: dict[str, list[list[float]]] = {"scaled": [], "not scaled": []}
    spread = []
    for d_k in _WIDTHS:
        q, k = torch.randn(1, 1, _QUERIES, d_k), torch.randn(1, 1, _KEYS, d_k)
        spread.append((q @ k.mT).std().item())
        found["scaled"].append(_measure(q, k))
        found["not scaled"].append(_measure(q * d_k**0.5, k))  # what attention divides by, multiplied back
    rows = tuple(
        (
            str(d_k),
            f"{spread[i]:.1f}",
            *(f"{found[name][i][what]:.3f}" for what in (0, 1) for name in ("not scaled", "scaled")),
        )
        for i, d_k in enumerate(_WIDTHS)
    )
    columns = ("d_k", "std of q·k", "max weight", "divided", "gradient", "divided")
    title = f"Random q and k, {_KEYS} keys: mean largest weight, and gradient of the weights by the scores"
    series = [
        Series(name, [(d_k, one[1]) for d_k, one in zip(_WIDTHS, measured, strict=True)])
        for name, measured in found.items()
    ]
    return Part(
        "question-scaling",
        QUESTION,
        (Table(columns, rows),),
        (
            f'{title}; "divided" is with scores divided by √d_k. The sum of d_k products has a standard deviation of '
            "√d_k, so scores grow with d_k. Softmax of large scores puts nearly all weight on one key, and its "
            "gradient goes to 0: there is little left to learn by. Divided by √d_k, scores have the same size for "
            "every d_k.",
        ),
        (chart("Gradient of softmax", Axis("d_k", log=True), Axis("gradient"), series),),
        {"d_k": list(_WIDTHS), "spread": spread, **found},
    )


def _measure(q_BHLK: Tensor, k_BHMK: Tensor) -> list[float]:
    """Return the mean largest weight, and the mean norm of the softmax's Jacobian, diag(w) - w wᵀ."""
    _, weights_BHLM = attention(q_BHLK, k_BHMK, torch.zeros(1, 1, _KEYS, 1))
    weights_LM = weights_BHLM[0, 0]
    jacobian_LMM = torch.diag_embed(weights_LM) - weights_LM.unsqueeze(-1) * weights_LM.unsqueeze(-2)
    return [weights_LM.amax(-1).mean().item(), jacobian_LMM.flatten(1).norm(dim=1).mean().item()]
