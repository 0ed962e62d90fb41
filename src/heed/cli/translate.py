"""`heed translate`: one line in, one line out, while reading."""

import argparse
import json
import os
import queue
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.bar import counting
from heed.cli.startup import import_torch
from heed.errors import DataError
from heed.wording import counted

if TYPE_CHECKING:
    from heed.cli.output import Output
    from heed.config import DecodeConfig
    from heed.decode.draft import Draft
    from heed.decode.sampling import Sampling
    from heed.export.engine import Engine
    from heed.translation import Translation
    from heed.translator import Translator

HELP = "translate lines from standard input to standard output"

_AT_ONCE = 1000  # lines sorted by length together; the first come out before the last are read
_BLOCK_BYTES = 1 << 20
_SAMPLING = ("temperature", "top_k", "top_p", "seed")  # the options of --sample


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate text, one line in, one line out: order kept, blank lines blank. Lines\n"
        "longer than the model's limit are translated in parts; standard error says so."
    )
    parser.epilog = (
        "examples:\n"
        "  heed translate --model runs/x < in.txt > out.txt\n"
        "  heed translate --model runs/x --input in.txt.gz --output out.txt.gz\n"
        "  echo 'A man is riding a bike.' | heed translate --model runs/x --n-best 3\n"
        "  heed translate --model runs/x --sample --top-k 10 --seed 7 < in.txt\n"
        "  heed translate --model runs/x --model runs/y --beam 8 --json < in.txt"
    )
    group = parser.add_argument_group("model, input and output")
    _add_model(group)
    group.add_argument("--input", default="-", metavar="FILE", help="read this file (default: standard input)")
    group.add_argument(
        "--output",
        metavar="FILE",
        help="write this file, FILE.part until it is whole (default: standard output)",
    )

    group = parser.add_argument_group("search")
    _add_search(group)
    group.add_argument("--greedy", action="store_true", help="the same as --beam 1")
    group.add_argument("--prefixes", metavar="FILE", help="line n is what the translation of line n must begin with")

    group = parser.add_argument_group("sampling")
    group.add_argument("--sample", action="store_true", help="draw at random instead of searching")
    group.add_argument(
        "--temperature", type=float, metavar="X", help="below 1 is sharper, above 1 flatter (default: 1)"
    )
    group.add_argument("--top-k", type=int, metavar="K", help="draw from the K most probable pieces only")
    group.add_argument("--top-p", type=float, metavar="P", help="draw from the most probable share P only (0.9: 90 %%)")
    group.add_argument("--seed", type=int, metavar="N", help="of the random numbers (default: 1)")

    group = parser.add_argument_group("output format")
    group.add_argument(
        "--n-best",
        type=int,
        default=1,
        metavar="N",
        help="N lines for each line: number, score, text, with tabs between",
    )
    group.add_argument("--scores", action="store_true", help="each line is score, tab, text")
    group.add_argument("--json", action="store_true", help="each line is a JSON object, with scores and pieces")

    group = parser.add_argument_group("engine")
    _add_engine(group)

    group = parser.add_argument_group("expert")
    group.add_argument(
        "--phrases",
        metavar="FILE",
        help="text in the target language to guess ahead from; same output, fewer passes for lone lines",
    )
    group.add_argument(
        "--draft", metavar="FOLDER", help="a smaller run of the same vocabulary to guess ahead; same output"
    )


