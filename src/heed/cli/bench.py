"""`heed bench`: measure heed's speed on this machine."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from heed.bar import counting
from heed.box import find_model
from heed.cli.startup import import_torch
from heed.cli.usage import Parser
from heed.wording import counted

HELP = "measure the speed of training, translating and preparing on this machine"

Result = dict[str, Any]


def configure(parser: Parser) -> None:
    parser.description = (
        "Measure heed's speed on this machine. Candidates take turns, after a warm-up\n"
        "round. The best round counts, because other load on the machine can only slow a\n"
        "round down."
    )
    parser.epilog = (
        "examples:\n"
        "  heed bench train tiny\n"
        "  heed bench train config.toml --source train.en --target train.de\n"
        "  heed bench translate --model runs/x --input test.en\n"
        "  heed bench prepare --source train.en --target train.de --json"
    )
    kinds = parser.add_subparsers(
        title="what to measure", dest="what", metavar="train|translate|prepare", required=True
    )

    train = kinds.add_parser("train", help="target tokens trained on per second")
    train.description = (
        "Train a new model for a few updates, and compare its speed with this machine's\n"
        "peak for matrix products. Nothing is saved."
    )
    train.epilog = (
        "examples:\n"
        "  heed bench train\n"
        "  heed bench train base --set train.batch_tokens=2048 --rounds 3\n"
        "  heed bench train config.toml --source train.en --target train.de --json"
    )
    train.add_argument("config", nargs="?", default="tiny", help="a preset (default: tiny) or a TOML file")
    _add_text(train, pairs=30_000)
    train.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change one setting; may be repeated"
    )
    train.add_argument("--updates", type=int, default=2, metavar="N", help="updates per round (default: %(default)s)")

    translate = kinds.add_parser("translate", help="sentences translated per second, by engine")
    translate.description = (
        "Translate with the engines torch and native, each with full and with 8-bit\n"
        "weights: all sentences in batches, then some one at a time."
    )
    translate.epilog = (
        "examples:\n"
        "  heed bench translate --model runs/x\n"
        "  heed bench translate --model runs/x --input test.en --beam 1 --json"
    )
    translate.add_argument("--model", required=True, metavar="FOLDER", help="a run folder, or a name from heed models")
    translate.add_argument(
        "--checkpoint", default="best", metavar="NAME", help="best (default), last, or a name such as step-00000500"
    )
    translate.add_argument(
        "--input",
        metavar="FILE",
        help="text to translate (default: the run's validation text, else built-in sentences)",
    )
    translate.add_argument(
        "--sentences",
        type=int,
        default=1_000,
        metavar="N",
        help="sentences to translate, at most (default: %(default)s)",
    )
    translate.add_argument("--beam", type=int, metavar="N", help="beam width (default: the run's setting)")
    translate.add_argument(
        "--single", type=int, default=50, metavar="N", help="sentences to translate one at a time (default: 50)"
    )

    prepare = kinds.add_parser("prepare", help="sentence pairs encoded per second")
    prepare.description = (
        "Prepare a corpus as `heed prepare` does, and compare with sentencepiece's own\n"
        "encoder, which reads the same files with as many threads and discards the ids."
    )
    prepare.epilog = (
        "examples:\n  heed bench prepare\n  heed bench prepare --source train.en --target train.de --pairs 1000000"
    )
    _add_text(prepare, pairs=100_000)
    prepare.add_argument(
        "--vocab-size", type=int, default=8_000, metavar="N", help="vocabulary size (default: %(default)s)"
    )
    for kind in (train, translate, prepare):
        kind.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds to measure (default: %(default)s)")
        kind.add_argument("--json", action="store_true", help="print one JSON object with unrounded numbers")
        kind.add_other_options()


def _add_text(parser: argparse.ArgumentParser, pairs: int) -> None:
    parser.add_argument("--source", metavar="FILE", help="text to measure with (default: built-in sentences)")
    parser.add_argument("--target", metavar="FILE", help="its translation, line by line")
    parser.add_argument(
        "--pairs", type=int, default=pairs, metavar="N", help="use the first N pairs (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    from heed.bench.rounds import machine
    from heed.errors import ConfigError

    minimums = {"rounds": 1, "updates": 1, "sentences": 1, "single": 1, "pairs": 1, "beam": 1, "vocab_size": 260}
    for name, minimum in minimums.items():
        value = getattr(args, name, None)
        if value is not None and value < minimum:
            raise ConfigError(f"--{name.replace('_', '-')} {value}: must be at least {minimum}")
    measure, lines = {
        "train": (_train, _train_lines),
        "translate": (_translate, _translate_lines),
        "prepare": (_prepare, _prepare_lines),
    }[args.what]
    found = {"what": args.what, **measure(args), "machine": machine()}
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    here = found["machine"]
    for line in lines(found):
        print(line)
    load = f", load {here['load']}" if "load" in here else ""
    print(f"\n{here['processor']}, {counted(here['cores'], 'core')}, Python {here['python']}{load}")
    if not here["kernels"]:
        print("no C kernels (no compiler, or HEED_KERNELS=off); see docs/performance.md")
    return 0


# --- training ---------------------------------------------------------------------------------------------


def _train(args: argparse.Namespace) -> Result:
    import_torch()
    from heed.allocator import keep_freed_memory
    from heed.bench.text import first_pairs
    from heed.bench.training import measure_training
    from heed.presets import PRESETS, preset
    from heed.settings import build_config, parse_overrides, read_config

    keep_freed_memory()  # as `heed train` does
    if args.config in PRESETS or not Path(args.config).suffix:
        base, settings = preset(args.config), {}
    else:
        settings = read_config(Path(args.config))
        base = preset(settings.get("preset", "base"))
    layers = [(args.config, {**settings, "preset": base.preset})] if settings else []
    config = build_config(base, *layers, ("--set", parse_overrides(args.set)))
    with tempfile.TemporaryDirectory() as folder, counting(2 * (args.rounds + 1), "training") as progress:
        text = first_pairs(args.source, args.target, args.pairs, Path(folder))
        return measure_training(config, text, Path(folder), args.rounds, args.updates, progress)


def _train_lines(found: Result) -> list[str]:
    tokens, epoch = found["target_tokens_per_second"], found["epoch_seconds"]
    return [
        f"{found['preset']}: {found['parameters'] / 1e6:.1f} M parameters, vocabulary {found['vocabulary']:,}, "
        f"updates of {found['batch_tokens']:,} tokens",
        f"torch {found['torch']} on {found['device']}, {counted(found['threads'], 'thread')}, {found['precision']}; "
        f"{counted(found['rounds'], 'round')} of {counted(found['updates_a_round'], 'update')}",
        "",
        f"target tokens/s       {tokens['best']:>12,.0f}   (median {tokens['median']:,.0f})",
        f"of the matrix peak    {found['share_of_products']:>12.0%}   "
        f"({found['product_operations_per_second'] / 1e9:,.1f} Gflop/s by {found['products_by']})",
        f"peak memory           {found['peak_memory_bytes'] / 1e6:>9,.0f} MB",
        f"time per epoch        {_span(epoch):>12}   ({counted(found['epoch_pairs'], 'pair')}, "
        f"{found['target_tokens_a_pair']:.1f} target tokens each)",
    ]


def _span(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    if seconds < 6_000:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


# --- translating ------------------------------------------------------------------------------------------


def _translate(args: argparse.Namespace) -> Result:
    import_torch()
    from heed.allocator import keep_freed_memory
    from heed.bench.translating import engines, measure_translating, turns
    from heed.run import RunFolder

    keep_freed_memory()  # as `heed translate` does
    args.model = find_model(args.model)
    run = RunFolder.open(args.model)
    texts, origin = _texts(args.input, run.config.data.valid_source, args.sentences)
    beam = run.config.decode.beam if args.beam is None else args.beam
    sides = engines(args.model, args.checkpoint)
    with counting(turns(len(sides), len(texts), args.rounds, args.single), "translating") as progress:
        found = measure_translating(sides, texts, beam, args.rounds, args.single, progress)
    return {"model": str(args.model), "checkpoint": run.checkpoint_path(args.checkpoint).name, "text": origin, **found}


def _texts(given: str | None, validation: str | None, n: int) -> tuple[list[str], str]:
    """Return up to `n` lines to translate, none of them blank, and the name of their origin."""
    from itertools import islice

    from heed.demo.grammar import sentences
    from heed.errors import DataError
    from heed.text.lines import read_lines

    if given is None and (not validation or not Path(validation).exists()):
        return [pair.source for pair in islice(sentences(2017), n)], "built-in sentences"
    path = given or str(validation)
    texts = list(islice((line for line in read_lines(path) if line.strip()), n))
    if not texts:
        raise DataError(f"{path}: has no line to translate; name another file with --input")
    return texts, path


def _translate_lines(found: Result) -> list[str]:
    lines = [
        f"{found['checkpoint']} of {found['model']}",
        f"{found['text']}: {counted(found['sentences'], 'sentence')}, best of {counted(found['rounds'], 'round')}; "
        f"{found['single']} of them one at a time",
        "",
        "                     in batches, beam " + f"{found['beam']:<3}" + "          one at a time, ms",
        "                  sentences/s  tokens/s  ratio    greedy p50/p95    beam p50/p95",
    ]
    for name, one in found["engines"].items():
        latency = [
            f"{one['latency_seconds'][kind]['p50'] * 1e3:.1f} / {one['latency_seconds'][kind]['p95'] * 1e3:.1f}"
            for kind in ("greedy", "beam")
        ]
        sentences, tokens = one["sentences_per_second"]["best"], one["target_tokens_per_second"]["best"]
        lines.append(
            f"{name:<16}  {sentences:>11,.1f}  {tokens:>8,.0f}"
            f"  {one['ratio_to_torch']:>5.2f}  {latency[0]:>16}  {latency[1]:>14}"
        )
    return lines


# --- preparing --------------------------------------------------------------------------------------------


def _prepare(args: argparse.Namespace) -> Result:
    from heed.bench.preparing import measure_preparing
    from heed.bench.text import first_pairs

    with tempfile.TemporaryDirectory() as folder, counting(2 * (args.rounds + 1), "preparing") as progress:
        text = first_pairs(args.source, args.target, args.pairs, Path(folder))
        return measure_preparing(text, Path(folder), args.vocab_size, args.rounds, progress)


def _prepare_lines(found: Result) -> list[str]:
    lines = [
        f"{counted(found['pairs'], 'pair')}, vocabulary {found['vocabulary']:,}, "
        f"best of {counted(found['rounds'], 'round')}",
        "",
    ]
    lines += [
        f"{name:<14}{one['best']:>12,.0f} pairs/s   (median {one['median']:,.0f})"
        for name, one in found["pairs_per_second"].items()
    ]
    return [*lines, f"{'ratio':<14}{found['ratio_to_sentencepiece']:>12.2f}"]
