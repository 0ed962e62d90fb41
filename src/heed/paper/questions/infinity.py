"""Three ways to hide a position, with three scores."""

import torch

from heed.model.attention import attention
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "Why is the mask minus infinity, and not 0?"
_SCORES = (2.0, 1.0, 0.5)  # the third position is to be hidden


def answer(asked: Asked) -> Part:
    """Compute the weights with the hidden score at minus infinity, at 0, and with its weight removed afterwards."""
    scores = torch.tensor(_SCORES)
    zero = scores * torch.tensor([1.0, 1.0, 0.0])
    afterwards = scores.softmax(-1) * torch.tensor([1.0, 1.0, 0.0])
    # heed's own attention: with d_k = 1 and a query of 1, the scores are the keys.
    q_BHLK, k_BHMK = torch.ones(1, 1, 1, 1), scores.view(1, 1, 3, 1)
    may_attend_B1LM = torch.tensor([True, True, False]).view(1, 1, 1, 3)
    _, weights_BHLM = attention(q_BHLK, k_BHMK, torch.zeros(1, 1, 3, 1), may_attend_B1LM)
    ways = {
        "no mask": scores.softmax(-1),
        "score set to 0": zero.softmax(-1),
        "weight set to 0 afterwards": afterwards,
        "score set to -inf (heed, the paper)": weights_BHLM.flatten(),
    }
    rows = tuple(
        (name, *(f"{value:.3f}" for value in found.tolist()), f"{found.sum().item():.3f}")
        for name, found in ways.items()
    )
    return Part(
        "question-infinity",
        QUESTION,
        (Table(("the third position is hidden by", "1st", "2nd", "3rd", "sum"), rows, "Scores 2, 1 and 0.5"),),
        (
            "Because the mask is applied before the softmax, where 0 is a score like any other: e^0 = 1, and scores "
            "below 0 would even gain by it. e^-inf is 0: the position gets no weight, and the rest still sums to 1. If "
            "the weight is set to 0 afterwards, the others still depend on the hidden score, through the denominator.",
        ),
        values={name: found.tolist() for name, found in ways.items()},
    )
