"""Count the calls of the decoder: training, and writing with and without a KV cache."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from heed.data.batch import batch_of_ids
from heed.inside.walk import private_copy
from heed.model.sequences import Padded
from heed.paper.questions.asked import SENTENCE, Asked
from heed.paper.report import Part, Table

QUESTION = "Why one pass in training, but one word at a time in translation?"


@torch.inference_mode()
def answer(asked: Asked) -> Part:
    """Give the decoder the same translation three ways, and compare the logits."""
    model = private_copy(asked.model).eval()
    lengths: list[int] = []
    model.decoder[0].register_forward_hook(_counting(lengths))
    batch = batch_of_ids([asked.source], [asked.target], model.vocabulary)
    counted: dict[str, list[int]] = {}

    forced_TV = model(batch.src_BS, batch.tgt_in_BT)[0]
    counted["training: all at once"] = _taken(lengths)

    state, steps = model.start(batch.src_BS), []
    for token_1 in batch.tgt_in_BT[0]:
        logits_BWV, state = model.step(token_1.view(1, 1), state)
        steps.append(logits_BWV[0, 0])
    counted["writing, with a KV cache"] = _taken(lengths)

    encoded, again = model.encode(Padded(batch.src_BS, batch.pad)), []
    for t in range(batch.tgt_in_BT.size(1)):
        hidden_BTD = model.decode(Padded(batch.tgt_in_BT[:, : t + 1], batch.pad), encoded)
        again.append(model.embedding.logits(hidden_BTD[:, -1])[0])
    counted["writing, without one"] = _taken(lengths)

    difference = max((forced_TV - torch.stack(one)).abs().max().item() for one in (steps, again))
    rows = tuple((name, str(len(found)), str(sum(found))) for name, found in counted.items())
    n = batch.tgt_in_BT.size(1)
    return Part(
        "question-passes",
        QUESTION,
        (Table(("", "decoder calls", "positions computed"), rows, f'The translation of "{SENTENCE}", {n} tokens'),),
        (
            "In training the right translation is known. All its positions are computed in one call, each from the "
            "right words before it (teacher forcing), and the mask hides the rest. In translation a word must be "
            "written before the next can depend on it. The numbers are the same all three ways: the logits differ by "
            f"at most {difference:.0e}.",
        ),
        values={
            "calls": {name: len(found) for name, found in counted.items()},
            "positions": {name: sum(found) for name, found in counted.items()},
            "tokens": n,
            "largest_difference": difference,
        },
    )


def _counting(lengths: list[int]) -> Callable[[nn.Module, object, Tensor], None]:
    def hook(module: nn.Module, given: object, made: Tensor) -> None:
        lengths.append(made.size(1))

    return hook


def _taken(lengths: list[int]) -> list[int]:
    found = lengths.copy()
    lengths.clear()
    return found
