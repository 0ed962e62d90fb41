"""`heed train`."""

import argparse
import signal
from pathlib import Path

from heed.cli.startup import import_torch

HELP = "train a model from two line-aligned text files"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Learn a vocabulary and a model from raw text. The run folder holds all that is needed to translate;\n"
        "Ctrl-C saves, and --resume goes on as if nothing had happened."
    )
    parser.epilog = (
        "examples:\n"
        "  heed train --source train.en --target train.de --valid-source val.en --valid-target val.de \\\n"
        "      --preset tiny --out runs/x\n"
        "  heed train config.toml --set train.max_steps=600 --out runs/y\n"
        "  heed train --resume runs/x\n"
        "  heed train --resume runs/x --set train.max_steps=20000\n"
        "  heed prepare --source train.en --target train.de --out data/x\n"
        "  heed train --data data/x --out runs/z\n"
        "\nsettings: docs/config.md lists every section.key for --set and config files\n"
        "many processes and machines: torchrun -m heed train ..., see docs/cluster.md"
    )
    parser.add_argument("config", nargs="?", type=Path, help="a TOML file, or a run folder's config.json")
    parser.add_argument(
        "--source", metavar="FILE", help="training text to translate from: plain, .gz, or .tsv with both"
    )
    parser.add_argument("--target", metavar="FILE", help="its translation, line by line")
    parser.add_argument("--data", metavar="FOLDER", help="both, made ready by `heed prepare`")
    parser.add_argument("--valid-source", metavar="FILE", help="held-out text to judge the model by")
    parser.add_argument("--valid-target", metavar="FILE", help="its translation")
    parser.add_argument("--preset", help="tiny, swift, small, base or big (default: base, the paper's)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the run folder to make")
    parser.add_argument("--resume", type=Path, metavar="FOLDER", help="go on with the training in this run folder")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change one setting; may be repeated"
    )


def run(args: argparse.Namespace) -> int:
    # Until training begins, which has something to save, being asked to stop is as Ctrl-C.
    numbers = [signal.SIGTERM, *([signal.SIGUSR1] if hasattr(signal, "SIGUSR1") else [])]
    before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        return _train(args)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _train(args: argparse.Namespace) -> int:
    from heed.allocator import keep_freed_memory
    from heed.config import Config, build_config, parse_overrides, preset, read_config
    from heed.errors import ConfigError

    keep_freed_memory()
    files = {
        "train_source": args.source,
        "train_target": args.target,
        "prepared": args.data,
        "valid_source": args.valid_source,
        "valid_target": args.valid_target,
    }
    given = {key: value for key, value in files.items() if value is not None}
    if args.resume is not None:
        changes = parse_overrides(args.set)
        longer = changes.pop("train", {})
        if given or args.config or args.preset or args.out or changes or longer.keys() - {"max_steps", "patience"}:
            raise ConfigError(
                "--resume goes on with a run as it was begun; only train.max_steps and train.patience can be --set anew"
            )
        import_torch()
        from heed.training.loop import resume

        outcome = resume(args.resume, **longer)
    else:
        settings = {} if args.config is None else read_config(args.config)
        base: Config = preset(args.preset or settings.get("preset", "base"))
        layers = [(str(args.config), {**settings, "preset": base.preset})] if args.config else []
        layers += [("command line", {"data": given}), ("--set", parse_overrides(args.set))]
        config = build_config(base, *layers)
        if args.out is None:
            raise ConfigError("where to? Name a new run folder with --out, such as --out runs/x")
        import_torch()
        from heed.training.loop import train

        outcome = train(config, args.out)
    return 130 if outcome.reason == "interrupted" else 0


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt
