"""Make the gallery: a page of `heed inspect` for each of some sentences, and an index of them.

    python docs/gallery.py [--model runs/demo] [--out gallery]

The model that comes with heed translates everyday sentences; the demo's model, if it has been trained, those that the
demo ends with.
"""

import argparse
import html
import sys
from pathlib import Path

import torch

import heed
from heed.box import DEFAULT, default_model, names
from heed.demo.grammar import TYPED_BY_PEOPLE
from heed.durable import write_file
from heed.errors import HeedError
from heed.inside.document import document
from heed.inside.page import page
from heed.inside.sample import boxed_pairs, read_pairs
from heed.run import RunFolder

SAMPLE_PAIRS = 300  # to name heads by what they do
EVERYDAY = (
    "A man is riding a bike.",
    "Two children are playing in the snow.",
    "She said that she would come tomorrow, but she did not.",
    "The train to Berlin leaves in ten minutes.",
)
INDEX = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>heed – gallery</title>
<style>
body {{ max-width: 44em; margin: 0 auto; padding: 0 16px 32px; font: 16px/1.5 system-ui, sans-serif; }}
li {{ margin: 10px 0; }}
a:focus-visible {{ outline: 3px solid; outline-offset: 2px; }}
small {{ opacity: 0.75; }}
</style>
<h1>What a Transformer computes, sentence by sentence</h1>
<p>Each page shows one translation from the inside: attention, beam search, a forward pass number by number, what each
head and each source word is worth. The pages are made by <code>heed inspect</code> and need no network.</p>
{sections}
</html>
"""


def add(
    translator: heed.Translator,
    name: str,
    texts: tuple[str, ...],
    sample: list[tuple[str, str]],
    sample_name: str,
    out: Path,
    key: str,
) -> str:
    """Write a page for each text, and return their section of the index."""
    items = []
    for number, text in enumerate(texts, 1):
        try:
            found = translator.inspect(text, sample=sample, sample_name=sample_name, name=name)
        except HeedError as error:
            print(f"without “{text}”: {error}", file=sys.stderr)
            continue
        file = out / f"{key}-{number}.html"
        write_file(file, page(document(found)).encode())
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
        pair = html.escape(text), html.escape(found.translation.text)
        items.append(f'<li><a href="{file.name}"><bdi>{pair[0]}</bdi></a><br><small><bdi>{pair[1]}</bdi></small></li>')
    return f"<h2>{html.escape(name)}</h2>\n<ol>\n" + "\n".join(items) + "\n</ol>"


def demo_section(model: Path, out: Path) -> str | None:
    """Write the pages of the demo's model, if it is there."""
    if not model.is_dir():
        print(f"without the demo's model: there is no {model}; make demo trains it", file=sys.stderr)
        return None
    translator = heed.load(model)
    data = RunFolder.open(model).config.data
    sample = read_pairs(data.valid_source, data.valid_target, SAMPLE_PAIRS)
    typed = tuple(pair.source for pair in TYPED_BY_PEOPLE)
    return add(translator, "The demo's model", typed, sample, "validation text", out, "demo")


def box_section(out: Path) -> str | None:
    """Write the pages of the model that comes with heed, if there is one."""
    if DEFAULT not in names():
        print("without a model that comes with heed: there is none", file=sys.stderr)
        return None
    model = default_model()
    sample = boxed_pairs(model, SAMPLE_PAIRS)
    name = f"The model that comes with heed, {model.name}"
    return add(heed.load(), name, EVERYDAY, sample, "sentences of heed demo", out, "heed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("runs/demo"), help="the run of `heed demo`")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder to write")
    args = parser.parse_args()
    torch.set_num_threads(1)  # these models are small
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        sections = [one for one in (box_section(args.out), demo_section(args.model, args.out)) if one is not None]
    except HeedError as error:
        print(error, file=sys.stderr)
        return 1
    if not sections:
        return 1
    index = args.out / "index.html"
    write_file(index, INDEX.format(sections="\n".join(sections)).encode())
    print(index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
