"""Attention to a neighbourhood: its mask, its cost, and how far it reaches."""

import torch
from torch import Tensor

from heed.model.neighbourhood import Neighbourhood
from heed.paper.questions.asked import Asked
from heed.paper.questions.grid import marks, picture
from heed.paper.report import Part, Table

QUESTION = "What is restricted self-attention, and what did it lead to?"
_SHOWN, _R = 9, 3
_LENGTH, _WINDOWS = 1024, (3, 17, 65, 257, 1024)


def answer(asked: Asked) -> Part:
    """Draw a mask, and count weights and layers for several neighbourhoods."""
    mask = neighbourhood(_SHOWN, _R)
    rows, values = [], []
    for r in _WINDOWS:
        weights, layers = int(neighbourhood(_LENGTH, r).sum()), _layers_needed(_LENGTH, r)
        values.append({"r": r, "weights": weights, "layers": layers})
        rows.append(("all" if r >= _LENGTH else str(r), f"{weights:,}", str(layers)))
    labels = [str(i + 1) for i in range(_SHOWN)]
    return Part(
        "question-restricted",
        QUESTION,
        (
            Table(("", *labels), tuple((labels[i], *marks(row)) for i, row in enumerate(mask.tolist())), f"r = {_R}"),
            Table(("r", "weights in a layer", "layers until the ends meet"), tuple(rows), f"{_LENGTH} positions"),
        ),
        (
            "Each position attends to the r nearest only: cost grows with r·n and no longer with n², and paths with "
            "n/r. The paper leaves it to future work. What came of it: blocks of pixels in the Image Transformer "
            "(2018), strided patterns in the Sparse Transformer (2019), a window plus a few global positions in "
            "Longformer and BigBird (2020), windows in every layer of Mistral 7B (2023). Reformer (2020) chooses the "
            "positions by hashing instead of nearness.",
        ),
        (picture(f"Restricted self-attention, r = {_R}", mask.float().tolist(), labels, labels),),
        {"rows": values, "length": _LENGTH},
    )


def neighbourhood(n: int, r: int) -> Tensor:
    """Return may_attend_LL: the r positions around each one, as the model's encoder has them."""
    return Neighbourhood.centred(torch.arange(n), torch.tensor(n), r).mask[0, 0]


def _layers_needed(n: int, r: int) -> int:
    """Return how many layers there must be until the last position depends on the first, by following the mask."""
    may_attend_LL, reached_L, layers = neighbourhood(n, r), torch.zeros(n, dtype=torch.bool), 0
    reached_L[0] = True
    while not reached_L[-1]:
        reached_L = (may_attend_LL & reached_L).any(-1)
        layers += 1
    return layers
