"""`heed translate`: one line in, one line out, while reading."""

import argparse
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.cli.startup import import_torch

if TYPE_CHECKING:
    from heed.decode.draft import Draft
    from heed.export.engine import Engine
    from heed.translation import Translation
    from heed.translator import Translator

HELP = "translate lines from standard input to standard output"

_AT_ONCE = 1000  # lines sorted by length together; the first come out before the last are read


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Translate text, one line in, one line out: order kept, blank lines blank. Lines longer than the\n"
        "model's limit are translated in parts, with a word about it on standard error."
    )
    parser.epilog = (
        "examples:\n"
        "  heed translate --model runs/x < in.txt > out.txt\n"
        "  echo 'A man is riding a bike.' | heed translate --model runs/x --n-best 3\n"
        "  heed translate --model runs/x --int8 --greedy < in.txt > out.txt\n"
        "  heed translate --model runs/x --model runs/y --beam 8 --json < in.txt"
    )
    configure_model(parser)
    parser.add_argument("--input", default="-", metavar="FILE", help="read this instead of standard input")
    parser.add_argument("--output", metavar="FILE", help="write this instead of standard output")
    parser.add_argument("--greedy", action="store_true", help="the same as --beam 1")
    parser.add_argument("--sample", action="store_true", help="draw at random instead of searching")
    parser.add_argument("--temperature", type=float, default=1.0, metavar="X", help="with --sample; below 1 is sharper")
    parser.add_argument("--top-k", type=int, default=0, metavar="K", help="with --sample: the k most probable only")
    parser.add_argument("--top-p", type=float, default=1.0, metavar="P", help="with --sample: the likeliest share only")
    parser.add_argument("--seed", type=int, default=1, help="with --sample: of the random numbers")
    parser.add_argument(
        "--n-best",
        type=int,
        default=1,
        metavar="N",
        help="N lines for each line: its number, score, text, tab-separated",
    )
    parser.add_argument("--scores", action="store_true", help="write each line as score, tab, text")
    parser.add_argument(
        "--phrases",
        metavar="FILE",
        help="text in the target language to guess ahead from; the same output in fewer passes, for lone lines",
    )
    parser.add_argument(
        "--draft",
        metavar="FOLDER",
        help="a smaller run of the same vocabulary to guess ahead; likewise the same output",
    )
    parser.add_argument("--prefixes", metavar="FILE", help="line n is what the translation of line n must begin with")
    parser.add_argument("--json", action="store_true", help="write each line as a JSON object")


def configure_model(parser: argparse.ArgumentParser) -> None:
    """The arguments `heed translate` and `heed evaluate` share."""
    parser.add_argument(
        "--model", action="append", required=True, metavar="FOLDER", help="a run folder; several make an ensemble"
    )
    parser.add_argument("--checkpoint", default="best", help="best (default), last, or a name such as step-00000500")
    parser.add_argument("--beam", type=int, metavar="N", help="hypotheses kept; 1 is greedy (default: the run's, 4)")
    parser.add_argument("--alpha", type=float, metavar="X", help="length penalty (default: the run's, 0.6)")
    parser.add_argument(
        "--engine",
        choices=["auto", "ctranslate2", "torch"],
        default="auto",
        help="who computes; auto (default) is ctranslate2 where it is installed and can do what is asked, else torch; "
        "heed translate takes torch for much text, too",
    )
    parser.add_argument("--int8", action="store_true", help="weights of 8 bits: quicker, a little less exact")
    parser.add_argument(
        "--shortlist",
        action="store_true",
        help="score plausible symbols only (heed shortlist says which): quicker, a little less exact",
    )


def run(args: argparse.Namespace) -> int:
    from heed.errors import ConfigError, DataError
    from heed.text.lines import read_lines

    if args.greedy and args.beam not in (None, 1):
        raise ConfigError(f"--greedy and --beam {args.beam} contradict each other; give one of them")
    refuse_overwriting(args.output, args.input, args.prefixes)
    translate = _translator(args)
    prefixes = None if args.prefixes is None else read_lines(args.prefixes)
    texts = read_lines(args.input)
    number = 0
    with open(args.output, "w", encoding="utf-8", newline="\n") if args.output else _Standard() as out:
        for lines in _chunks(texts):
            forced = None if prefixes is None else list(islice(prefixes, len(lines)))
            if forced is not None and len(forced) < len(lines):
                raise DataError(f"{args.prefixes}: has {number + len(forced):,} lines, the input has more")
            for line, translation in zip(lines, translate(lines, forced, number), strict=True):
                number += 1
                for text in _shown(args, number, line, translation):
                    out.write(text + "\n")
                _warn(number, translation)
            out.flush()
    if prefixes is not None and (left := sum(1 for _ in prefixes)):
        raise DataError(f"{args.prefixes}: has {number + left:,} lines, the input has only {number:,}")
    return 0


def _translator(args: argparse.Namespace) -> "Callable[[list[str], list[str] | None, int], Sequence[Translation]]":
    """Whoever translates, as a function of lines, their prefixes and the first one's number."""
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
        return lambda lines, prefixes, number: engine.translate(lines, **options)

    import_torch()
    from heed.decode.sampling import Sampling
    from heed.errors import ConfigError

    try:
        drawing = Sampling(args.temperature, args.top_k, args.top_p, args.seed) if args.sample else None
    except ValueError as error:
        raise ConfigError(f"--sample: {error}") from None
    translator = torch_translator(args, engine)
    draft = _draft(args, translator)
    return lambda lines, prefixes, number: translator.translate(
        lines, sampling=drawing, prefixes=prefixes, draft=draft, first_number=number, **options
    )


def _draft(args: argparse.Namespace, translator: "Translator") -> "Draft | None":
    """Who guesses ahead, if anybody."""
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
    """What is being read must not be written over."""
    from heed.errors import ConfigError

    for path in inputs:
        if output and path and Path(output).exists() and Path(path).exists() and Path(output).samefile(path):
            raise ConfigError(f"--output {output} is a file that is being read; give it another name")


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


class _Standard:
    """Standard output as UTF-8 with plain line ends, whatever the terminal's locale; left open."""

    def __enter__(self) -> "_Standard":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, text: str) -> None:
        sys.stdout.buffer.write(text.encode("utf-8"))

    def flush(self) -> None:
        sys.stdout.buffer.flush()
