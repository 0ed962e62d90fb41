"""`heed paper table3`: variations of the base model."""

import argparse

from heed.cli.experiments import (
    add_output_options,
    add_scale_option,
    add_text_options,
    add_training_options,
    show,
    texts_given,
    train_table,
)
from heed.cli.startup import import_torch
from heed.cli.usage import Parser

HELP = "variations of the base model: heads, sizes, dropout, positions"


def configure(parser: Parser) -> None:
    parser.description = (
        "Train the rows of table 3, each in a run folder of its own below --out, and\n"
        "print perplexity and BLEU beside the published numbers. A smaller scale keeps\n"
        "each row's ratio to base. After Ctrl-C or a kill, the same command continues:\n"
        "finished rows are not trained again, and an interrupted one resumes."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper table3 --dry-run\n"
        "  heed paper table3 --data multi30k\n"
        "  heed paper table3 --data multi30k --rows A,D-ls0.0 --seeds 3 --out a\n"
        "  heed paper table3 --scale paper --data wmt14-en-de --yes"
    )
    add_text_options(parser)
    rows = parser.add_argument_group("rows")
    add_scale_option(rows, "tiny, small or paper")
    rows.add_argument(
        "--rows",
        default="",
        metavar="A,B-dk16,...",
        help="groups and rows to train besides base (default: all);\n--dry-run shows their names",
    )
    rows.add_argument(
        "--seeds",
        type=int,
        default=2,
        metavar="N",
        help="seeds of base; how far they differ is the noise (default: 2)",
    )
    add_training_options(parser)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    import_torch()
    from heed.config import DataConfig
    from heed.errors import ConfigError
    from heed.paper import table3 as table
    from heed.paper.plan import shown_hours
    from heed.paper.report import lines, to_json
    from heed.paper.scores import paper_bleu
    from heed.paper.speed import measured_speed
    from heed.presets import table3
    from heed.vocabulary import Vocabulary

    scale = table.scale_named(args.scale)
    if args.seeds < 1:
        raise ConfigError(f"--seeds {args.seeds}: must be at least 1")
    rows = table.chosen_rows(args.rows)
    base = table.scaled(table3("base"), scale)
    if args.dry_run or (args.scale == "paper" and not args.yes):
        planned = table.plans(rows, args.scale, args.seeds, DataConfig())
        plan = table.plan_of(planned, args.scale, measured_speed(base, Vocabulary(base.text.vocab_size)))
        print(to_json(plan) if args.json else "\n".join(lines(plan)))
        if not args.dry_run:
            hours = shown_hours(plan.values["hours"])
            raise ConfigError(f"this would train for about {hours} hours on this machine; to start, add --yes")
        return 0
    texts = texts_given(args)
    name = f"table3-{args.scale}"
    results = train_table(args, name, texts, base.text, lambda data: table.plans(rows, args.scale, args.seeds, data))
    ours = [table.Ours(one, paper_bleu(one, texts)) for one in results]
    return show(table.part(rows, ours, args.scale, texts.valid_source), args)
