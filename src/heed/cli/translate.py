"""`heed translate`: translate a stream, one line in, one line out."""

import argparse
import json
import os
import queue
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.bar import counting
from heed.box import DEFAULT
from heed.cli.search import (
    add_engine,
    add_model,
    add_sampling,
    add_search,
    add_sentences,
    check_options,
    load_translator,
    search_options,
)
from heed.errors import DataError
from heed.wording import counted

if TYPE_CHECKING:
    from heed.cli.output import Output
    from heed.translation import Translation

HELP = "translate lines from standard input to standard output"

ABSTAINED = "<unsure>"  # instead of a translation below --min-confidence

_LINES_PER_CHUNK = 1000  # a chunk is sorted by length into batches, and written before the next one is read
_BLOCK_BYTES = 1 << 20
_MOST_TIMES = 3  # how many times as many pieces as its source a translation with forced text has without a note


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate text, one line in, one line out, in the same order; blank lines stay\n"
        "blank. Lines longer than the model's limit are translated in parts, with a note\n"
        "on standard error. Beam, length penalty and --sentences default to the run's:\n"
        "beam 4, alpha 0.6, no, unless set at training; the model in the box has\n"
        "beam 4, alpha 1.0, yes."
    )
    parser.epilog = (
        "examples:\n"
        "  echo 'The cat chased its tail.' | heed translate\n"
        "  heed translate --model runs/x < in.txt > out.txt\n"
        "  heed translate --model runs/x --input in.txt.gz --output out.txt.gz\n"
        "  echo 'A man is riding a bike.' | heed translate --model runs/x --n-best 3\n"
        "  heed translate --model runs/x --sample --top-k 10 --seed 7 < in.txt\n"
        "  heed translate --model runs/x --model runs/y --beam 8 --json < in.txt\n"
        "  heed translate --model runs/x --glossary terms.tsv < in.txt\n"
        "  heed translate --model runs/x --confidence --min-confidence 0.5 < in.txt"
    )
    group = parser.add_argument_group("model, input and output")
    add_model(group, required=False)
    group.add_argument("--input", default="-", metavar="FILE", help="read this file (default: standard input)")
    group.add_argument(
        "--output",
        metavar="FILE",
        help="write this file, as FILE.part until it is complete (default: standard output)",
    )

    group = parser.add_argument_group("search")
    add_search(group)
    group.add_argument("--greedy", action="store_true", help="the same as --beam 1")
    add_sentences(group)
    group.add_argument("--prefixes", metavar="FILE", help="line n of FILE begins the translation of line n")

    group = parser.add_argument_group("what a translation must contain")
    group.add_argument(
        "--glossary", metavar="FILE", help="terms, one per line: source term, tab, target term; # comments"
    )
    group.add_argument(
        "--no-copy",
        action="store_true",
        help="do not force URLs, addresses, placeholders, tags, product names, emoji and numbers that it would lose",
    )

    group = parser.add_argument_group("output format")
    group.add_argument(
        "--n-best",
        type=int,
        default=1,
        metavar="N",
        help="N translations per line: number, tab, score, tab, text",
    )
    group.add_argument("--scores", action="store_true", help="write score, tab, text")
    group.add_argument("--json", action="store_true", help="write one JSON object per line, with scores and pieces")

    group = parser.add_argument_group("confidence (the model must be calibrated: heed confidence)")
    group.add_argument(
        "--confidence",
        action="store_true",
        help="write confidence, tab, text, tab, the confidence of each word",
    )
    group.add_argument(
        "--min-confidence",
        type=float,
        metavar="P",
        help=f"write {ABSTAINED} instead of a translation whose confidence is below P, from 0 to 1",
    )

    group = parser.add_argument_group("engine")
    add_engine(group)

    group = parser.add_argument_group("sampling")
    add_sampling(group)


def _check_glossary(args: argparse.Namespace) -> None:
    """Refuse options that do not go with --glossary.

    Raises:
        ConfigError: the message names the options.
    """
    from heed.errors import ConfigError

    if args.sample and args.glossary is not None:
        raise ConfigError("--sample draws at random and cannot force the terms of --glossary; drop one of the two")
    if args.glossary == "-":
        raise ConfigError("--glossary cannot be standard input; name a file")
    if args.prefixes is not None and args.glossary is not None:
        raise ConfigError("--prefixes cannot be combined with --glossary; drop one of the two")


