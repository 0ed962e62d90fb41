"""`heed score --trees`: how right trees are."""

import argparse
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heed.parsing.evalb import Counts, Totals
    from heed.parsing.mistakes import LabelTotals, Mistakes

_SHOWN_PROBLEMS = 5
_SHOWN_CONFUSIONS = 10
_SHOWN_LABELS = 5  # of a kind of error
_COLUMNS = 80


def configure(parser: argparse.ArgumentParser) -> None:
    trees = parser.add_argument_group("trees")
    trees.add_argument(
        "--trees",
        nargs=2,
        metavar=("GOLD", "PREDICTED"),
        help="files of trees: the gold trees and those to score; - is standard input",
    )
    trees.add_argument(
        "-p", "--parameters", metavar="FILE", help="a parameter file of EVALB's (default: as COLLINS.prm)"
    )
    trees.add_argument(
        "--cutoff", type=int, metavar="N", help="score sentences of up to N words apart, too (default: 40)"
    )
    trees.add_argument("--sentences", action="store_true", help="print each sentence's scores in EVALB's columns")
    trees.add_argument("--labels", action="store_true", help="print the scores of each label, too")
    trees.add_argument(
        "--errors", action="store_true", help="print what goes wrong, too: labels, confusions, kinds of errors"
    )


def is_asked_for(args: argparse.Namespace) -> bool:
    """Return whether trees are to be scored.

    Raises:
        ConfigError: options for trees and for translations are mixed.
    """
    from heed.errors import ConfigError

    if args.trees is None:
        given = {"--parameters": args.parameters, "--cutoff": args.cutoff, "--sentences": args.sentences or None}
        given |= {"--labels": args.labels or None, "--errors": args.errors or None}
        for option, value in given.items():
            if value is not None:
                raise ConfigError(f"{option} is for trees; give them with --trees GOLD PREDICTED")
        return False
    given = {"--reference": args.reference, "--baseline": args.baseline, "--target-language": args.target_language}
    for option, value in given.items():
        if value is not None:
            raise ConfigError(f"{option} is for translations; --trees names both files of trees itself")
    if args.trees.count("-") > 1:
        raise ConfigError("standard input (-) can be read for one of the files only")
    if args.cutoff is not None and args.cutoff < 1:
        raise ConfigError(f"--cutoff {args.cutoff} must be at least 1")
    return True


def report(args: argparse.Namespace) -> None:
    """Print the scores of trees."""
    from heed.parsing.evalb import (
        Status,
        count_always,
        count_as_evalb,
        pair_up,
        read_sentences,
        totals,
    )
    from heed.parsing.mistakes import count_mistakes
    from heed.parsing.parameters import Parameters, read_parameters

    parameters = Parameters() if args.parameters is None else read_parameters(args.parameters)
    cutoff = parameters.cutoff if args.cutoff is None else args.cutoff
    gold_name, predicted_name = ("standard input" if file == "-" else file for file in args.trees)
    gold, predicted = (read_sentences(file) for file in args.trees)
    pairs = pair_up(gold, predicted, gold_name, predicted_name)
    as_evalb = [count_as_evalb(*pair, parameters) for pair in pairs]
    always = [count_always(*pair, parameters) for pair in pairs]
    tables = {
        "every_sentence": [totals(always, True), totals(always, True, cutoff)],
        "evalb": [totals(as_evalb, False), totals(as_evalb, False, cutoff)],
    }
    not_counted = [(n, one) for n, one in enumerate(as_evalb, 1) if one.status != Status.COMPARED]
    if args.json:
        found: dict[str, object] = {"gold": args.trees[0], "predicted": args.trees[1], "cutoff": cutoff}
        for name, (everything, short) in tables.items():
            found[name] = {"all": everything.to_dict(), "up_to_cutoff": short.to_dict()}
        found["not_counted_by_evalb"] = [{"sentence": n, "problem": one.problem} for n, one in not_counted]
        if args.sentences:
            found["sentences"] = [_to_dict(one) for one in as_evalb]
        if args.labels or args.errors:
            mistakes = count_mistakes(pairs, parameters)
            found["labels"] = {label: asdict(one) for label, one in mistakes.labels.items()}
            found |= _mistakes_dict(mistakes) if args.errors else {}
        print(json.dumps(found, ensure_ascii=False))
        return
    if args.sentences:
        print(*_rows(as_evalb, tables["evalb"][0]), "", sep="\n")
    print(*_table([*tables["every_sentence"], *tables["evalb"]], cutoff), sep="\n")
    if args.labels or args.errors:
        mistakes = count_mistakes(pairs, parameters)
        print("", *_label_rows(mistakes.labels), sep="\n")
        if args.errors:
            print("", *_confusion_rows(mistakes), "", *_kind_rows(mistakes), sep="\n")
    if not_counted:
        print("", *_problems(not_counted, parameters.max_errors), sep="\n")


def _to_dict(one: "Counts") -> dict[str, object]:
    return {**asdict(one), "status": int(one.status)}


def _mistakes_dict(mistakes: "Mistakes") -> dict[str, object]:
    confusions = [
        {"gold": gold, "predicted": predicted, "count": n} for (gold, predicted), n in mistakes.confusions.most_common()
    ]
    kinds = {
        name: {
            "count": kind.count,
            "labels": dict(kind.labels.most_common()),
            "example": None if kind.example is None else asdict(kind.example),
        }
        for name, kind in mistakes.kinds.items()
    }
    return {"confusions": confusions, "errors": kinds}