def configure_model(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `heed translate` and `heed evaluate` share."""
    _add_model(parser)
    _add_search(parser)
    _add_engine(parser)


def _add_model(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--model", action="append", required=True, metavar="FOLDER", help="a run folder; several make an ensemble"
    )
    group.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )


def _add_search(group: argparse._ActionsContainer) -> None:
    group.add_argument("--beam", type=int, metavar="N", help="hypotheses kept; 1 is greedy (default: the run's, 4)")
    group.add_argument("--alpha", type=float, metavar="X", help="length penalty (default: the run's, 0.6)")


def _add_engine(group: argparse._ActionsContainer) -> None:
    group.add_argument("--int8", action="store_true", help="weights of 8 bits: quicker, a little less exact")
    group.add_argument(
        "--shortlist",
        action="store_true",
        help="score plausible symbols only (heed shortlist says which): quicker, a little less exact",
    )
    group.add_argument(
        "--engine",
        choices=["auto", "ctranslate2", "torch"],
        default="auto",
        help="what translates; auto (default) is ctranslate2 where it is installed and can do what is asked, else "
        "torch; heed translate takes torch for large files, too",
    )


def run(args: argparse.Namespace) -> int:
    from heed.cli.output import Output
    from heed.text.lines import read_lines

    _check_options(args)
    out = Output(args.output)
    refuse_overwriting(args.output, args.input, args.prefixes, args.phrases)
    refuse_overwriting(out.part, args.input, args.prefixes, args.phrases)
    translate = _translator(args)
    prefixes = None if args.prefixes is None else read_lines(args.prefixes)
    if args.input == "-" and sys.stdin.isatty():
        print("type a sentence; Ctrl-D ends", file=sys.stderr)
    texts = read_lines(args.input)
    total, number = _count_lines(args.input), 0
    with (
        out,
        counting(total, "translating") if total and not out.is_terminal else nullcontext(lambda done: None) as tell,
    ):
        try:
            for lines in _chunks(texts):
                forced = None if prefixes is None else list(islice(prefixes, len(lines)))
                if forced is not None and len(forced) < len(lines):
                    raise DataError(f"{args.prefixes}: has {number + len(forced):,} lines, the input has more")
                for line, translation in zip(lines, translate(lines, forced, number), strict=True):
                    for text in _shown(args, number + 1, line, translation):
                        out.write(text)
                    number += 1
                    _warn(number, translation)
                out.flush()
                tell(number)
            if prefixes is not None and (left := sum(1 for _ in prefixes)):
                raise DataError(f"{args.prefixes}: has {number + left:,} lines, the input has only {number:,}")
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_far(number, total, out)) from None
        except Exception:
            if out.has_begun and out.part is not None:
                print(f"{counted(number, 'line')} translated before the error: {out.part}", file=sys.stderr)
            raise
    return 0


def _check_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other, or have no effect.

    Raises:
        ConfigError: there are such.
    """
    from heed.errors import ConfigError

    if args.greedy and args.beam not in (None, 1):
        raise ConfigError(f"--greedy and --beam {args.beam} contradict each other; give one of them")
    if args.sample and (args.greedy or args.beam is not None):
        option = "--greedy" if args.greedy else f"--beam {args.beam}"
        raise ConfigError(f"--sample draws at random, {option} searches; give one of them")
    for name in _SAMPLING:
        if not args.sample and getattr(args, name) is not None:
            raise ConfigError(f"--{name.replace('_', '-')} goes with --sample; give both, or neither")


def _translator(args: argparse.Namespace) -> "Callable[[list[str], list[str] | None, int], Sequence[Translation]]":
    """Return what translates, as a function of lines, their prefixes and the number of lines before."""
    options = {"beam": 1 if args.greedy else args.beam, "alpha": args.alpha, "n_best": args.n_best}
    engine = chosen_engine(
        args,
        {
            "--sample would draw other samples": args.sample,
            "--prefixes are not forced piece by piece": args.prefixes is not None,
            "it cannot guess ahead from --phrases": args.phrases is not None,
            "it cannot guess ahead by --draft": args.draft is not None,
            "torch will be done first": args.engine == "auto" and _is_much(args),
        },
    )
    if not isinstance(engine, TorchInstead):
        search_settings(engine.decode, **options)
        return lambda lines, prefixes, number: engine.translate(lines, **options)

    import_torch()
    drawing = _sampling(args) if args.sample else None
    translator = torch_translator(args, engine)
    search_settings(translator.decode, **options, drawing=args.sample)
    draft = _draft(args, translator)
    return lambda lines, prefixes, number: translator.translate(
        lines, sampling=drawing, prefixes=prefixes, draft=draft, first_number=number, **options
    )


def search_settings(
    decode: "DecodeConfig", beam: int | None, alpha: float | None, n_best: int = 1, drawing: bool = False
) -> tuple[int, float]:
    """Return the beam and alpha of options, or those of the run where an option is not given.

    Raises:
        ConfigError: a value out of range, or two that contradict each other.
    """
    from heed.errors import ConfigError, DecodeError
    from heed.translation import beam_and_alpha

    try:
        return beam_and_alpha(decode, beam, alpha, n_best, drawing)
    except DecodeError as error:
        raise ConfigError(_by_option(error)) from None


def _sampling(args: argparse.Namespace) -> "Sampling":
    from heed.decode.sampling import Sampling
    from heed.errors import ConfigError

    given = {name: getattr(args, name) for name in _SAMPLING if getattr(args, name) is not None}
    try:
        return Sampling(**given)
    except ValueError as error:
        raise ConfigError(_by_option(error)) from None


def _by_option(error: Exception) -> str:
    """Write a complaint that begins with a parameter's name, such as top_k, as one about the option."""
    name, rest = str(error).split(maxsplit=1)
    return f"--{name.replace('_', '-')} {rest}"


def _draft(args: argparse.Namespace, translator: "Translator") -> "Draft | None":
    """Return what guesses ahead, if anything does."""
    from heed.decode.draft import PhraseMemory
    from heed.errors import ConfigError
    from heed.text.lines import read_lines
    from heed.translator import load

    given = [name for name in ("phrases", "draft") if getattr(args, name) is not None]
    if len(given) > 1:
        raise ConfigError("--phrases and --draft both guess ahead; give one of them")
    if given and args.sample:
        raise ConfigError(f"--{given[0]} does not go with --sample: what is drawn at random is not guessed")
    if given and args.shortlist:
        raise ConfigError(f"--{given[0]} does not go with --shortlist: it guesses among all symbols; give one of them")
    if args.draft is not None:
        return load(args.draft).as_draft_of(translator)
    if args.phrases is not None:
        return PhraseMemory(translator.tokenizer.encode_ids(list(read_lines(args.phrases))))
    return None


# --- who computes -----------------------------------------------------------------------------------------


# Bytes to translate times weights: from here on torch has made up for its later start, by about a second. Measured at
# `tiny`, and reckoned for `base` from its speeds (docs/export.md).
_MUCH = 3e11


def _is_much(args: argparse.Namespace) -> bool:
    """Whether torch, which starts later than CTranslate2 but with its kernels is quicker, will be done first."""
    from heed.errors import CheckpointError
    from heed.export.kept import checkpoint_path
    from heed.kernels.library import library

    try:
        size = os.stat(sys.stdin.fileno() if args.input == "-" else args.input).st_size  # 0 of what has no end yet
        weights = (checkpoint_path(Path(args.model[0]), args.checkpoint) / "model.safetensors").stat().st_size / 4
    except (OSError, CheckpointError):  # said by whoever needs it
        return False
    return size * weights > _MUCH and library() is not None


@dataclass(frozen=True)
class TorchInstead:
    """Why CTranslate2 does not translate."""

    reason: str
    is_news: bool = False  # something went wrong that the user does not know of


def chosen_engine(args: argparse.Namespace, unable: dict[str, bool]) -> "Engine | TorchInstead":
    """CTranslate2, if `--engine` says so or nothing speaks against it. `unable`: reasons, and whether they hold.

    Raises:
        ConfigError: CTranslate2 is asked for but cannot do the rest of what is asked.
        CheckpointError, OSError: CTranslate2 is asked for, but the model cannot be exported.
    """
    from heed.errors import CheckpointError, ConfigError

    if args.engine == "torch":
        return TorchInstead("--engine torch was given")
    reasons = {
        "it is not installed (pip install 'heed[ctranslate2]')": find_spec("ctranslate2") is None,
        "several models make no ensemble": len(args.model) > 1,
        "it has no --shortlist": args.shortlist,
        **unable,
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), None):
        if args.engine == "auto":
            return TorchInstead(reason)
        raise ConfigError(f"--engine ctranslate2: {reason}; leave out --engine, or that")
    try:
        from heed.export.kept import open_engine

        return open_engine(Path(args.model[0]), args.checkpoint, args.int8)
    except (CheckpointError, OSError, ImportError, RuntimeError) as error:  # a read-only folder, a broken library
        if args.engine != "auto":
            raise
        return TorchInstead(str(error), is_news=True)


