"""`heed prepare`: encode a corpus of any size once, for all trainings."""

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
        "Learn a vocabulary from two line-aligned text files and encode the files on all\n"
        "cores. `heed train --data` maps the resulting folder into memory, so training\n"
        "starts at once, however large the text is. The folder appears only when it is\n"
        "complete, and every block in it has a checksum."
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
    text.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="a new folder for the result")
    text.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    vocabulary = parser.add_argument_group("vocabulary")
    size = vocabulary.add_mutually_exclusive_group()
    size.add_argument("--preset", help="use the vocabulary size of this preset (default: base)")
    size.add_argument("--vocab-size", type=int, metavar="N", help="pieces to learn, at most")
    size.add_argument("--tokenizer", metavar="FILE", help="use this sentencepiece model instead of learning one")
    vocabulary.add_argument(
        "--learn-lines", type=int, metavar="N", help="lines of each file to learn the vocabulary from, at most"
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
        raise ConfigError("--learn-lines has no effect with --tokenizer, which replaces learning; drop one of the two")
    text = ParallelText(args.source, args.target)
    if args.out.exists():
        store = _open_same(args, text)
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
    """Return the settings to learn a vocabulary with; empty with --tokenizer."""
    from heed.presets import preset
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
    duration = " (this takes minutes)" if n_learnt > 500_000 else ""
    share = f"{n_learnt:,} of " if n_learnt < n_lines else ""
    print(
        f"learning a vocabulary of {learnt['vocab_size']:,} from {share}{counted(n_lines, 'pair')}{duration} ...",
        file=sys.stderr,
    )
    lines = evenly_spaced_lines(text, n_lines, learnt["learn_lines"])
    tokenizer = Tokenizer.learn(lines, learnt["vocab_size"], learnt["character_coverage"])
    if len(tokenizer) < learnt["vocab_size"]:
        print(
            f"the text yields only {len(tokenizer):,} pieces, so the vocabulary is smaller than asked for",
            file=sys.stderr,
        )
    return tokenizer, learnt


def _open_same(args: argparse.Namespace, text: "ParallelText") -> "PairStore":
    """Open the prepared corpus that exists already, and verify it.

    Raises:
        DataError: it was made from another text or with another vocabulary, or it is damaged.
    """
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
        differences.append("from another text")
    if args.tokenizer:
        if checksum(Tokenizer.load(args.tokenizer).model) != store.tokenizer_checksum:
            differences.append("with another vocabulary")
    elif store.learnt != _learning(args):
        differences.append("with other vocabulary settings")
    if differences:
        raise DataError(
            f"{args.out}: exists already, made {' and '.join(differences)}; name another folder, or delete this one"
        )
    store.verify()
    return store


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _report(args: argparse.Namespace, store: "PairStore", made: dict[str, Any] | None) -> None:
    """Print the size of the corpus; `made` holds the time it took, or None if the corpus existed already."""
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
        print(f"nothing to do: {args.out} holds this corpus already, undamaged")
    print(
        f"{counted(facts['pairs'], 'pair')}, {facts['source_pieces']:,} + {facts['target_pieces']:,} tokens, "
        f"vocabulary {facts['vocabulary']:,}"
    )
    if len(store.blank_lines):
        shown = ", ".join(map(str, store.blank_lines[:3])) + (", ..." if len(store.blank_lines) > 3 else "")
        lines = "line" if len(store.blank_lines) == 1 else "lines"
        print(f"left out: {counted(len(store.blank_lines), 'pair')} with a blank side ({lines} {shown})")
    speed = f", {facts['pairs_per_second']:,} pairs/s" if made else ""
    print(f"{facts['bytes'] / 1e6:,.1f} MB in {args.out}{speed}")
    preset = f" --preset {args.preset}" if args.preset else ""
    print(f"next: heed train --data {args.out}{preset} --out runs/{args.out.name}")
