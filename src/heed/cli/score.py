"""`heed score`: how good translations are, against references."""

import argparse
import json
from collections.abc import Mapping

HELP = "score translations against references: sacreBLEU, chrF and the paper's own BLEU"

EPILOG = """\
examples:
  heed score --hypotheses out.de --reference newstest2014.de
  heed translate --model run < test.en | heed score --reference test.de --baseline old.de --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Score translations, one sentence a line, against references of the same lines.\n"
        "Each score stands on a line of its own with its signature and, in brackets, its 95 % confidence\n"
        "interval. `BLEU` is sacreBLEU's and compares with other papers; `paperBLEU` is the tokenised,\n"
        "compound-split BLEU of the Transformer paper, which is higher for the same text."
    )
    parser.epilog = EPILOG
    parser.add_argument(
        "--hypotheses",
        default="-",
        metavar="FILE",
        help="the translations to score (default: standard input)",
    )
    configure_scoring(parser)


def configure_scoring(parser: argparse.ArgumentParser) -> None:
    """The arguments `heed score` and `heed evaluate` share."""
    from heed.evaluate.bleu import TOKENIZATIONS
    from heed.evaluate.resampling import RESAMPLES

    parser.add_argument(
        "--reference",
        required=True,
        action="append",
        metavar="FILE",
        help="what they should have been; give it again for each further reference of the same lines",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        help="another system's translations of the same lines; tests whether the difference is chance",
    )
    parser.add_argument(
        "--target-language",
        default="de",
        metavar="CODE",
        help="the language of the translations, for the tokenizer of the paper's BLEU (default: %(default)s)",
    )
    parser.add_argument(
        "--tokenize",
        default="13a",
        choices=TOKENIZATIONS,
        help="sacreBLEU's tokenisation; zh or char for languages without spaces (default: %(default)s)",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=RESAMPLES,
        metavar="N",
        help="bootstrap resamples behind intervals and tests; 0 for no intervals (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")


def run(args: argparse.Namespace) -> int:
    report(args, args.hypotheses, None)
    return 0


def report(
    args: argparse.Namespace,
    origin: str,
    hypotheses: list[str] | None,
    references: list[list[str]] | None = None,
    decoding: str = "",
    more: Mapping[str, object] | None = None,
) -> None:
    """Print the scores of translations, given as a list or else read from the file `origin`.

    `references` are the lines of the files `--reference` names, if they have been read already; `decoding` says
    in every signature how the translations were made; `more` are results to print beside the scores.
    """
    from heed.errors import ConfigError, DataError
    from heed.evaluate import Bleu, ChrF, Metric, PaperBleu, compare, score
    from heed.text.lines import read_lines

    files = [*args.reference, *([args.baseline] if args.baseline else [])]
    if [origin, *files].count("-") > 1:
        raise ConfigError("standard input (-, or --hypotheses left out) can be read for one of the files only")
    if hypotheses is None:
        hypotheses = list(read_lines(origin))
    texts = [*(references or []), *(list(read_lines(file)) for file in files[len(references or []) :])]
    for file, text in zip(files, texts, strict=True):
        if len(text) != len(hypotheses):
            raise DataError(
                f"{named(origin)} has {len(hypotheses)} lines but {named(file)} has {len(text)}; "
                "each must have one line per sentence, in the same order"
            )
    references = texts[: len(args.reference)]

    metrics: list[Metric] = [Bleu(tokenize=args.tokenize), ChrF(), PaperBleu(args.target_language)]
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
            **(more or {}),
        }
        if args.baseline:
            found |= {"baseline": args.baseline, "comparisons": [test.to_dict() for test in comparisons]}
        print(json.dumps(found, ensure_ascii=False))
    else:
        for line in (*scores, *comparisons):
            print(line)
        for name, value in (more or {}).items():
            print(f"{name} = {value:.4f}" if isinstance(value, float) else f"{name} = {value}")


def named(file: str) -> str:
    return "standard input" if file == "-" else file
