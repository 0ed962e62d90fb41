"""The gradient of each layer with and without residual connections, and what a short training makes of both."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from heed.model.build import build_model
from heed.model.layers import Residual
from heed.model.transformer import as_transformer
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import PLAIN, Asked
from heed.paper.questions.tiny import SHAPE, batch_loss, first_batch, language, train
from heed.paper.report import Part, Table

QUESTION = "What do the residual connections do?"
_SHAPE = replace(SHAPE, encoder_layers=6, norm="post")
_STEPS, _RATE = 120, 1e-3


def answer(asked: Asked) -> Part:
    """Measure gradients at initialisation, then train for a while."""
    norms = {"with": _gradients(lambda model: None), "without": _gradients(without_residuals)}
    runs = {
        "with": train(_SHAPE, _STEPS, _RATE),
        "without": train(_SHAPE, _STEPS, _RATE, prepare=without_residuals),
    }
    rows = tuple(
        (str(layer + 1), *(f"{found[layer]:.1e}" for found in norms.values())) for layer in range(_SHAPE.encoder_layers)
    )
    final = {name: sum(run.losses[-10:]) / 10 for name, run in runs.items()}
    learnt = tuple((name, f"{runs[name].losses[0]:.2f}", f"{value:.2f}") for name, value in final.items())
    series = [Series(name, list(enumerate(found, 1))) for name, found in norms.items()]
    return Part(
        "question-residual",
        QUESTION,
        (
            Table(("encoder layer", *norms), rows, "Gradient norm of each layer's weights, new model"),
            Table(("residuals", "loss at first", f"after {_STEPS} steps"), learnt),
        ),
        (
            "They add a layer's input to its output. So a layer need only learn a correction, the word and its "
            "position stay in the vector all the way up, and the gradient has a way down that passes no weights. "
            "Without them, every vector of a sentence becomes an average of averages: what tells words apart is "
            "gone after a few layers, and so is the gradient that would teach the layers below.",
        ),
        (chart("Gradient by layer", Axis("encoder layer"), Axis("gradient norm", log=True), series),),
        {"gradients": norms, "loss": final},
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


def _gradients(prepare: Any) -> list[float]:
    torch.manual_seed(1)
    model = as_transformer(build_model(_SHAPE, language().vocabulary), QUESTION)
    prepare(model)
    batch_loss(model, first_batch(), PLAIN).backward()  # type: ignore[no-untyped-call]
    return [
        sum(float(w.grad.norm()) ** 2 for w in layer.self_attention.parameters() if w.grad is not None) ** 0.5  # type: ignore[union-attr]
        for layer in model.encoder
    ]
