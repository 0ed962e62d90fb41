"""`heed score`: score translations against references, or trees against gold trees."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heed.cli import score_trees
from heed.wording import counted

if TYPE_CHECKING:
    from heed.evaluate import Comparison, Score

HELP = "score translations against references: BLEU, chrF, exact match, error rates; or trees"

_MANY = 100  # lines that look tokenised, as many as sacreBLEU warns of

EPILOG = """\
examples:
  heed score --hypotheses out.de --reference test.de
  heed score --hypotheses out.de --reference test.de --target-language de
  heed translate --model runs/x < test.en |
      heed score --reference test.de --baseline old.de --json
  heed score --trees gold.mrg predicted.mrg
  heed score --trees gold.mrg predicted.mrg -p COLLINS.prm --sentences
  heed score --trees gold.mrg predicted.mrg --errors
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Score translations, one sentence per line, against references of the same\n"
        "lines. Each score comes with its 95 % confidence interval and its signature:\n\n"
        "  BLEU       sacreBLEU's, comparable with other papers\n"
        "  chrF2      character n-grams; better than BLEU for short lines\n"
        "  exact      percentage of lines that equal their reference\n"
        "  CER, WER   character and word errors per 100 of the reference\n"
        "  paperBLEU  BLEU as in the Transformer paper, higher for the same text; needs\n"
        "             --target-language to choose its tokenizer\n\n"
        "With --trees, score trees in Penn brackets as EVALB does: labelled precision,\n"
        "recall and F1, exact match, crossing brackets, tagging accuracy."
    )
    parser.epilog = EPILOG
    parser.add_argument_group("translations").add_argument(
        "--hypotheses",
        default="-",
        metavar="FILE",
        help="the translations to score (default: standard input)",
    )
    score_trees.configure(parser)
    configure_scoring(parser, references_needed=False)


def configure_scoring(parser: argparse.ArgumentParser, references_needed: bool = True) -> None:
    """Add the options `heed score` and `heed evaluate` share."""
    from heed.evaluate.bleu import TOKENIZATIONS
    from heed.evaluate.resampling import RESAMPLES

    against = parser.add_argument_group("scored against")
    against.add_argument(
        "--reference",
        required=references_needed,
        action="append",
        metavar="FILE",
        help="reference translations; repeat for further references of the same lines",
    )
    against.add_argument(
        "--baseline",
        metavar="FILE",
        help="another system's translations of the same lines; tests whether the difference is significant",
    )
    how = parser.add_argument_group("scoring")
    how.add_argument(
        "--target-language",
        metavar="CODE",
        help="language of the translations, such as de; adds paperBLEU",
    )
    how.add_argument(
        "--tokenize",
        default="13a",
        choices=TOKENIZATIONS,
        help="sacreBLEU's tokenisation; zh or char for languages without spaces (default: %(default)s)",
    )
    how.add_argument(
        "--resamples",
        type=int,
        default=RESAMPLES,
        metavar="N",
        help="bootstrap resamples for intervals and tests; 0: no intervals (default: %(default)s)",
    )
    how.add_argument("--json", action="store_true", help="print one JSON object with unrounded scores")


def run(args: argparse.Namespace) -> int:
    if score_trees.is_asked_for(args):
        score_trees.report(args)
        return 0
    if args.reference is None:
        from heed.errors import ConfigError

        raise ConfigError("give the right translations with --reference, or trees with --trees")
    report(args, args.hypotheses, None)
    return 0


def report(
    args: argparse.Namespace,
    origin: str,
    hypotheses: list[str] | None,
    references: list[list[str]] | None = None,
    decoding: str = "",
    perplexity: float | None = None,
) -> None:
    """Print the scores of translations, given as a list or else read from the file `origin`.

    `references` are the lines of the --reference files, if they have been read already. `decoding` is added to every
    signature, and says how the translations were made. `perplexity` is printed with the scores.
    """
    from heed.errors import ConfigError, DataError
    from heed.evaluate import Bleu, ChrF, ErrorRate, ExactMatch, Metric, PaperBleu, compare, score
    from heed.text.lines import read_lines

    files = [*args.reference, *([args.baseline] if args.baseline else [])]
    if [origin, *files].count("-") > 1:
        raise ConfigError("standard input (-, or no --hypotheses) can be used for one of the files only")
    if hypotheses is None:
        hypotheses = list(read_lines(origin))
    texts = [*(references or []), *(list(read_lines(file)) for file in files[len(references or []) :])]
    for file, text in zip(files, texts, strict=True):
        if len(text) != len(hypotheses):
            raise DataError(
                f"{named(origin)} has {counted(len(hypotheses), 'line')}, but {named(file)} has {len(text):,}; "
                "both must have one line per sentence, in the same order"
            )
    references = texts[: len(args.reference)]
    if args.tokenize != "none" and sum(line.endswith(" .") for line in hypotheses) >= _MANY:
        print(
            f"warning: {named(origin)} looks tokenised: {_MANY} lines or more end in ' .'.\n"
            "BLEU tokenises text itself; for tokenised text, give --tokenize none.",
            file=sys.stderr,
        )

    metrics: list[Metric] = [Bleu(tokenize=args.tokenize), ChrF()]
    if args.target_language is not None:
        metrics.append(PaperBleu(args.target_language))
    metrics += [ExactMatch(), ErrorRate("char"), ErrorRate("word")]
    scores = [score(metric, hypotheses, *references, resamples=args.resamples) for metric in metrics]
    scores = [one.made_by(decoding) for one in scores] if decoding else scores
    comparisons = (
        [compare(metric, hypotheses, texts[-1], *references, resamples=args.resamples) for metric in metrics]
        if args.baseline
        else []
    )
    if args.json:
        found: dict[str, object] = {
            "hypotheses": origin,
            "references": args.reference,
            "lines": len(hypotheses),
            "scores": [score.to_dict() for score in scores],
        }
        if perplexity is not None:
            found["perplexity"] = perplexity
        if args.baseline:
            found |= {"baseline": args.baseline, "comparisons": [test.to_dict() for test in comparisons]}
        print(json.dumps(found, ensure_ascii=False))
    elif sys.stdout.isatty():
        print(*_tables(scores, comparisons, perplexity), sep="\n")
    else:
        print(*scores, *comparisons, sep="\n")
        if perplexity is not None:
            print(f"perplexity = {perplexity:.4f}" if perplexity < 1e6 else f"perplexity = {perplexity:.4e}")


# --- tables for a terminal --------------------------------------------------------------------------------

_COLUMNS = 80


def _tables(scores: Sequence["Score"], comparisons: Sequence["Comparison"], perplexity: float | None) -> list[str]:
    """Return a table of the scores, a table of the comparisons with the baseline, and the signatures, in 80 columns."""
    from heed.evaluate.criterion import PERPLEXITY

    width = len(PERPLEXITY.label)
    intervals = any(one.interval is not None for one in scores)
    lines = [f"{'':{width}}    score" + ("    95 % interval" if intervals else "")]
    for one in scores:
        line = f"{one.name:{width}}  {one.value:7.2f}"
        if one.interval is not None:
            line += "  [{:6.2f}, {:6.2f}]".format(*one.interval)
        lines.append(line + ("  lower is better" if one.lower_is_better else ""))
    if perplexity is not None:
        lines.append(f"{PERPLEXITY.label}  {PERPLEXITY.shown(perplexity):>7}")
    if comparisons:
        lines += ["", f"{'':{width}}    score  baseline  difference       p"]
        lines += [
            f"{one.name:{width}}  {one.value:7.2f}  {one.baseline:8.2f}  {one.difference:+10.2f}  {one.p_value:6.4f}  "
            + (one.direction if one.significant else "not significant" if one.difference else "the same")
            for one in comparisons
        ]
    lines.append("")
    for one in scores:
        lines += _wrapped(f"{one.name} {one.ngrams}".replace(" = ", "="), " ") if one.ngrams else []
    for one in scores:
        lines += _wrapped(f"{one.name}|{one.signature}", "|")
    return lines


def _wrapped(text: str, after: str) -> list[str]:
    """Break a text into lines of 80 columns, only after the given character."""
    lines = [""]
    for part in text.replace(after, f"{after}\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > _COLUMNS:
            lines.append("  ")
        lines[-1] += part
    return [line.rstrip(" ") for line in lines]


def named(file: str) -> str:
    return "standard input" if file == "-" else file
