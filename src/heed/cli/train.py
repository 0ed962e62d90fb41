"""`heed train`: train a model, or resume a training."""

import argparse
import json
import os
import signal
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.startup import import_torch

if TYPE_CHECKING:
    from heed.config import Config

HELP = "train a model from two line-aligned text files"

_SETTING_COLUMNS = 38  # for a setting and its value; its meaning follows


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Learn a vocabulary and a model from raw text. The run folder holds everything\n"
        "needed to translate. Ctrl-C saves and stops; --resume continues, and ends with\n"
        "the same model as without the stop."
    )
    parser.epilog = (
        "examples:\n"
        "  heed train --source train.en --target train.de \\\n"
        "      --valid-source val.en --valid-target val.de --preset tiny --out runs/x\n"
        "  heed train config.toml --set train.max_steps=600 --out runs/y\n"
        "  heed train --resume runs/x\n"
        "  heed train --resume runs/x --set train.max_steps=20000\n"
        "  heed train --preset tiny --settings\n"
        "  heed prepare --source train.en --target train.de --out data/x\n"
        "  heed train --data data/x --out runs/z\n"
        "  heed train --preset parsing --trees train.mrg --valid-trees dev.mrg \\\n"
        "      --out runs/p\n"
        "\nseveral processes or machines: torchrun -m heed train ..., see docs/cluster.md"
    )
    text = parser.add_argument_group("text")
    text.add_argument("--source", metavar="FILE", help="training text to translate from: plain, .gz, or .tsv with both")
    text.add_argument("--target", metavar="FILE", help="its translation, line by line")
    text.add_argument("--valid-source", metavar="FILE", help="held-out text to validate on")
    text.add_argument("--valid-target", metavar="FILE", help="its translation")
    text.add_argument(
        "--data", metavar="FOLDER", help="a folder made by `heed prepare`, instead of --source and --target"
    )
    text.add_argument("--trees", metavar="FILE", help="a treebank to learn parsing from, with --preset parsing")
    text.add_argument("--valid-trees", metavar="FILE", help="held-out trees to validate on")
    folder = parser.add_argument_group("run folder")
    folder.add_argument("--out", type=Path, metavar="FOLDER", help="a new run folder")
    folder.add_argument("--resume", type=Path, metavar="FOLDER", help="resume the training in this run folder")
    settings = parser.add_argument_group("settings")
    settings.add_argument(
        "--preset",
        help="quick, tiny, swift, small, base or big (default: base, the paper's); parsing or parsing-paper; "
        "gnmt-tiny, gru-tiny, convs2s-tiny or bytenet-tiny, to compare with; "
        "table3-A-h1, ...: rows of Table 3, named by heed paper table3 --dry-run",
    )
    settings.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="change one setting; may be repeated"
    )
    settings.add_argument("config", nargs="?", type=Path, help="a TOML file, or a run folder's config.json")
    settings.add_argument(
        "--settings", action="store_true", help="print every setting, its value and its meaning, and do not train"
    )
    settings.add_argument("--json", action="store_true", help="with --settings: print one JSON object")


def run(args: argparse.Namespace) -> int:
    # Until training starts, there is nothing to save: these signals then act like Ctrl-C.
    numbers = [signal.SIGTERM, *([signal.SIGUSR1] if hasattr(signal, "SIGUSR1") else [])]
    before = {number: signal.signal(number, _stop) for number in numbers}
    try:
        return _train(args)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _train(args: argparse.Namespace) -> int:
    from heed.allocator import keep_freed_memory
    from heed.errors import ConfigError
    from heed.settings import parse_overrides

    if args.json and not args.settings:
        raise ConfigError("--json needs --settings; a training logs to events.jsonl in its run folder")
    keep_freed_memory()
    if args.resume is not None:
        changes = parse_overrides(args.set)
        longer = changes.pop("train", {})
        others = (*_text(args), args.config, args.preset, args.out, args.settings)
        if any(others) or changes or longer.keys() - {"max_steps", "patience", "cooldown_steps"}:
            raise ConfigError(
                "--resume keeps the run's own settings; --set can change only train.max_steps, train.patience and "
                "train.cooldown_steps"
            )
        import_torch()
        from heed.training.loop import resume

        outcome = resume(args.resume, **longer)
    else:
        config, is_chosen = _config(args)
        if args.settings:
            _print_settings(config, args.json)
            return 0
        if args.out is None:
            raise ConfigError("--out is missing; name a new run folder, such as --out runs/x")
        import_torch()
        from heed.training.loop import train

        if not is_chosen:
            _name_smaller_presets()
        outcome = train(config, args.out)
    return 130 if outcome.reason == "interrupted" else 0


def _text(args: argparse.Namespace) -> dict[str, str]:
    """Return the data settings that the text options give."""
    given = {
        "train_source": args.source,
        "train_target": args.target,
        "prepared": args.data,
        "valid_source": args.valid_source,
        "valid_target": args.valid_target,
        "train_trees": args.trees,
        "valid_trees": args.valid_trees,
    }
    return {key: value for key, value in given.items() if value is not None}


def _config(args: argparse.Namespace) -> "tuple[Config, bool]":
    """Return the configuration of the command line, and whether it names a preset."""
    from heed.presets import preset
    from heed.settings import build_config, parse_overrides, read_config

    settings = {} if args.config is None else read_config(args.config)
    name = args.preset or settings.get("preset")
    base = preset(name or "base")
    layers = [(str(args.config), {**settings, "preset": base.preset})] if args.config else []
    layers += [("command line", {"data": _text(args)}), ("--set", parse_overrides(args.set))]
    return build_config(base, *layers), name is not None


def _name_smaller_presets() -> None:
    import torch

    if os.environ.get("RANK", "0") == "0" and not torch.cuda.is_available():
        print(
            "no --preset: training the paper's base model, which is made for GPUs.\n"
            "On a CPU, consider --preset tiny, swift or small (heed train --settings).",
            file=sys.stderr,
        )


def _print_settings(config: "Config", as_json: bool) -> None:
    from heed.config import Config, all_settings
    from heed.wording import counted

    ours, base = config.to_dict(), Config().to_dict()
    if as_json:
        found = {
            f"{one.section}.{one.key}": {
                "value": ours[one.section][one.key],
                "default": base[one.section][one.key],
                "type": one.type,
                "meaning": one.meaning,
            }
            for one in all_settings()
        }
        print(json.dumps({"preset": config.preset, "settings": found}, ensure_ascii=False))
        return
    print(f"preset {config.preset}; * marks values that differ from the paper's base model\n")
    for one in all_settings():
        value = ours[one.section][one.key]
        mark = " " if value == base[one.section][one.key] else "*"
        shown = "(left out)" if value is None else json.dumps(value, ensure_ascii=False)
        entries = value if isinstance(value, list) else []
        shown = counted(len(entries), "corpus", "corpora") if entries else shown
        left = f"{mark} {one.section}.{one.key} = {shown}"
        lines = textwrap.wrap(one.meaning, 79 - _SETTING_COLUMNS) or [""]
        if len(left) >= _SETTING_COLUMNS:
            lines = [left, *(" " * _SETTING_COLUMNS + line for line in lines)]
        else:
            lines = [left.ljust(_SETTING_COLUMNS) + lines[0], *(" " * _SETTING_COLUMNS + line for line in lines[1:])]
        print("\n".join(lines))
        for entry in entries:
            for key, part in entry.items():
                print(f"{'    - ' if key == 'source' else '      '}{key} = {json.dumps(part, ensure_ascii=False)}")
    print("\nchange one with --set section.key=value, or in a TOML file (docs/config.md)")


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt
