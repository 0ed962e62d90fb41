"""`heed paper table4`: constituency parsing."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from heed.bar import counting
from heed.cli.experiments import add_output_options, show, stopping, watching
from heed.cli.startup import import_torch
from heed.cli.usage import Parser
from heed.errors import ConfigError

if TYPE_CHECKING:
    from heed.config import Config
    from heed.paper.rows import RowPlan

HELP = "constituency parsing: labelled F1"

_UPDATES, _SEED = 4000, 1


def configure(parser: Parser) -> None:
    parser.description = (
        "Print table 4: the published parsers, and yours on your trees. Or train\n"
        "parsers, each in a run folder of its own below --out: one for each way to\n"
        "write a tree, or for 1/8, 1/4, 1/2 and all of the trees. After Ctrl-C or a\n"
        "kill, the same command continues."
    )
    parser.epilog = (
        "examples:\n"
        "  heed paper table4\n"
        "  heed parse --model runs/p --from-trees gold.mrg --output parsed.mrg\n"
        "  heed paper table4 --gold gold.mrg --parsed parsed.mrg\n"
        "  heed paper table4 --sizes --trees train.mrg --dry-run\n"
        "  heed paper table4 --sizes --trees train.mrg --valid-trees dev.mrg"
    )
    group = parser.add_argument_group("our row")
    group.add_argument("--gold", metavar="FILE", help="trees to compare with")
    group.add_argument("--parsed", metavar="FILE", help="trees that a parser made of the same sentences")
    group = parser.add_argument_group("parsers to train")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--linearisations", action="store_true", help="one for each way to write a tree: F1, and outputs that are none"
    )
    which.add_argument("--sizes", action="store_true", help="one for each size of the treebank: a learning curve")
    group.add_argument("--trees", metavar="FILE", help="a treebank to train on")
    group.add_argument("--valid-trees", metavar="FILE", help="held-out trees to score on")
    group.add_argument("--rows", metavar="A,B,...", help="some of the linearisations (default: all)")
    group.add_argument("--updates", type=int, metavar="N", help=f"of each parser (default: {_UPDATES})")
    group.add_argument("--seed", type=int, metavar="N", help=f"of each parser (default: {_SEED})")
    group.add_argument("--dry-run", action="store_true", help="print the plan and its cost, and do not train")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    if (args.gold is None) != (args.parsed is None):
        raise ConfigError("--gold and --parsed belong together; give both, or none")
    if args.linearisations or args.sizes:
        return _train(args)
    given = [name for name in ("trees", "valid_trees", "rows", "updates", "seed") if getattr(args, name) is not None]
    if given := given + ["dry_run"] * args.dry_run:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"for training only: {options}; add --linearisations or --sizes")
    from heed.paper.table4 import measure, part

    ours = None if args.gold is None else measure(args.gold, args.parsed)
    return show(part(ours), args)


def _train(args: argparse.Namespace) -> int:
    """Train parsers, score them, and show what they score."""
    name = "linearisations" if args.linearisations else "sizes"
    if args.dry_run and not args.trees:
        raise ConfigError(f"the plan of --{name} needs the trees to train on: --trees FILE")
    if not (args.dry_run or (args.trees and args.valid_trees)):
        raise ConfigError(f"--{name} needs trees to train on and to score on: --trees FILE --valid-trees FILE")
    if args.gold:
        raise ConfigError(f"--gold and --parsed are trees that are there already, and --{name} trains; drop one")
    if args.rows and args.sizes:
        raise ConfigError("--rows chooses linearisations; drop it, or --sizes")
    import_torch()
    from heed.allocator import keep_freed_memory
    from heed.paper import parsers
    from heed.paper.rows import train_rows

    keep_freed_memory()
    updates = _UPDATES if args.updates is None else args.updates
    seed = _SEED if args.seed is None else args.seed
    config = parsers.base(args.trees, updates, seed)
    if args.dry_run:
        return _plan(args, config)
    scorer = parsers.Scorer(args.valid_trees)
    folder = Path(args.out) / f"table4-{name}-{updates}-seed{seed}"
    with stopping():
        plans = _rows(args, config, folder)
        with watching() as progress:
            results = train_rows(plans, folder, progress)
        scores = []
        for number, result in enumerate(results, 1):
            what = f"parsing, row {number}/{len(results)} {result.name}"
            print(what, file=sys.stderr)
            with counting(len(scorer.gold), what) as bar:
                scores.append(scorer.scores(result, args.linearisations, bar))
    part = parsers.linearisations_part if args.linearisations else parsers.sizes_part
    return show(part(plans, results, scores, scorer), args)


def _plan(args: argparse.Namespace, config: "Config") -> int:
    """Print what the parsers would cost."""
    from heed.paper import parsers
    from heed.paper.report import lines, to_json
    from heed.paper.speed import measured_speed

    with TemporaryDirectory() as folder:  # for the shares of the trees
        plan = parsers.plan_of(parsers.counted(_rows(args, config, Path(folder))), measured_speed)
    print(to_json(plan) if args.json else "\n".join(lines(plan)))
    return 0


def _rows(args: argparse.Namespace, config: "Config", folder: Path) -> "list[RowPlan]":
    """Return the parsers that the options name."""
    from heed.paper import parsers

    if args.linearisations:
        return parsers.linearisation_plans(config, args.rows or "")
    return parsers.size_plans(config, folder / "trees")