def torch_translator(args: argparse.Namespace, instead: TorchInstead) -> "Translator":
    """The reference. What is wrong with the run folder, it says itself."""
    from heed.allocator import keep_freed_memory
    from heed.translator import load

    keep_freed_memory()
    translator = load(*args.model, checkpoint=args.checkpoint, int8=args.int8, shortlist=args.shortlist)
    if instead.is_news:
        print(f"CTranslate2 cannot be used ({instead.reason}); translating with torch", file=sys.stderr)
    return translator


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
        except OSError:  # there is none
            continue
        if os.path.samestat(read, written):
            raise ConfigError(f"--output {output} is a file that is being read; give it another name")


def _count_lines(path: str) -> int | None:
    """Count the lines of an input; None if they can be read only once, or not at all."""
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
    except (DataError, OSError):  # reported once the lines before are translated
        return None


def _how_far(number: int, total: int | None, out: "Output") -> str:
    """Say after how many lines a translation was stopped, and where they are."""
    place = f", which are in {out.part}" if out.has_begun and out.part is not None else ""
    return (
        f"after {number:,} of {counted(total, 'line')}{place}" if total else f"after {counted(number, 'line')}{place}"
    )


def _shown(args: argparse.Namespace, number: int, line: str, translation: "Translation") -> Iterator[str]:
    several = translation.alternatives or (translation,)
    if args.json:
        yield json.dumps({"line": number, "source": line, **_plain(translation, several)}, ensure_ascii=False)
    elif args.n_best > 1:
        for one in several:
            yield f"{number}\t{one.score:.4f}\t{one.text}"
    else:
        yield f"{translation.score:.4f}\t{translation.text}" if args.scores else translation.text


