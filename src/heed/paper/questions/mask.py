"""The same tiny training with and without the causal mask."""

from heed.inside.observe import Switches
from heed.paper.chart import Axis, Series, chart
from heed.paper.questions.asked import Asked
from heed.paper.questions.tiny import language, train
from heed.paper.report import Part, Table

QUESTION = "Why does the decoder need a mask?"
_SHOWN = 4
_CURVE_EVERY = 10


def answer(asked: Asked) -> Part:
    """Train twice, and translate sentences that were not in the text."""
    runs = {"with the mask": train(), "without it": train(switches=Switches(causal=False))}
    final = {name: sum(run.losses[-20:]) / 20 for name, run in runs.items()}
    rows = tuple(
        (name, f"{final[name]:.3f}", f"{run.held_out_loss:.2f}", f"{run.right:.0%}") for name, run in runs.items()
    )
    there, without = runs.values()
    examples = []
    for i in range(_SHOWN):
        source, target = language().held_out[i]
        for what, ids in (
            ("English", source),
            ("with the mask", there.translations[i]),
            ("without it", without.translations[i]),
            ("right", target),
        ):
            examples.append((what, language().text(ids) or "(nothing)"))
    curves = [
        Series(name, [(i, run.losses[i]) for i in range(0, len(run.losses), _CURVE_EVERY)])
        for name, run in runs.items()
    ]
    return Part(
        "question-mask",
        QUESTION,
        (
            Table(("trained", "training loss", "held-out loss", "translated right"), rows, "300 steps of a tiny model"),
            Table(("", "held-out sentences"), tuple(examples)),
        ),
        (
            "In training the decoder is given the whole translation. Without the mask, the position that must "
            "predict a word attends to that very word, one place to its right, and copies it: the loss falls towards "
            "0, nothing is learnt about translating. When it must write, that word is not there yet.",
        ),
        (chart("Training loss", Axis("step"), Axis("loss per token", log=True), curves),),
        {
            "training_loss": list(final.values()),
            "held_out_loss": [run.held_out_loss for run in runs.values()],
            "right": [run.right for run in runs.values()],
        },
    )
