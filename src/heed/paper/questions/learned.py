"""Learned positions and sinusoids: the same function with the same table, and tiny trainings of both."""

from collections.abc import Callable
from dataclasses import replace

import torch

from heed.data.batch import batch_of_ids
from heed.inside.walk import private_copy
from heed.model.positions import LearnedPositions
from heed.paper.questions.asked import Asked, output_zero
from heed.paper.questions.tiny import SHAPE, Trained, train
from heed.paper.report import Part, Table

QUESTION = "Can learned positions match the sinusoids?"
_SEEDS = (1, 2)


def answer(asked: Asked) -> Part:
    """Copy a model's positions into a learned table, then train with each kind and with none."""
    difference = _as_learned(asked)
    kinds: dict[str, Callable[[int], Trained]] = {
        "sinusoidal": lambda seed: train(seed=seed),
        "learned": lambda seed: train(replace(SHAPE, positions="learned"), seed=seed),
        "none": lambda seed: train(seed=seed, prepare=_no_positions),
    }
    runs = {name: [start(seed) for seed in _SEEDS] for name, start in kinds.items()}
    rows = tuple(
        (
            name,
            " and ".join(f"{run.held_out_loss:.2f}" for run in found),
            " and ".join(f"{run.right:.0%}" for run in found),
        )
        for name, found in runs.items()
    )
    limit = LearnedPositions(8, 5).limit
    return Part(
        "question-learned",
        QUESTION,
        (Table(("positions", "held-out loss", "translated right"), rows, "Tiny models, 300 steps, two seeds each"),),
        (
            "Yes, for the lengths they were trained on: Table 3 (E) of the paper has 25.7 BLEU for learned positions "
            "and 25.8 for sinusoids. A table of learned vectors can hold the sinusoids themselves: copied into one, "
            f"they give the same logits (difference {difference:.0e}). All that matters is that positions can be "
            "told apart and compared. Beyond the longest sentence of training, learned positions do not exist or "
            f"were never trained (a table of {limit} has no 6th row), while the sinusoids go on.",
        ),
        values={
            "difference": difference,
            "held_out_loss": {name: [run.held_out_loss for run in found] for name, found in runs.items()},
            "right": {name: [run.right for run in found] for name, found in runs.items()},
        },
    )


@torch.inference_mode()
def _as_learned(asked: Asked) -> float:
    """Return the largest change of a logit if the model's positions become a learned table with the same vectors."""
    batch = batch_of_ids([asked.source], [asked.target], asked.model.vocabulary)
    changed, n_positions = private_copy(asked.model), 1 + max(len(asked.source), len(asked.target))
    for name in ("source_positions", "target_positions"):
        table_LD = getattr(changed, name).table(n_positions)
        learned = LearnedPositions(table_LD.size(1), n_positions)
        learned.weight.copy_(table_LD)
        setattr(changed, name, learned)
    before, after = (model(batch.src_BS, batch.tgt_in_BT) for model in (asked.model, changed))
    return float((before - after).abs().max())


def _no_positions(model: torch.nn.Module) -> None:
    for name in ("source_positions", "target_positions"):
        getattr(model, name).register_forward_hook(output_zero)
