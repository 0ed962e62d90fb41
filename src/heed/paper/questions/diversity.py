"""A penalty on heads whose outputs are alike, tried in tiny trainings (after Li et al., 2018)."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.inside.observe import NOTHING_OFF, Kind, Observed
from heed.paper.questions.asked import Asked
from heed.paper.questions.tiny import Trained, first_batch, train
from heed.paper.report import Part, Table

QUESTION = "Does a penalty on similar heads help?"
_WEIGHTS = (0.0, 0.3, 3.0)
_SEEDS = (1, 2)


def answer(asked: Asked) -> Part:
    """Train with three weights of the penalty and two seeds each."""
    rows, values = [], []
    for weight in _WEIGHTS:
        runs = [train(seed=seed, penalty=_penalty(weight) if weight else None) for seed in _SEEDS]
        alike, losses = [_similarity_of(run) for run in runs], [run.held_out_loss for run in runs]
        right = [run.right for run in runs]
        values.append({"weight": weight, "similarity": alike, "held_out_loss": losses, "right": right})
        rows.append((f"{weight:g}", _both(alike, ".2f"), _both(losses, ".2f"), _both(right, ".0%")))
    columns = ("weight", "cosine of two heads", "held-out loss", "translated right")
    return Part(
        "question-diversity",
        QUESTION,
        (Table(columns, tuple(rows), "Tiny models, 4 heads, 300 steps; two seeds each"),),
        (
            "It makes heads less alike, that is certain: the penalty is the mean squared cosine between the outputs of "
            "two heads. It does not show in the translations: a small weight changes the loss by less than another "
            "seed does, and a large one gets in the way of the task. These are tiny models; nothing is said of large "
            "ones.",
        ),
        values={"rows": values},
    )


def similarity(context_BHLC: Tensor) -> Tensor:
    """Return the mean over positions and pairs of heads of the squared cosine between the heads' outputs."""
    direction_BHLC = F.normalize(context_BHLC, dim=-1)
    cosine_BLHH = torch.einsum("bhlc,bglc->blhg", direction_BHLC, direction_BHLC)
    h = cosine_BLHH.size(-1)
    # Each head has a cosine of 1 with itself; the rest are the pairs, each twice.
    return ((cosine_BLHH**2).sum((-1, -2)) - h).mean() / (h * (h - 1))


def _penalty(weight: float) -> Callable[[list[Tensor]], Tensor]:
    return lambda contexts: weight * torch.stack([similarity(one) for one in contexts]).mean()


@torch.inference_mode()
def _similarity_of(run: Trained) -> float:
    """Return the mean cosine (root of the mean square) between heads of a trained model."""
    contexts: list[Tensor] = []

    def around(kind: Kind, layer: int, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        contexts.append(NOTHING_OFF.attention(kind, layer, q, k, v, mask)[0])
        return contexts[-1]

    batch = first_batch()
    encoded = run.model.encode(Observed(batch.src_BS, batch.pad, around))
    run.model.decode(Observed(batch.tgt_in_BT, batch.pad, around), encoded)
    return float(torch.stack([similarity(one) for one in contexts]).mean().sqrt())


def _both(found: Sequence[float], shown: str) -> str:
    return " and ".join(f"{value:{shown}}" for value in found)
