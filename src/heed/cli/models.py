"""`heed models`: list the models that are installed with heed."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heed.box import BoxedModel

HELP = "list the models that are installed with heed"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the models in the box: those that are installed with heed. Each has a name\n"
        "that --model and heed.load take instead of a run folder. Without --model,\n"
        "heed translate uses the one marked (default)."
    )
    parser.epilog = (
        "examples:\n"
        "  heed models\n"
        "  heed models --json | jq '.[].name'\n"
        "  echo 'The cat chased its tail.' | heed translate --model en-de"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list with one object per model")


def run(args: argparse.Namespace) -> int:
    from heed.box import DEFAULT, FOLDER, models

    found = models()
    if args.json:
        shown = [{**asdict(one), "path": str(one.path), "default": one.name == DEFAULT} for one in found]
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    elif not found:
        print(f"no models are installed in {FOLDER}; train one: heed train --help", file=sys.stderr)
    else:
        print("\n\n".join(_described(one, one.name == DEFAULT) for one in found))
    return 0


def _described(model: "BoxedModel", is_default: bool) -> str:
    """Return a few lines about a model: its name and size, then what its card says."""
    from heed.box import CARD
    from heed.errors import printable

    facts = dict(model.facts)
    languages = " to ".join(facts.pop(side) for side in ("source", "target") if side in facts)
    size = f"{model.size / 1e6:.1f} MB"
    if model.parameters is not None:
        size += f", {model.parameters / 1e6:.1f} M parameters"
    first = [model.name + (" (default)" if is_default else ""), languages, size]
    lines = ["  ".join(filter(None, first))]
    width = max(map(len, ["card", *facts]))
    lines += [f"  {key:<{width}}  {value}" for key, value in [*facts.items(), ("card", str(model.path / CARD))]]
    return "\n".join(map(printable, lines))