def _check_confidence(args: argparse.Namespace) -> None:
    """Refuse options that do not go with --min-confidence.

    Raises:
        ConfigError: the message names the options.
    """
    from heed.errors import ConfigError

    if args.min_confidence is None:
        return
    if not 0 <= args.min_confidence <= 1:
        raise ConfigError(f"--min-confidence must be from 0 to 1, not {args.min_confidence}")
    if args.n_best > 1:
        raise ConfigError("--min-confidence keeps or drops one translation per line; drop it, or --n-best")


def run(args: argparse.Namespace) -> int:
    from heed.cli.output import Output
    from heed.text.glossary import Glossary
    from heed.text.lines import read_lines

    check_options(args)
    _check_glossary(args)
    _check_confidence(args)
    out = Output(args.output)
    for written in (args.output, out.part):
        refuse_overwriting(written, args.input, args.prefixes, args.glossary)
    glossary = None if args.glossary is None else Glossary.read(args.glossary)
    if glossary is not None and not glossary:
        print(f"{args.glossary}: has no entries, so no term is forced; write one per line", file=sys.stderr)
    is_default = not args.model
    translator = load_translator(args)
    if is_default and sys.stderr.isatty():
        print(f"using {DEFAULT}, the model in the box; --model names another", file=sys.stderr)
    options = replace(search_options(args, translator), glossary=glossary)
    if options.confidence and not args.json:
        print(translator.calibration.meaning, file=sys.stderr)
    prefixes = None if args.prefixes is None else read_lines(args.prefixes)
    if args.input == "-" and sys.stdin.isatty():
        print("type a sentence per line; Ctrl-D ends", file=sys.stderr)
    texts = read_lines(args.input)
    total, number, n_abstained = count_input(args.input), 0, 0
    with (
        out,
        counting(total, "translating") if total and not out.is_terminal else nullcontext(lambda done: None) as progress,
    ):
        try:
            for lines in chunks_of(texts):
                forced = None if prefixes is None else list(islice(prefixes, len(lines)))
                if forced is not None and len(forced) < len(lines):
                    raise DataError(
                        f"{args.prefixes}: has {counted(number + len(forced), 'line')}, but the input has more; "
                        "--prefixes needs one line for each line of the input"
                    )
                found = translator.run(lines, replace(options, prefixes=forced, first_number=number))
                for line, translation in zip(lines, found, strict=True):
                    n_abstained += _is_abstained(args, translation)
                    for text in _shown(args, number + 1, line, translation):
                        out.write(text)
                    number += 1
                    _warn(number, translation)
                out.flush()
                progress(number)
            if prefixes is not None and (left := sum(1 for _ in prefixes)):
                raise DataError(
                    f"{args.prefixes}: has {counted(number + left, 'line')}, but the input has only {number:,}; "
                    "--prefixes needs one line for each line of the input"
                )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_far(number, total, out)) from None
        except Exception:
            if out.has_begun and out.part is not None:
                print(f"{counted(number, 'line')} translated before the error are in {out.part}", file=sys.stderr)
            raise
    if args.min_confidence is not None:
        share = f" ({100 * n_abstained / number:.1f} %)" if number else ""
        print(
            f"{n_abstained:,} of {counted(number, 'line')}{share} below confidence {args.min_confidence:g}, "
            f"written as {ABSTAINED}",
            file=sys.stderr,
        )
    return 0


# --- input and output -------------------------------------------------------------------------------------


def refuse_overwriting(output: str | Path | None, *inputs: str | None) -> None:
    """Refuse to write over a file that is being read; `-` is standard input."""
    from heed.errors import ConfigError

    if not output or not Path(output).is_file():
        return
    written = os.stat(output)
    for path in filter(None, inputs):
        try:
            read = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
        except OSError:  # missing: reported when it is read
            continue
        if os.path.samestat(read, written):
            raise ConfigError(f"{output} would overwrite an input file; name another file")


def count_input(path: str) -> int | None:
    """Count the lines of an input; return None if it can be read only once, or not at all."""
    from heed.text.lines import GZIP, count_lines, reading

    try:
        if path == "-":
            standard = sys.stdin.fileno()
            if not stat.S_ISREG(os.fstat(standard).st_mode):
                return None
            begin = os.lseek(standard, 0, os.SEEK_CUR)
            if os.pread(standard, len(GZIP), begin) == GZIP:
                return None
            ends = range(begin, os.fstat(standard).st_size, _BLOCK_BYTES)
            return count_lines(os.pread(standard, _BLOCK_BYTES, at) for at in ends)
        if not Path(path).is_file():
            return None
        with reading(path) as stream:
            return count_lines(iter(lambda: stream.read(_BLOCK_BYTES), b""))
    except (DataError, OSError):  # reported later, after the lines before the error are translated
        return None


