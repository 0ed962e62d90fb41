"""`heed inspect`: one sentence, its translation, and every number in between, as a page, a figure or data."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from heed.bar import counting
from heed.box import FOLDER, default_model, find_model
from heed.cli.search import add_search, search_options
from heed.cli.startup import import_torch
from heed.errors import ConfigError, DataError

if TYPE_CHECKING:
    from heed.inside.inspection import Inspection

HELP = "see what a model computes for a sentence: attention, beam, every number"

_SAMPLE_PAIRS = 300
_VIEWS = ("attention", "heatmap", "grid", "beam", "heads", "occlusion", "layers", "figure3", "figure4", "figure5")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate a sentence and show what the model computes on the way: every\n"
        "attention head, the beam, a forward pass number by number, what each head and\n"
        "each source word is worth. The page is one file that opens in any browser,\n"
        "without a network."
    )
    parser.epilog = (
        "examples:\n"
        "  heed inspect 'The cat chased its tail.' --out page.html\n"
        "  heed inspect 'The cat chased its tail.' --model runs/x --out page.html\n"
        "  heed inspect 'A man is riding a bike.' --model runs/x --json > inside.json\n"
        "  heed inspect 'A man is riding a bike.' --model runs/x --npz inside.npz\n"
        "  heed inspect 'The cat chased its tail.' --model runs/x \\\n"
        "      --svg attention --kind cross --layer 3 --out cross.svg\n"
        "  heed inspect 'The cat chased its tail.' --model runs/x \\\n"
        "      --svg figure4 --word its --out figure4.svg\n"
        "  heed inspect 'The cat sleeps.' --model runs/parser --out parser.html"
    )
    parser.add_argument("text", metavar="TEXT", help="a sentence")
    group = parser.add_argument_group("model and search")
    group.add_argument(
        "--model",
        metavar="FOLDER",
        help="a run folder, or a name that heed models lists (default: English to German, from the box)",
    )
    group.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )
    add_search(group)
    group.add_argument(
        "--roles-from",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="text to measure each head's role on (default: the run's validation text)",
    )

    group = parser.add_argument_group("output")
    group.add_argument("--out", metavar="FILE", help="write the page, or the figure of --svg, here")
    group.add_argument("--limit-mb", type=float, default=5.0, metavar="X", help="how large a page may be (default: 5)")
    group.add_argument("--json", action="store_true", help="print JSON, all but the numbers of the walk")
    group.add_argument("--npz", metavar="FILE", help="write all arrays, those of the walk too")
    group.add_argument("--svg", choices=_VIEWS, metavar="VIEW", help=f"draw one view: {', '.join(_VIEWS)}")

    group = parser.add_argument_group("what --svg draws")
    group.add_argument("--kind", choices=("encoder", "decoder", "cross"), help="which attention (default: cross)")
    group.add_argument("--layer", type=int, metavar="N", help="from 1 (default: the last; figures 3-5: the one before)")
    group.add_argument("--head", type=int, action="append", metavar="N", help="from 1; several overlay (default: all)")
    group.add_argument("--word", metavar="WORD", help="draw what this word attends to only")
    group.add_argument("--pieces", action="store_true", help="draw sub-words, not words")


def run(args: argparse.Namespace) -> int:
    _check(args)
    import_torch()
    from heed.cli.output import Output
    from heed.durable import write_file
    from heed.inside.inspection import one_core_if_small
    from heed.loading import load

    out = Output(args.out) if args.out else None
    if args.npz:
        Output(args.npz)  # can it be written? Before anything is computed
    args.model = default_model() if args.model is None else find_model(args.model)
    translator = load(args.model, checkpoint=args.checkpoint, engine="torch")
    one_core_if_small(translator.models[0])
    options = search_options(args, translator)
    sample, sample_name = _sample(args)
    with counting(100, "inspecting, %") as tell:
        inspection = translator.inspect(
            args.text,
            beam=options.beam,
            alpha=options.alpha,
            sample=sample,
            sample_name=sample_name,
            name=args.model.name if args.model.parent == FOLDER else str(args.model),
            progress=lambda done, total: tell(100 * done // total),
        )
    if args.npz:
        write_file(Path(args.npz), inspection.to_npz())
        _say(args.npz)
    if args.json:
        print(inspection.to_json())
    if out is not None:
        with out:
            out.write(_drawn(args, inspection) if args.svg else _page(args, inspection))
        _say(args.out)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, or leave nothing to do."""
    if args.svg and not args.out:
        raise ConfigError(f"--svg {args.svg} needs a file to draw into; give --out figure.svg")
    if not (args.out or args.json or args.npz):
        raise ConfigError("nothing to write; give --out page.html, --json or --npz FILE")
    for name in ("kind", "layer", "head", "word", "pieces"):
        if getattr(args, name) not in (None, False) and not args.svg:
            raise ConfigError(f"--{name} goes with --svg; a page has all of them")
    if args.out and args.npz and Path(args.out).absolute() == Path(args.npz).absolute():
        raise ConfigError(f"--out and --npz are both {args.out}; give two names")
    if not args.limit_mb > 0:
        raise ConfigError(f"--limit-mb must be above 0, not {args.limit_mb:g}")


def _page(args: argparse.Namespace, inspection: "Inspection") -> str:
    from heed.inside.document import document
    from heed.inside.page import page

    return page(document(inspection, int(args.limit_mb * 1e6))).rstrip("\n")


def _drawn(args: argparse.Namespace, inspection: "Inspection") -> str:
    from heed.inside.svg import Choice, draw

    return draw(inspection, args.svg, Choice(args.kind, args.layer, args.head, args.word, not args.pieces))


def _sample(args: argparse.Namespace) -> tuple[list[tuple[str, str]], str]:
    """Return pairs to measure heads on: those asked for, or the run's validation text if it is still there."""
    from heed.inside.sample import boxed_pairs, read_pairs, read_trees, validation_files, validation_trees

    if args.roles_from:
        source, target = args.roles_from
        return read_pairs(source, target, _SAMPLE_PAIRS), f"{source}, {target}"
    run = Path(args.model)
    if (trees := validation_trees(run)) is not None:
        try:
            return read_trees(trees, _SAMPLE_PAIRS), trees
        except (DataError, OSError):
            print(f"{trees}: cannot be read, so the heads get no names", file=sys.stderr)
    files = validation_files(run)
    if files is not None:
        try:
            return read_pairs(*files, _SAMPLE_PAIRS), ", ".join(files)
        except (DataError, OSError):
            print(
                f"{files[0]}: cannot be read, so the heads get no names; --roles-from names other text",
                file=sys.stderr,
            )
    return boxed_pairs(run, _SAMPLE_PAIRS), "sentences of heed demo"


def _say(path: str) -> None:
    if Path(path).is_file():
        print(f"{path}: {Path(path).stat().st_size / 1e6:.1f} MB", file=sys.stderr)
