"""`heed align`: which word goes with which, in pairs of sentences, from the model's attention."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice, zip_longest
from typing import TYPE_CHECKING

from heed.bar import counting
from heed.box import find_model
from heed.cli.startup import import_torch
from heed.errors import ConfigError, DataError
from heed.wording import counted

if TYPE_CHECKING:
    from heed.engines.pytorch import PyTorchEngine
    from heed.evaluate.alignment import Links, Reference
    from heed.inside.alignment import Aligned, Choice
    from heed.model.transformer import Transformer

HELP = "align the words of sentence pairs, by a model's attention"

_LINES_PER_CHUNK = 1000
_CHOOSE_PAIRS = 500


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write which source word each target word goes with, one line per pair, in Moses\n"
        "format: 0-0 1-2 is source word 0 with target word 0, and 1 with 2. A word is\n"
        "what stands between spaces. The translation is given, not searched for; each\n"
        "target word gets the source word that some heads of the encoder-decoder\n"
        "attention look at most. Those heads are chosen on held-out text, by how often\n"
        "they agree with IBM model 1."
    )
    parser.epilog = (
        "examples:\n"
        "  heed align --model en-de --source a.en --target a.de > a.align\n"
        "  heed align --model runs/x --source a.en.gz --target a.de.gz --out a.align.gz\n"
        "  heed align --model runs/x --source a.en --target a.de --out a.align \\\n"
        "      --gold a.gold\n"
        "  heed align --model runs/x --source a.en --target a.de \\\n"
        "      --heads 3.1,3.2 --step read --json"
    )
    group = parser.add_argument_group("model and text")
    group.add_argument(
        "--model", required=True, metavar="FOLDER", help="a run folder, or a name that heed models lists"
    )
    group.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )
    group.add_argument("--source", required=True, metavar="FILE", help="source sentences, plain or .gz")
    group.add_argument("--target", required=True, metavar="FILE", help="their translations, line by line")

    group = parser.add_argument_group("which heads")
    group.add_argument(
        "--choose-on",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help=f"choose heads on the first {_CHOOSE_PAIRS} pairs of this text (default: the run's validation text)",
    )
    group.add_argument("--heads", metavar="LIST", help="use these, as layer.head from 1: 3.1,3.2")
    group.add_argument(
        "--step",
        choices=("read", "write"),
        help="with --heads: the step that reads a target word (default), or the one that writes it",
    )

    group = parser.add_argument_group("output")
    group.add_argument(
        "--out", metavar="FILE", help="write this file, as FILE.part until it is complete (default: standard output)"
    )
    group.add_argument("--json", action="store_true", help="one JSON object per line, with words and weights")
    group.add_argument(
        "--gold",
        metavar="FILE",
        help="links by hand, 0-0 if sure and 1?2 if possible: print the alignment error rate to standard error",
    )


def run(args: argparse.Namespace) -> int:
    from heed.cli.output import Output
    from heed.cli.translate import refuse_overwriting

    heads = _heads(args.heads)
    if args.step and not heads:
        raise ConfigError(f"--step {args.step} goes with --heads; without them, both are chosen on held-out text")
    if heads and args.choose_on:
        raise ConfigError("--heads and --choose-on both say which heads to use; drop one of the two")
    out = Output(args.out)
    for path in (args.out, out.part):
        refuse_overwriting(path, args.source, args.target, args.gold)
    import_torch()
    from heed.engines.pytorch import PyTorchEngine
    from heed.inside.alignment import Aligner, Choice
    from heed.inside.inspection import one_transformer
    from heed.loading import load
    from heed.parsing.tokenizer import TreeTokenizer

    args.model = find_model(args.model)
    engine = load(args.model, checkpoint=args.checkpoint, engine="torch").engine
    assert isinstance(engine, PyTorchEngine)
    if isinstance(engine.tokenizer, TreeTokenizer):
        raise ConfigError(f"{args.model}: this model parses; words are aligned with one that translates")
    model = one_transformer(engine)
    total = _check_lines(args)
    choice = Choice(heads, args.step != "write") if heads else _choose(args, engine, model)
    aligner = Aligner(model, engine.tokenizer, engine.limit, choice)
    references = _read_gold(args.gold, total) if args.gold else None
    found: list[Links] = []
    too_long: list[int] = []
    number = 0
    with (
        out,
        nullcontext(lambda done: None) if out.is_terminal else counting(total, "aligning") as progress,
    ):
        for chunk in _chunks(args.source, args.target):
            for one in aligner.align(*(list(texts) for texts in zip(*chunk, strict=True))):
                number += 1
                if one is None:
                    too_long.append(number)
                if references is not None:
                    found.append(frozenset((s, t) for s, t, _ in one.links) if one else frozenset())
                out.write(_line(args.json, number, one))
            out.flush()
            progress(number)
    if too_long:
        some = ", ".join(map(str, too_long[:5])) + (" ..." if len(too_long) > 5 else "")
        print(
            f"{counted(len(too_long), 'pair')} longer than the model's limit of {engine.limit:,} pieces: "
            f"an empty line each (line {some})",
            file=sys.stderr,
        )
    if references is not None:
        _report(found, references)
    return 0


def _heads(text: str | None) -> tuple[tuple[int, int], ...]:
    if text is None:
        return ()
    if not re.fullmatch(r"[1-9]\d*\.[1-9]\d*(,[1-9]\d*\.[1-9]\d*)*", text):
        raise ConfigError(f"--heads {text}: write layer.head, counted from 1, with commas between: 3.1,3.2")
    pairs = (one.split(".") for one in text.split(","))
    return tuple(dict.fromkeys((int(layer) - 1, int(head) - 1) for layer, head in pairs))


def _choose(args: argparse.Namespace, engine: "PyTorchEngine", model: "Transformer") -> "Choice":
    """Choose heads on held-out text, and say which."""
    from pathlib import Path

    from heed.inside.alignment import choose
    from heed.inside.sample import boxed_pairs
    from heed.run import RunFolder

    if args.choose_on:
        source, target = args.choose_on
        texts = list(islice(_pairs(source, target), _CHOOSE_PAIRS))
    elif texts := boxed_pairs(args.model, _CHOOSE_PAIRS):
        source = "heed demo"
    else:
        data = RunFolder.open(args.model).config.data
        source, target = data.valid_source, data.valid_target
        if not (source and target and Path(source).is_file() and Path(target).is_file()):
            raise ConfigError(
                f"{source or 'validation text'}: not found, so there is no held-out text to choose heads with; "
                "give --choose-on SOURCE TARGET (a few hundred pairs), or --heads"
            )
        texts = list(islice(_pairs(source, target), _CHOOSE_PAIRS))
    encoded = zip(*(engine.tokenizer.encode_ids([pair[side] for pair in texts]) for side in (0, 1)), strict=True)
    pairs = [(a, b) for a, b in encoded if 0 < len(a) <= engine.limit and 0 < len(b) <= engine.limit]
    done = 0
    with counting(len(pairs), "choosing heads") as progress:

        def tell(n: int) -> None:
            nonlocal done
            done += n
            progress(done)

        choice, _ = choose(model, pairs, tell)
    heads = ",".join(f"{layer + 1}.{head + 1}" for layer, head in choice.heads)
    print(
        f"{counted(len(choice.heads), 'head')} chosen: {choice.agreement:.0%} agreement with model 1 on "
        f"{counted(len(pairs), 'pair')} of {source}\n"
        f"to use them again: --heads {heads} --step {'read' if choice.reads else 'write'}",
        file=sys.stderr,
    )
    return choice


def _check_lines(args: argparse.Namespace) -> int:
    """Count the lines before anything is computed; both files must have as many."""
    from heed.data.corpus import count_lines_of

    n_source, n_target = count_lines_of(args.source), count_lines_of(args.target)
    if n_source != n_target:
        raise DataError(
            f"{args.source} has {counted(n_source, 'line')}, but {args.target} has {n_target:,}; "
            "line n of one must be the translation of line n of the other"
        )
    return n_source


def _pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    from heed.text.lines import read_lines

    for a, b in zip_longest(read_lines(source), read_lines(target)):
        if a is None or b is None:
            raise DataError(f"{source} and {target} differ in their number of lines; give two that belong together")
        yield a, b


def _chunks(source: str, target: str) -> Iterator[list[tuple[str, str]]]:
    pairs = _pairs(source, target)
    while chunk := list(islice(pairs, _LINES_PER_CHUNK)):
        yield chunk


def _line(as_json: bool, number: int, one: "Aligned | None") -> str:
    from heed.evaluate.alignment import written

    if not as_json:
        return written((s, t) for s, t, _ in one.links) if one else ""
    if one is None:
        return json.dumps({"line": number, "links": None, "error": "longer than the model's limit"})
    links = [[s, t, round(weight, 4)] for s, t, weight in one.links]
    return json.dumps({"line": number, "source": one.source, "target": one.target, "links": links}, ensure_ascii=False)


def _read_gold(path: str, n_lines: int) -> "list[Reference]":
    from heed.evaluate.alignment import read_reference
    from heed.text.lines import read_lines

    lines = list(read_lines(path))
    if len(lines) != n_lines:
        raise DataError(f"{path} has {counted(len(lines), 'line')}, but there are {counted(n_lines, 'pair')} to align")
    return [read_reference(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]


def _report(found: "list[Links]", references: "list[Reference]") -> None:
    from heed.evaluate.alignment import alignment_score

    score = alignment_score(found, references)
    print(
        f"alignment error rate {score.error_rate:.1%} (precision {score.precision:.1%}, recall {score.recall:.1%}) "
        f"on {counted(score.n_pairs, 'pair')}",
        file=sys.stderr,
    )
