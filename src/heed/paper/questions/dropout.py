"""Where dropout is, and what it sets to zero."""

import torch

from heed.data.batch import batch_of_ids
from heed.inside.walk import private_copy
from heed.model.dropout import Dropout, pair_seeds, position_seeds
from heed.paper.questions.asked import Asked
from heed.paper.report import Part, Table

QUESTION = "Where does dropout go, and what does it set to zero?"
_P = 0.1


@torch.inference_mode()
def answer(asked: Asked) -> Part:
    """Drop elements of the sentence's vectors as training does, and look at what is left."""
    x_SD = torch.from_numpy(asked.computed["encoder.x"])
    seeds = position_seeds(
        pair_seeds(1, 1, torch.zeros(len(x_SD), dtype=torch.int64)), torch.arange(len(x_SD)), "source"
    )
    y_SD = Dropout(_P).train()(x_SD, seeds)
    zero_SD = y_SD.eq(0)
    kept = ~zero_SD & x_SD.ne(0)
    scale = (y_SD[kept] / x_SD[kept]).mean().item()
    words = [*asked.pieces(asked.source), "(end)"]
    rows = tuple(
        (word, f"{int(row.sum())} of {len(row)}", f"{row.float().mean().item():.0%}")
        for word, row in zip(words, zero_SD, strict=True)
    )
    places = _places(asked)
    return Part(
        "question-dropout",
        QUESTION,
        (
            Table(("token", "numbers set to zero", "share"), rows, f"Embedding + position, dropout {_P}"),
            Table(("where", "how often"), tuple((name, str(n)) for name, n in places.items()), asked.name),
        ),
        (
            "It sets single numbers to zero, never a whole word: about a tenth of each token's vector, drawn anew "
            f"at every step. The others are multiplied by {scale:.3f}, 1/(1 - {_P}), so that the mean stays the "
            "same. It is applied to embedding + position in both stacks, and to the output of every sub-layer before "
            "it is added to its input. The published models have none on attention weights and none after the "
            "ReLU. In translation there is none at all.",
        ),
        values={
            "share": zero_SD.float().mean().item(),
            "whole_tokens": int(zero_SD.all(-1).sum()),
            "scale": scale,
            "places": places,
            "differs_in_translation": _differs_in_translation(asked),
        },
    )


def _places(asked: Asked) -> dict[str, int]:
    """Count the uses of dropout in one forward pass, by the model's module tree."""
    layers = {name: list(getattr(asked.model, name)) for name in ("encoder", "decoder")}
    return {
        "embedding + position": 2,
        **{
            f"output of a sub-layer, {name}": sum(
                isinstance(one, Dropout) for layer in stack for one in layer.modules()
            )
            for name, stack in layers.items()
        },
    }


def _differs_in_translation(asked: Asked) -> float:
    """Return how much two passes of the model in use differ: nothing is drawn."""
    model = private_copy(asked.model).eval()
    batch = batch_of_ids([asked.source], [asked.target], model.vocabulary)
    one, other = (model(batch.src_BS, batch.tgt_in_BT) for _ in range(2))
    return float((one - other).abs().max())
