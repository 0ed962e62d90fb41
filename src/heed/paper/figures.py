"""The paper's figures for a model: 1 from its modules, 2 with its shapes, 3 to 5 from its attention to a sentence."""

import base64
from pathlib import Path

from heed.durable import write_file
from heed.errors import ConfigError
from heed.inside.svg import Choice
from heed.inside.svg import draw as draw_attention
from heed.loading import load
from heed.paper import figure1, figure2
from heed.paper.report import Part, Table
from heed.paper.tree import lines, tree
from heed.run import RunFolder

_CAPTIONS = {
    "figure1": "Figure 1: the model, drawn from its modules",
    "figure2": "Figure 2: attention, with the model's shapes",
    "figure3": "Figure 3: what one word attends to, all heads of a layer",
    "figure4": "Figure 4: one head in full, and one word in two heads",
    "figure5": "Figure 5: two heads that do different things",
}
_WITH_HEADS = ("transformer", "follower")


def part(run: RunFolder, text: str, word: str | None, folder: Path) -> tuple[Part, list[str]]:
    """Draw all figures of a model into a folder; return the part of the report, and figure 1 for the terminal.

    Raises:
        ConfigError: the model has no attention, or the word is not in the text.
        DecodeError: the text is blank or too long.
    """
    model = run.load_model()
    root = tree(model)
    output = next((name for name, weight in model.named_parameters() if weight is model.output_weight), "")
    drawn = {"figure1": figure1.draw(root, output)}
    skipped = ""
    if run.config.model.kind in _WITH_HEADS:
        inspection = load(run.path).inspect(text)
        drawn["figure2"] = figure2.draw(run.config.model, len(inspection.source.ids))
        for name in ("figure3", "figure4", "figure5"):
            drawn[name] = draw_attention(inspection, name, Choice(word=None if name == "figure5" else word))
    elif word is not None:
        raise ConfigError(f'--word "{word}": {run.path} is a "{run.config.model.kind}", which has no figures 3 to 5')
    else:
        skipped = f'Figures 2 to 5 need attention heads, which model.kind = "{run.config.model.kind}" does not have. '
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in drawn.items():
        write_file(folder / f"{name}.svg", svg.encode())
    rows = tuple((_CAPTIONS[name], f"{name}.svg") for name in drawn)
    notes = (
        f"{skipped}{run.path}, “{text}”, in {folder}. Figure 1 of the paper is drawn by hand; this one shows "
        "the modules that are there, each layer once. Figures 3 to 5 of the paper show layer 5 of 6 of a trained "
        "model; these show the last but one of yours (heed inspect --svg has more choices).",
    )
    found = Part(
        "figures",
        "The paper's figures, of this model",
        (Table(("figure", "file"), rows),),
        notes,
        tuple(_image(svg, _CAPTIONS[name]) for name, svg in drawn.items()),
        {"model": str(run.path), "files": {name: str(folder / f"{name}.svg") for name in drawn}},
    )
    return found, lines(root)


def _image(svg: str, caption: str) -> str:
    """Return a figure for the report, apart from the page: its style must not change other figures."""
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<figcaption>{caption}</figcaption><img alt="{caption}" style="max-width:100%;background:#fff" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
