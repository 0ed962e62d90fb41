"""`heed prepare`: a corpus of any size, encoded once and for all."""

import argparse
import json
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.wording import counted

if TYPE_CHECKING:
    from heed.data.corpus import ParallelText
    from heed.data.store import PairStore
    from heed.text.tokenizer import Tokenizer

HELP = "encode a large corpus once, for many trainings"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Learn a vocabulary from two line-aligned text files and encode them, on all\n"
        "cores, into a folder that `heed train --data` maps into memory: training starts\n"
        "at once, however large the text is. The folder appears whole or not at all;\n"
        "every block of it carries a checksum."
    )
    parser.epilog = (
        "examples:\n"
        "  heed prepare --source train.en.gz --target train.de.gz --out data/wmt\n"
        "  heed prepare --source pairs.tsv --preset tiny --out data/x\n"
        "  heed prepare --source new.en --target new.de \\\n"
        "      --tokenizer data/wmt/tokenizer.model --out data/new\n"
        "  heed train --data data/wmt --out runs/wmt"
    )
    text = parser.add_argument_group("text and result")
    text.add_argument(
        "--source", required=True, metavar="FILE", help="text to translate from: plain, .gz, or .tsv with both"
    )
    text.add_argument("--target", default="", metavar="FILE", help="its translation, line by line")
    text.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="the folder to make")
    text.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    vocabulary = parser.add_argument_group("vocabulary")
    size = vocabulary.add_mutually_exclusive_group()
    size.add_argument("--preset", help="take the vocabulary size of a preset (default: base)")
    size.add_argument("--vocab-size", type=int, metavar="N", help="pieces to learn, at most")
    size.add_argument("--tokenizer", metavar="FILE", help="a sentencepiece model to use instead of learning one")
    vocabulary.add_argument(
        "--learn-lines", type=int, metavar="N", help="lines of each file to learn the vocabulary from"
    )
    speed = parser.add_argument_group("speed")
    speed.add_argument("--processes", type=int, metavar="N", help="processes to encode with (default: one per core)")


def run(args: argparse.Namespace) -> int:
    from heed.bar import counting
    from heed.data.corpus import ParallelText
    from heed.data.prepare import available_cores, prepare
    from heed.errors import ConfigError

    for option, value in (("--processes", args.processes), ("--learn-lines", args.learn_lines)):
        if value is not None and value < 1:
            raise ConfigError(f"{option} {value}: must be at least 1")
    if args.tokenizer and args.learn_lines:
        raise ConfigError("--learn-lines says how to learn a vocabulary, and --tokenizer that there is one already")
    text = ParallelText(args.source, args.target)
    if args.out.exists():
        store = _same(args, text)
        _report(args, store, None)
        return 0
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        n_lines = text.count()
        tokenizer, learnt = _vocabulary(args, text, n_lines)
        began = time.monotonic()
        with counting(n_lines, "encoding") as progress:
            store = prepare(text, tokenizer, args.out, processes=args.processes, progress=progress, learnt=learnt)
        seconds = time.monotonic() - began
    finally:
        signal.signal(signal.SIGTERM, before)
    _report(args, store, {"seconds": round(seconds, 2), "processes": args.processes or available_cores()})
    return 0


def _learning(args: argparse.Namespace) -> dict[str, Any]:
    """How a vocabulary is to be learnt; nothing if there is one."""
    from heed.config import preset
    from heed.settings import build_config

    if args.tokenizer:
        return {}
    asked = {"vocab_size": args.vocab_size, "learn_lines": args.learn_lines}
    config = build_config(
        preset(args.preset or "base"), ("command line", {"text": {key: n for key, n in asked.items() if n is not None}})
    ).text
    return {
        "vocab_size": config.vocab_size,
        "character_coverage": config.character_coverage,
        "learn_lines": config.learn_lines,
    }


