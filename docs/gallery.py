"""Make the gallery: a page of `heed inspect` for each of some sentences, and an index of them.

    python docs/gallery.py [--model runs/demo] [--out gallery]

The sentences are those that the demo ends with. Where a model comes with heed, it translates a few others.
"""

import argparse
import html
import sys
from itertools import islice
from pathlib import Path

import heed
from heed.demo.grammar import TYPED_BY_PEOPLE
from heed.durable import write_file
from heed.errors import HeedError
from heed.inside.document import document
from heed.inside.page import page
from heed.run import RunFolder
from heed.text.lines import read_lines

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
    translator: heed.Translator, name: str, texts: tuple[str, ...], sample: list[tuple[str, str]], out: Path, key: str
) -> str:
    """Write a page for each text, and return their section of the index."""
    items = []
    for number, text in enumerate(texts, 1):
        try:
            found = translator.inspect(text, sample=sample, sample_name="validation text", name=name)
        except HeedError as error:
            print(f"without “{text}”: {error}", file=sys.stderr)
            continue
        file = out / f"{key}-{number}.html"
        write_file(file, page(document(found)).encode())
        print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
        pair = html.escape(text), html.escape(found.translation.text)
        items.append(f'<li><a href="{file.name}"><bdi>{pair[0]}</bdi></a><br><small><bdi>{pair[1]}</bdi></small></li>')
    return f"<h2>{html.escape(name)}</h2>\n<ol>\n" + "\n".join(items) + "\n</ol>"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("runs/demo"), help="the run of `heed demo`")
    parser.add_argument("--out", type=Path, default=Path("gallery"), help="folder to write")
    args = parser.parse_args()
    try:
        translator = heed.load(args.model)
        data = RunFolder.open(args.model).config.data
        sides = [list(islice(read_lines(path), SAMPLE_PAIRS)) for path in (data.valid_source, data.valid_target)]
    except HeedError as error:
        print(f"{error}\nmake demo trains the model of the gallery", file=sys.stderr)
        return 1
    args.out.mkdir(parents=True, exist_ok=True)
    typed = tuple(pair.source for pair in TYPED_BY_PEOPLE)
    sections = [add(translator, "The demo's model", typed, list(zip(*sides, strict=True)), args.out, "demo")]
    try:
        bundled = heed.load()
    except (HeedError, TypeError) as error:  # TypeError: this version comes without a model
        print(f"without a model that comes with heed: {error}", file=sys.stderr)
    else:
        sections.append(add(bundled, "The model that comes with heed", EVERYDAY, [], args.out, "heed"))
    index = args.out / "index.html"
    write_file(index, INDEX.format(sections="\n".join(sections)).encode())
    print(index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
