"""`heed confidence`: fit on held-out text how confident to be in a model's translations."""

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.progress import in_chunks, with_progress

if TYPE_CHECKING:
    from heed.confidence.calibration import Calibration

HELP = "fit on held-out text how confident to be in a model's translations"

_LINES_PER_CHUNK = 500
_CHOICES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of --min-confidence, in the report

EPILOG = """\
examples:
  heed confidence --model runs/x --source held-out.en --reference held-out.de
  heed confidence --model runs/x --source held-out.en --reference held-out.de \\
      --good 60 --plot reliability.svg
  heed translate --model runs/x --min-confidence 0.5 < in.txt
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate held-out text, compare with its reference, and fit the chance that a\n"
        "translation, or a word of it, is good. A translation is good if its chrF2 is at\n"
        "least --good; a word is good if the reference has it. One half of the text fits\n"
        "the two regressions, the other half tests them. The result, confidence.json in\n"
        "the run folder, is for heed translate --confidence and --min-confidence.\n\n"
        "Use text that the model was not trained on, like the text it will translate: at\n"
        "least 200 sentences, better 2,000."
    )
    parser.epilog = EPILOG
    parser.add_argument("--model", required=True, metavar="FOLDER", help="a run folder, not a name")
    parser.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )
    parser.add_argument("--source", required=True, metavar="FILE", help="held-out text to translate")
    parser.add_argument("--reference", required=True, metavar="FILE", help="its translation, line by line")
    parser.add_argument(
        "--good", type=float, default=50.0, metavar="N", help="least chrF2 of a good translation (default: 50)"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="also draw the reliability diagram to this file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from heed.box import find_model, is_name
    from heed.confidence.diagram import as_svg
    from heed.confidence.fitting import calibrate
    from heed.durable import write_file
    from heed.errors import ConfigError, DataError
    from heed.text.lines import read_lines

    if not 0 < args.good <= 100:
        raise ConfigError(f"--good must be above 0 and at most 100, not {args.good:g}")
    if args.plot is not None and args.plot.suffix != ".svg":
        raise ConfigError(f"--plot {args.plot}: the name must end in .svg")
    if args.plot is not None and not args.plot.parent.is_dir():
        raise ConfigError(f"--plot {args.plot}: the folder {args.plot.parent} does not exist; create it first")
    if args.source == args.reference == "-":
        raise ConfigError("standard input can be used for one of the files only")
    from heed.loading import load
    from heed.run import RunFolder
    from heed.translation import Translation

    if is_name(args.model):
        copy = f"my-{args.model}"
        again = ["heed", "confidence", "--model", copy, "--source", args.source, "--reference", args.reference]
        raise ConfigError(
            f"--model {args.model}: is a model in the box, but heed confidence writes into the model's folder, and the "
            "box stays as it was installed. Make a copy and use that:\n"
            f"heed export --model {args.model} --to heed --out {copy}\n{shlex.join(again)}"
        )
    folder = RunFolder.open(find_model(args.model))
    translator = load(folder.path, checkpoint=args.checkpoint)
    sources, references = list(read_lines(args.source)), list(read_lines(args.reference))
    if not sources:
        raise DataError(f"{args.source}: is empty; name a file with held-out text")
    if len(sources) != len(references):
        raise DataError(
            f"{args.source} has {len(sources):,} lines, but {args.reference} has {len(references):,}; "
            "line n of one must be the translation of line n of the other"
        )
    translations: list[Translation] = []
    for texts in with_progress(in_chunks(sources, _LINES_PER_CHUNK), len(sources), "translating"):
        translations += translator.translate(texts)
    found = calibrate(sources, translations, references, args.good)
    search = {"beam": translator.decode.beam, "alpha": translator.decode.alpha}
    path = folder.set_calibration(found, args.checkpoint, search)
    if args.plot is not None:
        panels = [("sentences", found.sentence_trial), ("words", found.word_trial)]
        write_file(args.plot, as_svg(panels).encode())
    if args.json:
        print(json.dumps({"file": str(path), "meaning": found.meaning, **found.to_dict()}, ensure_ascii=False))
    else:
        print(*_report(found), sep="\n")
        print(f"\nsaved in {path}")
    return 0


def _report(found: "Calibration") -> list[str]:
    import textwrap

    from heed.confidence.diagram import as_text

    lines = [
        *textwrap.wrap(found.meaning, 79),
        f"fitted on {found.n_fitted:,} sentences, tested on {found.sentence_trial.n:,} others:",
        "",
        "                   n     good      AUC      ECE",
    ]
    for name, trial in (("sentences", found.sentence_trial), ("words", found.word_trial)):
        lines.append(f"{name:10}{trial.n:10,}   {100 * trial.good:4.1f} %   {trial.auc:.3f}    {trial.error:.3f}")
    for name, trial in (("sentences", found.sentence_trial), ("words", found.word_trial)):
        lines += ["", f"{name} (bars: found; | where they should end)", *as_text(trial)]
    lines += ["", "--min-confidence    translations kept    good among them"]
    bins = found.sentence_trial.bins
    for i, least in enumerate(_CHOICES, 1):
        kept = sum(one.n for one in bins[i:])
        if kept:
            good = sum(one.n * one.found for one in bins[i:]) / kept
            lines.append(f"{least:16.1f}{100 * kept / found.sentence_trial.n:19.1f} %{100 * good:17.1f} %")
    return lines