# --- for people -------------------------------------------------------------------------------------------


def _table(columns: Sequence["Totals"], cutoff: int) -> list[str]:
    whole, short = "all", f"<= {cutoff}"
    lines = [f"{'':20} {'every sentence':^21}   {'raw EVALB':^21}".rstrip()]
    lines.append(f"{'':20} {whole:>10} {short:>10}   {whole:>10} {short:>10}")
    counts = {
        "sentences": "sentences",
        "words differ": "words_differ",
        "no tree": "no_tree",
        "brackets, gold": "gold",
        "brackets, predicted": "predicted",
        "brackets, matched": "matched",
    }
    scores = {
        "recall": "recall",
        "precision": "precision",
        "F1": "f1",
        "exact match": "exact_match",
        "average crossing": "average_crossing",
        "no crossing": "no_crossing",
        "2 or less crossing": "two_or_less_crossing",
        "tagging accuracy": "tagging_accuracy",
    }
    for kind, form in ((counts, ",d"), (scores, ".2f")):
        for title, name in kind.items():
            one, two, three, four = (f"{getattr(column, name):{form}}" for column in columns)
            lines.append(f"{title:20} {one:>10} {two:>10}   {three:>10} {four:>10}")
    return lines


def _label_rows(labels: Mapping[str, "LabelTotals"]) -> list[str]:
    """Return a table of labels, every sentence counted."""
    columns = f"{'gold':>8}{'predicted':>11}{'matched':>9}{'recall':>9}{'precision':>11}{'F1':>8}{'other label':>13}"
    return [f"{'label':10}{columns}"] + [
        f"{label:10}{one.gold:>8,}{one.predicted:>11,}{one.matched:>9,}{one.recall:>9.2f}{one.precision:>11.2f}"
        f"{one.f1:>8.2f}{one.other_label:>13,}"
        for label, one in labels.items()
    ]


def _confusion_rows(mistakes: "Mistakes") -> list[str]:
    """Return the labels that are taken for others most often."""
    lines = [f"{'gold':12}{'predicted':12}{'times':>8}   same words, the most frequent first"]
    for (gold, predicted), n in mistakes.confusions.most_common(_SHOWN_CONFUSIONS):
        lines.append(f"{gold:12}{predicted:12}{n:>8,}")
    return lines


def _kind_rows(mistakes: "Mistakes") -> list[str]:
    """Return the kinds of errors, each with its labels and an example."""
    lines = [f"{'error':12}{'brackets':>9}   labels"]
    for name, kind in mistakes.kinds.items():
        labels = ", ".join(f"{label} {n:,}" for label, n in kind.labels.most_common(_SHOWN_LABELS))
        lines.append(f"{name:12}{kind.count:>9,}   {labels}".rstrip())
        if kind.example is not None:
            lines.append(f"  sentence {kind.example.sentence}:")
            for side, text in (("gold", kind.example.gold), ("predicted", kind.example.predicted)):
                lines += textwrap.wrap(text, _COLUMNS, initial_indent=f"    {side:10}", subsequent_indent=" " * 14)
    return lines


def _problems(not_counted: Sequence[tuple[int, "Counts"]], max_errors: int) -> list[str]:
    """Name the first sentences that EVALB does not count."""
    from heed.parsing.evalb import Status

    lines = ["Raw EVALB does not count"]
    lines += [f"  sentence {n}: {one.problem}" for n, one in not_counted[:_SHOWN_PROBLEMS]]
    if len(not_counted) > _SHOWN_PROBLEMS:
        lines.append(f"  and {len(not_counted) - _SHOWN_PROBLEMS} more; --json names them all")
    if sum(one.status == Status.WORDS_DIFFER for _, one in not_counted) > max_errors + 1:
        lines.append(f"EVALB itself would have stopped, with MAX_ERROR {max_errors}.")
    return lines


def _rows(sentences: Sequence["Counts"], total: "Totals") -> list[str]:
    """Return EVALB's table, a line for each sentence and one for all."""
    line = "=" * 76
    rows = [
        "  Sent.                        Matched  Bracket   Cross        Correct Tag",
        " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy",
        line,
    ]
    for number, one in enumerate(sentences, 1):
        recall, precision, accuracy = (
            100 * part / whole if whole else 0.0
            for part, whole in ((one.matched, one.gold), (one.matched, one.predicted), (one.right_tags, one.words))
        )
        rows.append(
            f"{number:4d}  {one.length:3d}    {one.status:d}  {recall:6.2f} {precision:6.2f}   "
            f"{one.matched:3d}    {one.gold:3d}  {one.predicted:3d}    {one.crossing:3d}   "
            f"{one.words:4d}  {one.right_tags:4d}   {accuracy:6.2f}"
        )
    last = f"{total.recall:22.2f} {total.precision:6.2f} {total.matched:6d} {total.gold:5d} {total.predicted:5d}  "
    last += f"{total.crossing:5d}  {total.words:5d} {total.right_tags:5d}   {total.tagging_accuracy:6.2f}"
    return [*rows, line, last]
