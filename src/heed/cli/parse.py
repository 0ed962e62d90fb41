"""`heed parse`: sentences in, trees out, one line each."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.bar import counting
from heed.cli.search import add_model, add_search, search_options
from heed.cli.startup import import_torch
from heed.cli.translate import chunks_of, count_input, refuse_overwriting
from heed.errors import ConfigError
from heed.wording import counted

if TYPE_CHECKING:
    from heed.parser import Parse, Sentence
    from heed.parsing.trees import Tree

HELP = "parse sentences into trees, with a model trained on a treebank"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write the tree of each sentence, one line in, one line out, in the same order;\n"
        "blank lines stay blank. Every output is a tree over exactly the words of its\n"
        "line. Raw text is split into words as in the Penn treebank."
    )
    parser.epilog = (
        "examples:\n"
        "  heed parse --model runs/p < sentences.txt > trees.mrg\n"
        "  echo 'The cat sleeps.' | heed parse --model runs/p --pretty\n"
        "  echo 'The cat sleeps.' | heed parse --model runs/p --svg tree.svg\n"
        "  echo 'The cat sleeps .' | heed parse --model runs/p --tokenised --n-best 3\n"
        "  heed parse --model runs/p --json < sentences.txt\n"
        "  heed parse --model runs/p --from-trees gold.mrg --output parsed.mrg\n"
        "  heed score --trees gold.mrg parsed.mrg"
    )
    group = parser.add_argument_group("model, input and output")
    add_model(group)
    group.add_argument("--input", default="-", metavar="FILE", help="read this file (default: standard input)")
    group.add_argument("--from-trees", metavar="FILE", help="parse the words of these trees, to compare with them")
    group.add_argument(
        "--output", metavar="FILE", help="write this file, as FILE.part until it is complete (default: standard output)"
    )
    group = parser.add_argument_group("words")
    group.add_argument("--tokenised", action="store_true", help="blanks separate the words, which stay as they are")
    group.add_argument(
        "--hyphens",
        choices=["split", "keep"],
        help="whether raw text is split at hyphens (default: as in the treebank the model was trained on)",
    )
    group = parser.add_argument_group("search")
    add_search(group)
    group.add_argument("--greedy", action="store_true", help="the same as --beam 1")
    group.add_argument("--int8", action="store_true", help="use 8-bit weights: faster, slightly less exact")
    group.add_argument(
        "--unconstrained", action="store_true", help="let the model write what is no tree: a blank line, with a note"
    )
    group = parser.add_argument_group("output format")
    group.add_argument(
        "--n-best", type=int, default=1, metavar="N", help="N trees per line: number, tab, score, tab, tree"
    )
    group.add_argument("--scores", action="store_true", help="write score, tab, tree")
    group.add_argument("--pretty", action="store_true", help="draw the trees in characters")
    group.add_argument("--svg", metavar="FILE", help="draw the tree of line 1 here, that of line 2 in FILE-2.svg, ...")
    group.add_argument("--json", action="store_true", help="write one JSON object per line, with words and brackets")


def run(args: argparse.Namespace) -> int:
    _check(args)
    import_torch()
    from heed.allocator import keep_freed_memory
    from heed.cli.output import Output
    from heed.loading import load
    from heed.parser import parse_sentences, tree_tokenizer
    from heed.text.lines import read_lines

    out = Output(args.output)
    for written in (args.output, out.part, args.svg):
        refuse_overwriting(written, args.input, args.from_trees)
    keep_freed_memory()
    translator = load(*args.model, checkpoint=args.checkpoint, int8=args.int8, engine="torch")
    engine = translator._pytorch()
    tree_tokenizer(engine, " ".join(args.model))
    options = search_options(args, translator)
    chunks: Iterator[Sequence[Sentence]]
    if args.from_trees:
        chunks, total = _trees(args.from_trees)
    else:
        if args.input == "-" and sys.stdin.isatty():
            print("type a sentence per line; Ctrl-D ends", file=sys.stderr)
        chunks, total = chunks_of(read_lines(args.input)), count_input(args.input)
    number = n_parsed = n_malformed = 0
    shows_progress = total and not out.is_terminal
    with out, counting(total, "parsing") if shows_progress else nullcontext(lambda done: None) as progress:
        try:
            for lines in chunks:
                found = parse_sentences(
                    engine,
                    [_sentence(line, args.tokenised) for line in lines],
                    replace(options, first_number=number),
                    split_hyphens=None if args.hyphens is None else args.hyphens == "split",
                    constrained=not args.unconstrained,
                )
                for line, parse in zip(lines, found, strict=True):
                    number += 1
                    for text in _shown(args, number, line, parse):
                        out.write(text)
                    n_parsed += bool(parse.words)
                    if parse.problem:
                        n_malformed += 1
                        print(f"line {number}: no tree: {parse.problem}", file=sys.stderr)
                    if args.svg and parse.tree is not None:
                        _draw(args.svg, number, parse.tree)
                out.flush()
                progress(number)
        except KeyboardInterrupt:
            place = f", saved in {out.part}" if out.has_begun and out.part is not None else ""
            raise KeyboardInterrupt(f"after {counted(number, 'line')}{place}") from None
    if args.unconstrained:
        share = 100 * n_malformed / n_parsed if n_parsed else 0.0
        print(f"{n_malformed:,} of {counted(n_parsed, 'output')} ({share:.1f} %) are no trees", file=sys.stderr)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if args.greedy and args.beam not in (None, 1):
        raise ConfigError(f"--greedy and --beam {args.beam} contradict each other; drop one of the two")
    if args.from_trees and (args.tokenised or args.hyphens or args.input != "-"):
        raise ConfigError("--from-trees has sentences and words; drop --input, --tokenised and --hyphens")
    if args.tokenised and args.hyphens:
        raise ConfigError("--hyphens is for raw text, and --tokenised leaves words as they are; drop one of the two")
    if args.json and (args.pretty or args.scores):
        raise ConfigError("--json has scores and trees already; drop --pretty and --scores")
    if args.svg:
        _check_drawings(Path(args.svg), args.input, args.from_trees, args.output)


def _check_drawings(first: Path, *files: str | None) -> None:
    """Refuse drawings that cannot be written, or that would take the place of another file of the command."""
    if not first.absolute().parent.is_dir():
        raise ConfigError(f"--svg {first}: the folder {first.parent} does not exist; create it")
    if first.is_dir():
        raise ConfigError(f"--svg {first} is a folder; name a file in it")
    for file in filter(None, files):
        path, folder = Path(file).resolve(), first.resolve().parent
        number = path.name.removeprefix(f"{first.stem}-").removesuffix(first.suffix)
        if path == first.resolve() or (number.isdigit() and path == _drawing(folder / first.name, number)):
            raise ConfigError(f"--svg {first} would overwrite {file}, which this command uses; name another file")


def _drawing(first: Path, number: int | str) -> Path:
    """Return the file of a line's drawing, if that of line 1 is `first`."""
    return first if number == 1 else first.with_name(f"{first.stem}-{number}{first.suffix}")


def _trees(path: str) -> "tuple[Iterator[Sequence[Sentence]], int | None]":
    """Return the words of a treebank's trees in chunks, and how many trees there are."""
    from heed.parsing.trees import read_treebank

    sentences = [tree.words() for tree in read_treebank(path)]
    return (sentences[begin : begin + 1000] for begin in range(0, len(sentences), 1000)), len(sentences)


def _sentence(line: "Sentence", tokenised: bool) -> "Sentence":
    from heed.parser import split_words

    return split_words(line) if tokenised and isinstance(line, str) else line


def _shown(args: argparse.Namespace, number: int, line: "Sentence", parse: "Parse") -> Iterator[str]:
    from heed.parsing.draw import draw

    several = parse.alternatives or (parse,)
    if args.json:
        yield json.dumps({"line": number, **_plain(line, parse)}, ensure_ascii=False)
        return
    for one in several if args.n_best > 1 else several[:1]:
        tree = "" if one.tree is None else draw(one.tree) + "\n" if args.pretty else str(one.tree)
        separator = "\n" if args.pretty else "\t"
        if args.n_best > 1:
            yield f"{number}\t{one.score:.4f}{separator}{tree}"
        else:
            yield f"{one.score:.4f}{separator}{tree}" if args.scores else tree


def _plain(line: "Sentence", parse: "Parse") -> dict[str, Any]:
    def one(it: "Parse") -> dict[str, Any]:
        if it.tree is None:
            return {"tree": None, "problem": it.problem}
        brackets = [{"label": label, "start": start, "end": end} for label, start, end in it.tree.brackets()]
        scores = {"score": it.score, "log_probability": it.log_probability}
        return {"tree": str(it.tree), **scores, "tags": it.tree.tags(), "brackets": brackets}

    spans = None if parse.spans is None else [list(span) for span in parse.spans]
    more = {"alternatives": [one(it) for it in parse.alternatives[1:]]} if parse.alternatives else {}
    source = line if isinstance(line, str) else " ".join(line)
    return {"sentence": source, "words": list(parse.words), "spans": spans, **one(parse), **more}


def _draw(path: str, number: int, tree: "Tree") -> None:
    from heed.durable import write_file
    from heed.parsing.svg import svg

    write_file(_drawing(Path(path), number), svg(tree).encode())