def _plain(translation: "Translation", several: "Sequence[Translation]") -> dict[str, Any]:
    def one(it: "Translation") -> dict[str, Any]:
        return {"text": it.text, "score": it.score, "log_probability": it.log_probability, "pieces": it.pieces}

    more = {"alternatives": [one(it) for it in several[1:]]} if len(several) > 1 else {}
    return {
        **one(translation),
        "source_pieces": translation.source_pieces,
        "finished": translation.finished,
        "cuts": translation.cuts,
        **more,
    }


def _warn(number: int, translation: "Translation") -> None:
    if translation.cuts:
        where = ", ".join(sorted(set(translation.cuts)))
        print(
            f"line {number}: longer than the model's limit, translated in {len(translation.cuts) + 1} parts "
            f"(cut at: {where})",
            file=sys.stderr,
        )
    if not translation.finished:
        print(f"line {number}: the translation reached its length limit without an end", file=sys.stderr)


def _chunks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Whatever has arrived, up to a number of lines: a slow writer gets each line's translation at once."""
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=4 * _AT_ONCE)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # handed to whoever waits for lines
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    chunk: list[str] = []
    while True:
        item = arrived.get()
        while isinstance(item, str):
            chunk.append(item)
            if len(chunk) == _AT_ONCE or arrived.empty():
                yield chunk
                chunk = []
            item = arrived.get()
        if chunk:
            yield chunk
        if item is not None:
            raise item
        return
