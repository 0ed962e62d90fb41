"""A penalty on heads whose outputs are alike, tried in tiny trainings (after Li et al., 2018)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from heed.paper.questions.asked import Asked
from heed.paper.questions.tiny import Trained, first_batch, train
from heed.paper.report import Part, Table
from heed.training.head_diversity import head_similarity

QUESTION = "Does a penalty on similar heads help?"
_WEIGHTS = (0.0, 0.3, 3.0)
_SEEDS = (1, 2)


def answer(asked: Asked) -> Part:
    """Train with three weights of the penalty and two seeds each."""
    rows, values = [], []
    for weight in _WEIGHTS:
        runs = [train(seed=seed, head_diversity=weight) for seed in _SEEDS]
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
            "It makes heads less alike, that is certain: the penalty (train.head_diversity) is the mean squared cosine "
            "between the outputs of two heads. It does not show in the translations: with a small weight the loss is "
            "lower for one seed and higher for the other, and a large one gets in the way of the task. These are tiny "
            "models; nothing is said of large ones.",
        ),
        values={"rows": values},
    )


@torch.inference_mode()
def _similarity_of(run: Trained) -> float:
    """Return the mean cosine (root of the mean square) between heads of a trained model, on 64 pairs."""
    batch, contexts = first_batch(), list[Tensor]()
    run.model.hidden(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT.ne(batch.pad), contexts=contexts)
    means = [head_similarity([context_NHC]) / len(context_NHC) for context_NHC in contexts]
    return float(torch.stack(means).mean().sqrt())


def _both(found: Sequence[float], shown: str) -> str:
    return " and ".join(f"{value:{shown}}" for value in found)
