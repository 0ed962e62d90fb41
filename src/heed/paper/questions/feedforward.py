"""The feed-forward layer: position by position, two thirds of a layer's weights, and what is lost without it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from heed.inside.walk import private_copy
from heed.paper.questions.asked import SENTENCE, Asked, output_zero
from heed.paper.report import Part, Table

QUESTION = "What is the feed-forward layer for, and why is it 4 times as wide?"
_KEPT = (1.0, 0.5, 0.25, 0.1)


def answer(asked: Asked) -> Part:
    """Permute positions, switch the layers off, and keep only a part of their inner units."""
    model = asked.model
    layer = model.encoder[0].feed_forward
    x_SD = torch.from_numpy(asked.computed["encoder.0.self.y"])
    order = torch.randperm(len(x_SD), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        y_SD = layer(x_SD)  # type: ignore[operator]
        moved = float((layer(x_SD[order]) - y_SD[order]).abs().max() / y_SD.abs().max())  # type: ignore[operator]
    off = {
        "all there": asked.log_probability(),
        "no feed-forward in the encoder": _without(asked, "encoder"),
        "no feed-forward in the decoder": _without(asked, "decoder"),
        "none at all": _without(asked, "encoder", "decoder"),
    }
    d_ff = model.config.d_ff
    kept = {share: _keeping(asked, round(share * d_ff)) for share in _KEPT}
    inner = [value for name, value in asked.computed.items() if name.endswith("ff.inner")]
    active = sum(float((value > 0).mean()) for value in inner) / len(inner)
    weights = {name: _size(model, name) for name in ("feed_forward", "self_attention")}
    return Part(
        "question-feedforward",
        QUESTION,
        (
            Table(
                ("the feed-forward layer", ""),
                (
                    ("its weights, in an encoder layer", f"{weights['feed_forward']:,}"),
                    ("the weights of self-attention there", f"{weights['self_attention']:,}"),
                    ("inner units above 0, over all layers", f"{active:.0%}"),
                    ("change if the positions are permuted", "none" if moved < 1e-5 else f"{moved:.0e}"),
                ),
                f'"{SENTENCE}", {asked.name}',
            ),
            Table(
                ("", "log P of a token"), tuple((name, f"{value:.2f}") for name, value in off.items()), "Switched off"
            ),
            Table(
                ("inner units kept, the most active", "log P of a token"),
                tuple((f"{round(share * d_ff)} of {d_ff}", f"{value:.2f}") for share, value in kept.items()),
            ),
        ),
        (
            "Attention moves vectors between positions and averages them; the feed-forward layer works on each "
            "vector by itself, and has the only non-linear function (ReLU) besides softmax and norms. Positions "
            "exchange nothing in it: permuted inputs give permuted outputs, and change in no other way. "
            f"An encoder layer has {weights['feed_forward']:,} weights in it and {weights['self_attention']:,} in its "
            f"attention. Why 4: a choice. For one sentence {active:.0%} of the inner units are above 0, and the table "
            "shows what fewer cost a model that was trained with all. In Table 3 (C) of the paper, d_ff of 1024, "
            "2048 and 4096 give a perplexity of 5.12, 4.92 and 4.75: wider is better, and costs more.",
        ),
        values={
            "permuted": moved,
            "off": off,
            "kept": {str(share): value for share, value in kept.items()},
            "active": active,
            "weights": weights,
        },
    )


def _without(asked: Asked, *stacks: str) -> float:
    changed = private_copy(asked.model)
    for stack in stacks:
        for layer in getattr(changed, stack):
            layer.feed_forward.register_forward_hook(output_zero)
    return asked.log_probability(changed)


def _keeping(asked: Asked, n: int) -> float:
    """Return log P with only the n inner units of each layer that are most active for the sentence."""
    changed = private_copy(asked.model)
    for stack in ("encoder", "decoder"):
        for number, layer in enumerate(getattr(changed, stack)):
            w_2: nn.Linear = layer.feed_forward.w_2
            activity_F = torch.from_numpy(asked.computed[f"{stack}.{number}.ff.inner"]).mean(0)
            best = (activity_F * w_2.weight.detach().float().norm(dim=0)).topk(n).indices
            keep_F = torch.zeros_like(activity_F).index_fill(0, best, 1.0)
            w_2.register_forward_pre_hook(_times(keep_F))
    return asked.log_probability(changed)


def _times(keep_F: Tensor) -> Callable[[nn.Module, tuple[Any, ...]], tuple[Any, ...]]:
    return lambda module, given: (given[0] * keep_F, *given[1:])


def _size(model: Any, name: str) -> int:
    return sum(weight.numel() for weight in getattr(model.encoder[0], name).parameters())
