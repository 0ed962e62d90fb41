"""`heed paper table2`: the Transformer and the recurrent and convolutional models it was compared with."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from heed.cli.experiments import (
    add_output_options,
    add_text_options,
    show,
    stopping,
    texts_given,
    watching,
)
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

if TYPE_CHECKING:
    from heed.paper.report import Part
    from heed.paper.texts import Texts

HELP = "quality and training cost, against recurrent and convolutional models"


def configure(parser: Parser) -> None:
    parser.description = (
        "Print table 2. With --data, also train the Transformer, an LSTM and a GRU with\n"
        "attention (GNMT), and a convolutional model (ConvS2S) on the same text: once\n"
        "with equal training FLOPs, once with equal minutes. Each row is a run folder\n"
        "below --out. After Ctrl-C or a kill, the same command continues: finished rows\n"
        "are not trained again, and an interrupted one resumes."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper table2\n"
        "  heed paper table2 --dry-run\n"
        "  heed paper table2 --data multi30k --steps 2000\n"
        "  heed paper table2 --data multi30k --rows gnmt,bytenet --tune --out b"
    )
    add_text_options(parser)
    text = parser.add_argument_group("text to score")
    text.add_argument("--test-source", metavar="FILE", help="text to translate (default: the validation text)")
    text.add_argument("--test-target", metavar="FILE", help="its translation")
    rows = parser.add_argument_group("rows")
    rows.add_argument("--scale", default="tiny", help="tiny or small (default: tiny)")
    rows.add_argument(
        "--rows",
        default="",
        metavar="GNMT,...",
        help="rows besides the transformer: gnmt, gru, convs2s, bytenet\n(default: all but bytenet)",
    )
    rows.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="updates of the transformer, the budget of all\n(default: 1,500; small: 20,000)",
    )
    rows.add_argument(
        "--tune", action="store_true", help="first choose each row's learning rate and dropout on\nvalidation text"
    )
    rows.add_argument("--dry-run", action="store_true", help="print the plan and its cost, and do not train")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.errors import ConfigError
    from heed.paper import table2 as table
    from heed.paper.report import lines, to_json
    from heed.paper.speed import measured_speed
    from heed.wording import did_you_mean

    if args.scale not in table.SCALES:
        raise ConfigError(f'--scale "{args.scale}"{did_you_mean(args.scale, table.SCALES)}; tiny or small')
    if args.steps is not None and args.steps < 4:
        raise ConfigError(f"--steps {args.steps}: must be at least 4")
    if (args.test_source is None) != (args.test_target is None):
        raise ConfigError("--test-source and --test-target belong together; give both, or none")
    rows = table.chosen_rows(args.rows)
    steps = args.steps or table.SCALES[args.scale].steps
    if args.dry_run:
        from heed.config import DataConfig
        from heed.vocabulary import Vocabulary

        configs = {row: table.row_config(row, args.scale, steps, DataConfig()) for row in rows}
        vocabulary = Vocabulary(table.SCALES[args.scale].vocab_size)
        speeds = {row: measured_speed(config, vocabulary) for row, config in configs.items()}
        plan = table.plan_part(rows, args.scale, steps, speeds)
        print(to_json(plan) if args.json else "\n".join(lines(plan)))
        return 0
    if all(given is None for given in (args.data, args.source, args.target, args.valid_source, args.valid_target)):
        if args.steps is not None or args.rows or args.tune or args.test_source is not None:
            texts_given(args)  # raises: there is no text to train on
        part = table.published_part()
        print(to_json(part) if args.json else "\n".join(lines(part)))
        return 0
    with stopping():
        part = _trained(args, rows, steps, texts_given(args))
    return show(part, args)


def _trained(args: argparse.Namespace, rows: list[str], steps: int, texts: "Texts") -> "Part":
    """Train all rows that are not finished, and return the table."""
    from heed import processor
    from heed.allocator import keep_freed_memory
    from heed.config import DataConfig
    from heed.paper import table2 as table
    from heed.paper.budgets import Scored, train_to_budgets
    from heed.paper.texts import encoded_once

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    keep_freed_memory()
    scored = Scored(args.test_source or texts.valid_source, args.test_target or texts.valid_target)
    scored.pairs()  # before hours of training
    folder = Path(args.out) / f"table2-{args.scale}"
    text = table.row_config(table.REFERENCE, args.scale, steps, DataConfig()).text
    data = encoded_once(texts, text, folder / "text", say)
    with watching() as progress:
        ours, tried = train_to_budgets(
            rows, args.scale, steps, data, folder, scored, tune=args.tune, on_progress=progress, say=say
        )
    return table.part(ours, tried, args.scale, steps, scored.source, processor.name())
