"""Residual connections: what becomes of a sentence's vectors and of the gradient without them."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.model.build import build_model
from heed.model.layers import EncoderLayer, Residual
from heed.model.transformer import Transformer, as_transformer
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import PLAIN, Asked
from heed.paper.questions.tiny import SHAPE, batch_loss, first_batch, language, train
from heed.paper.report import Part, Table

QUESTION = "What do the residual connections do?"
_SHAPE = replace(SHAPE, encoder_layers=6, norm="post")
_STEPS, _RATE = 120, 1e-3


def answer(asked: Asked) -> Part:
    """Measure new models with and without them, then train both for a while."""
    new = {"with": _measure(lambda model: None), "without": _measure(without_residuals)}
    runs = {
        "with": train(_SHAPE, _STEPS, _RATE),
        "without": train(_SHAPE, _STEPS, _RATE, prepare=without_residuals),
    }
    rows = tuple(
        (
            str(layer + 1),
            *(f"{likeness[layer]:.3f}" for likeness, _ in new.values()),
            *(f"{norms[layer]:.1e}" for _, norms in new.values()),
        )
        for layer in range(_SHAPE.encoder_layers)
    )
    final = {name: sum(run.losses[-10:]) / 10 for name, run in runs.items()}
    learnt = tuple((name, f"{runs[name].losses[0]:.2f}", f"{value:.2f}") for name, value in final.items())
    series = [Series(name, list(enumerate(norms, 1))) for name, (_, norms) in new.items()]
    columns = ("encoder layer", "likeness, with", "without", "gradient, with", "without")
    return Part(
        "question-residual",
        QUESTION,
        (
            Table(columns, rows, "A new model: cosine of a sentence's vectors; gradient norm of W_Q and W_K"),
            Table(("residuals", "loss at first", f"after {_STEPS} steps"), learnt),
        ),
        (
            "They add a layer's input to its output, so a layer need only learn a correction, and the word and its "
            "position stay in the vector all the way up. Without them every vector is an average of averages: after "
            "two layers, all vectors of a sentence are the same (cosine 1). Then it makes no difference where "
            "attention looks, so W_Q and W_K get next to no gradient and cannot learn. The norms keep the rest of "
            "the gradient alive, and such a model still learns what words are frequent.",
        ),
        (chart("Gradient of W_Q and W_K", Axis("encoder layer"), Axis("gradient norm", log=True), series),),
        {
            "likeness": {name: likeness for name, (likeness, _) in new.items()},
            "gradients": {name: norms for name, (_, norms) in new.items()},
            "loss": final,
        },
    )


def without_residuals(model: nn.Module) -> None:
    """Make every residual connection of a post-norm model LayerNorm(Sublayer(x))."""
    for module in model.modules():
        if isinstance(module, Residual):
            module.register_forward_hook(_without_input)


def _without_input(module: nn.Module, given: tuple[Any, ...], made: Tensor) -> Tensor:
    x, sublayer, _ = given
    y: Tensor = module.norm(sublayer(x))  # type: ignore[operator]
    return y


def _measure(prepare: Callable[[Transformer], None]) -> tuple[list[float], list[float]]:
    """Return of each encoder layer of a new model the likeness of its outputs, and the gradient of W_Q and W_K."""
    torch.manual_seed(1)
    model = as_transformer(build_model(_SHAPE, language().vocabulary), QUESTION)
    prepare(model)
    likeness: list[float] = []
    for layer in model.encoder:
        layer.register_forward_hook(lambda module, given, made: likeness.append(_likeness(made)))
    batch_loss(model, first_batch(), PLAIN).backward()  # type: ignore[no-untyped-call]
    layers = cast("list[EncoderLayer]", model.encoder)
    attentions = [layer.self_attention for layer in layers]
    gradients = [math.hypot(*(_norm(one.weight.grad) for one in (its.w_q, its.w_k))) for its in attentions]
    return likeness, gradients


def _likeness(x_BLD: Tensor) -> float:
    """Return the mean cosine between two positions of a sentence."""
    direction_BLD = F.normalize(x_BLD.detach(), dim=-1)
    n = x_BLD.size(1)
    pairs_B = (direction_BLD @ direction_BLD.mT).sum((1, 2)) - n  # without each position with itself
    return float(pairs_B.mean()) / (n * (n - 1))


def _norm(gradient: Tensor | None) -> float:
    return 0.0 if gradient is None else float(gradient.norm())