def _how_far(number: int, total: int | None, out: "Output") -> str:
    """Return after how many lines a translation was stopped, and the file that holds them."""
    place = f", saved in {out.part}" if out.has_begun and out.part is not None else ""
    return (
        f"after {number:,} of {counted(total, 'line')}{place}" if total else f"after {counted(number, 'line')}{place}"
    )


def _is_abstained(args: argparse.Namespace, translation: "Translation") -> bool:
    if args.min_confidence is None or translation.confidence is None:
        return False
    return bool(translation.confidence < args.min_confidence)


def _shown(args: argparse.Namespace, number: int, line: str, translation: "Translation") -> Iterator[str]:
    several = translation.alternatives or (translation,)
    is_abstained = _is_abstained(args, translation)
    if args.json:
        abstained = {"abstained": is_abstained} if args.min_confidence is not None else {}
        plain = _plain(args, translation, several) | ({"text": ABSTAINED} if is_abstained else {})
        yield json.dumps({"line": number, "source": line, **plain, **abstained}, ensure_ascii=False)
        return
    for one in several:
        columns = [str(number)] if args.n_best > 1 else []
        columns += [f"{one.score:.4f}"] if args.n_best > 1 or args.scores else []
        columns += [f"{one.confidence:.2f}"] if args.confidence else []
        columns += [ABSTAINED if is_abstained else one.text]
        columns += [" ".join(f"{word.confidence:.2f}" for word in one.words)] if args.confidence else []
        yield "\t".join(columns)


def _plain(args: argparse.Namespace, translation: "Translation", several: "Sequence[Translation]") -> dict[str, Any]:
    def one(it: "Translation") -> dict[str, Any]:
        confidence = {"confidence": it.confidence, "words": [asdict(word) for word in it.words]}
        return {
            "text": it.text,
            "score": it.score,
            "log_probability": it.log_probability,
            **(confidence if args.confidence or args.min_confidence is not None else {}),
            "pieces": it.pieces,
        }

    more = {"alternatives": [one(it) for it in several[1:]]} if len(several) > 1 else {}
    return {
        **one(translation),
        "source_pieces": translation.source_pieces,
        "finished": translation.finished,
        "cuts": translation.cuts,
        "terms": [{"source": entry.source, "target": entry.target} for entry in translation.terms],
        "forced": translation.forced,
        "missing": translation.missing,
        **more,
    }


def _warn(number: int, translation: "Translation") -> None:
    from heed.translation import SENTENCE

    if cuts := [cut for cut in translation.cuts if cut != SENTENCE]:
        where = ", ".join(sorted(set(cuts)))
        print(
            f"line {number}: longer than the model's limit, translated in {len(translation.cuts) + 1} parts "
            f"(cut at: {where})",
            file=sys.stderr,
        )
    if translation.missing:
        print(f"line {number}: the translation lacks {', '.join(translation.missing)}", file=sys.stderr)
    free = len(translation.pieces) - sum(map(len, translation.forced))  # at most a piece per character is forced
    if translation.forced and free > _MOST_TIMES * len(translation.source_pieces):
        print(
            f"line {number}: with {', '.join(translation.forced)} forced, the translation is more than {_MOST_TIMES} "
            "times as long as its source, and may repeat itself; change the glossary, or use --no-copy for copied text",
            file=sys.stderr,
        )
    if not translation.finished:
        print(f"line {number}: the translation stopped at its length limit, unfinished", file=sys.stderr)


def chunks_of(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the lines that have arrived so far as a chunk, so that a slow writer gets each translation at once."""
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=4 * _LINES_PER_CHUNK)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # raised again in the thread that takes the lines
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    chunk: list[str] = []
    while True:
        item = arrived.get()
        while isinstance(item, str):
            chunk.append(item)
            if len(chunk) == _LINES_PER_CHUNK or arrived.empty():
                yield chunk
                chunk = []
            item = arrived.get()
        if chunk:
            yield chunk
        if item is not None:
            raise item
        return