def _vocabulary(args: argparse.Namespace, text: "ParallelText", n_lines: int) -> tuple["Tokenizer", dict[str, Any]]:
    from heed.data.corpus import evenly_spaced_lines
    from heed.text.tokenizer import Tokenizer

    learnt = _learning(args)
    if not learnt:
        return Tokenizer.load(args.tokenizer), {}
    n_learnt = min(n_lines, learnt["learn_lines"])
    patience = " (this takes minutes)" if n_learnt > 500_000 else ""
    share = f"{n_learnt:,} of " if n_learnt < n_lines else ""
    print(
        f"learning a vocabulary of {learnt['vocab_size']:,} from {share}{counted(n_lines, 'pair')}{patience} ...",
        file=sys.stderr,
    )
    lines = evenly_spaced_lines(text, n_lines, learnt["learn_lines"])
    tokenizer = Tokenizer.learn(lines, learnt["vocab_size"], learnt["character_coverage"])
    if len(tokenizer) < learnt["vocab_size"]:
        print(f"the text has only {len(tokenizer):,} pieces; the vocabulary has as many", file=sys.stderr)
    return tokenizer, learnt


def _same(args: argparse.Namespace, text: "ParallelText") -> "PairStore":
    """The corpus that is there already, if it is the one asked for."""
    from heed.data.store import PairStore
    from heed.durable import checksum
    from heed.errors import DataError
    from heed.text.tokenizer import Tokenizer

    store = PairStore.open(args.out)
    paths = [path for path in (text.source, text.target) if path]
    differences = []
    if len(paths) != len(store.texts) or any(
        replace(was, path=path).has_changed() or not Path(path).exists()
        for path, was in zip(paths, store.texts, strict=True)
    ):
        differences.append("of another text")
    if args.tokenizer:
        if checksum(Tokenizer.load(args.tokenizer).model) != store.tokenizer_checksum:
            differences.append("with another vocabulary")
    elif store.learnt != _learning(args):
        differences.append("with a vocabulary that was learnt otherwise")
    if differences:
        raise DataError(
            f"{args.out}: exists already, {' and '.join(differences)}; name another folder, or delete this one first"
        )
    store.verify()
    return store


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _report(args: argparse.Namespace, store: "PairStore", made: dict[str, Any] | None) -> None:
    """`made` says how long it took; nothing, if the corpus was there already."""
    facts: dict[str, Any] = {
        "folder": str(args.out),
        "pairs": len(store),
        "source_pieces": len(store.source.ids) - len(store),
        "target_pieces": len(store.target.ids) - len(store),
        "vocabulary": len(store.tokenizer),
        "blank_pairs_left_out": len(store.blank_lines),
        "bytes": sum(path.stat().st_size for path in args.out.iterdir()),
        "checksum": store.checksum,
        "made": made is not None,
        **(made or {}),
    }
    if made:
        facts["pairs_per_second"] = round((len(store) + len(store.blank_lines)) / max(made["seconds"], 0.01))
    if args.json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    if not made:
        print(f"nothing to do: {args.out} is this corpus already, and whole")
    print(
        f"{counted(facts['pairs'], 'pair')}, {facts['source_pieces']:,} + {facts['target_pieces']:,} pieces "
        f"of a vocabulary of {facts['vocabulary']:,}"
    )
    if len(store.blank_lines):
        shown = ", ".join(map(str, store.blank_lines[:3])) + (", ..." if len(store.blank_lines) > 3 else "")
        lines = "line" if len(store.blank_lines) == 1 else "lines"
        print(f"left out: {counted(len(store.blank_lines), 'pair')} with a blank side ({lines} {shown})")
    speed = f", {facts['pairs_per_second']:,} pairs/s" if made else ""
    print(f"{facts['bytes'] / 1e6:,.1f} MB in {args.out}{speed}")
    preset = f" --preset {args.preset}" if args.preset else ""
    print(f"next: heed train --data {args.out}{preset} --out runs/{args.out.name}")
