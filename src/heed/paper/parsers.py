"""Parsers trained here for Table 4: one for each way to write a tree, and one for each size of the treebank."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heed.config import Config, DataConfig
from heed.data.trees import read_located
from heed.durable import checksum, write_file
from heed.errors import ConfigError, DataError
from heed.loading import load
from heed.paper.chart import Axis, Series, chart
from heed.paper.plan import Planned, cost_on, plan_part
from heed.paper.report import Part, Table
from heed.paper.resumable import Rows
from heed.paper.rows import RowPlan, RowResult
from heed.paper.speed import Speed
from heed.paper.table4 import COMPARABLE, CUTOFF
from heed.parsing.evalb import count_always, totals
from heed.parsing.parameters import Parameters
from heed.parsing.tokenizer import TreeTokenizer, linearisation
from heed.parsing.trees import Tree
from heed.presets import preset
from heed.vocabulary import Vocabulary
from heed.wording import did_you_mean

_TREES: tuple[Literal["brackets", "top-down", "in-order"], ...] = ("brackets", "top-down", "in-order")
_KINDS: tuple[Literal["transformer", "follower"], ...] = ("transformer", "follower")
_SHARES = (8, 4, 2, 1)  # the treebank is divided by these
_ORDER_SEED = 1  # which trees a share has: the same for all seeds of training
_PAPER_TREES = 40_000
_PAPER = {"WSJ only": 91.3, "semi-supervised": 92.7}  # the second with 17 million parsed sentences besides

Scores = dict[str, float]  # of one parser: "f1", "short_f1" and "malformed", in per cent


def base(trees: str, updates: int, seed: int) -> Config:
    """Return the preset for so many updates, with a learning rate that falls to 0 in the last eighth.

    Raises:
        ConfigError: there are no updates.
    """
    if updates < 1:
        raise ConfigError(f"--updates {updates}: must be at least 1")
    if seed < 0:
        raise ConfigError(f"--seed {seed}: must be at least 0")
    config = preset("parsing")
    train = replace(
        config.train,
        max_steps=updates,
        cooldown_steps=updates // 8,
        warmup_steps=min(config.train.warmup_steps, max(1, updates // 4)),
        save_every=max(1, updates // (8 * config.train.average_last)),
        seed=seed,
    )
    return replace(config, data=DataConfig(train_trees=str(Path(trees).absolute())), train=train)


def linearisation_plans(config: Config, names: str = "") -> list[RowPlan]:
    """Return a parser for each way to write trees, with and without tags and the next word's vector.

    `names`, separated by commas, chooses some.

    Raises:
        ConfigError: there is no such row.
    """
    found = {}
    for trees, tags, kind in product(_TREES, (False, True), _KINDS):
        name = "-".join([trees, *["tags"] * tags, *["follower"] * (kind == "follower")])
        text, model = replace(config.text, trees=trees, tags=tags), replace(config.model, kind=kind)
        found[name] = RowPlan(name, replace(config, text=text, model=model))
    wanted = [name.strip() for name in names.split(",") if name.strip()] or list(found)
    for name in wanted:
        if name not in found:
            raise ConfigError(f'unknown row "{name}"{did_you_mean(name, list(found))}; rows: {", ".join(found)}')
    return [plan for name, plan in found.items() if name in wanted]


def size_plans(config: Config, folder: Path) -> list[RowPlan]:
    """Return a parser for 1/8, 1/4, 1/2 and all of the trees, which it writes to a folder; each has the ones before.

    Raises:
        DataError: there are too few trees, or the folder has parts of others.
    """
    path = config.data.train_trees
    trees = [str(tree) for _, tree in read_located(path)]
    if len(trees) < _SHARES[0]:
        raise DataError(f"{path}: has {len(trees)} trees; a learning curve needs at least {_SHARES[0]}")
    random.Random(_ORDER_SEED).shuffle(trees)  # a treebank is sorted by document
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for share in _SHARES:
        part = folder / f"1of{share}.mrg"
        content = "".join(f"{tree}\n" for tree in trees[: len(trees) // share]).encode()
        if not part.exists():
            write_file(part, content)
        elif part.read_bytes() != content:  # finished rows would be shown as if trained on these
            raise DataError(
                f"{part}: has other trees than {path}; give the old --trees to continue, choose another --out, or "
                f"delete {folder.parent}"
            )
        data = replace(config.data, train_trees=str(part.absolute()))
        found.append(RowPlan(part.stem, replace(config, data=data)))
    return found


def counted(rows: Sequence[RowPlan]) -> list[Planned]:
    """Count what an average update of each parser computes, from its trees as it reads and writes them."""
    found = []
    for row in rows:
        text = row.config.text
        trees = [tree for _, tree in read_located(row.config.data.train_trees)]
        tokenizer = TreeTokenizer.learn_trees(trees, linearisation(text), text)
        sources, targets = (
            np.array([len(ids) + 1 for ids in side])
            for side in tokenizer.encode_pairs(trees)  # and the end token
        )
        cost = cost_on(row.config, tokenizer.vocabulary, sources, targets)
        found.append(Planned(row, tokenizer.vocabulary, cost.operations))
    return found


def plan_of(rows: Sequence[Planned], measure: Callable[[Config, Vocabulary], Speed]) -> Part:
    """Return the plan: each parser, its size and its cost. Both kinds of decoder are timed."""
    first = {one.row.config.model.kind: one for one in reversed(rows)}
    speeds = {kind: measure(one.row.config, one.vocabulary) for kind, one in first.items()}
    settings: dict[str, Callable[[RowPlan], str]] = {
        "trees": lambda row: row.config.text.trees,
        "tags": lambda row: "yes" if row.config.text.tags else "no",
        "decoder": lambda row: row.config.model.kind,
    }
    train = rows[0].row.config.train
    return plan_part(
        "table4-plan",
        "Table 4: the plan",
        rows,
        settings,
        [speeds[one.row.config.model.kind] for one in rows],
        f"--preset parsing, {train.max_steps:,} updates of {train.batch_tokens:,} tokens, seed {train.seed}.",
        "these trees",
        "learning sub-words, and parsing the held-out trees, come on top",
    )


class Scorer:
    """Parses held-out trees' sentences with trained rows; what has been scored is kept in each row's folder."""

    def __init__(self, valid_trees: str) -> None:
        self.name = Path(valid_trees).name
        self.gold: list[Tree] = [tree for _, tree in read_located(valid_trees)]
        self._key = checksum("\n".join(map(str, self.gold)).encode())

    def scores(self, row: RowResult, free: bool, progress: Callable[[int], None]) -> Scores:
        """Return F1 in per cent, every sentence counted; with `free` also the share that is no tree if unconstrained.

        A row whose training diverged has 0, and no trees.
        """
        if row.diverged:
            return {"f1": 0.0, "short_f1": 0.0, "malformed": 100.0}
        rows, found = Rows(row.path / "scores.jsonl"), {}
        for key, measure in (("constrained", self._f1), *((("free", self._malformed),) if free else ())):
            name = f"{key} {self._key}"
            found.update(rows.get(name) or rows.add(name, measure(row.path, progress)))
        return found

    def _f1(self, path: Path, progress: Callable[[int], None]) -> Scores:
        parses = load(path).parse([tree.words() for tree in self.gold], progress=lambda n, _: progress(n))
        counts = [count_always(gold, parse.tree, Parameters()) for gold, parse in zip(self.gold, parses, strict=True)]
        return {"f1": totals(counts, True).f1, "short_f1": totals(counts, True, CUTOFF).f1}

    def _malformed(self, path: Path, progress: Callable[[int], None]) -> Scores:
        parses = load(path).parse(
            [tree.words() for tree in self.gold], constrained=False, progress=lambda n, _: progress(n)
        )
        return {"malformed": 100 * sum(one.tree is None for one in parses) / len(parses)}


def linearisations_part(
    plans: Sequence[RowPlan], results: Sequence[RowResult], scores: Sequence[Scores], scorer: Scorer
) -> Part:
    """Return the table of linearisations."""
    rows, points, values = [], dict[str, list[tuple[float, float]]](), {}
    for plan, result, found in zip(plans, results, scores, strict=True):
        text, kind = plan.config.text, plan.config.model.kind
        rows.append(
            (
                text.trees,
                "yes" if text.tags else "no",
                kind,
                f"{result.parameters / 1e6:.1f}",
                f"{found['f1']:.2f}",
                f"{found['short_f1']:.2f}",
                f"{found['malformed']:.1f}",
            )
        )
        points.setdefault(f"{text.trees}{', tags' * text.tags}", []).append((found["malformed"], found["f1"]))
        values[plan.name] = {**found, "parameters": result.parameters, "seconds": result.seconds}
    columns = ("trees", "tags", "decoder", "M", "F1", f"<= {CUTOFF} words", "no tree %")
    notes = (
        _how(plans[0].config, "The rows differ in nothing but what the first three columns say."),
        '"no tree" is the share of outputs without the constraint that are no tree over the sentence; F1 is with the '
        "constraint. The paper's way is brackets, no tags, transformer. A follower also gets the next word's vector.",
        COMPARABLE,
    )
    picture = chart(
        "F1 and outputs that are no trees; lines: transformer to follower",
        Axis("% no trees, without the constraint"),
        Axis("F1"),
        [Series(name, found) for name, found in points.items()],
    )
    title = "Table 4: ways to write a tree"
    table = Table(columns, tuple(rows), _caption(scorer))
    return Part("table4-linearisations", title, (table,), notes, (picture,), _values(plans[0], scorer, values))


def sizes_part(
    plans: Sequence[RowPlan], results: Sequence[RowResult], scores: Sequence[Scores], scorer: Scorer
) -> Part:
    """Return the learning curve: F1 against the number of trees."""
    sizes = [len(read_located(plan.config.data.train_trees)) for plan in plans]
    rows = tuple((f"{n:,}", f"{one['f1']:.2f}", f"{one['short_f1']:.2f}") for n, one in zip(sizes, scores, strict=True))
    theirs = tuple((name, f"{_PAPER_TREES:,}", f"{f1:.1f}") for name, f1 in _PAPER.items())
    values = {
        plan.name: {"trees": n, **one, "seconds": result.seconds}
        for plan, n, one, result in zip(plans, sizes, scores, results, strict=True)
    }
    notes = (
        _how(plans[0].config, "So a parser sees fewer trees more often. Each learns its own sub-words and labels."),
        "The paper's semi-supervised parser has 17 million sentences besides, parsed by other parsers.",
        COMPARABLE,
    )
    picture = chart(
        "Learning curve",
        Axis("trees", log=True),
        Axis("F1"),
        [
            Series("all sentences", [(n, one["f1"]) for n, one in zip(sizes, scores, strict=True)]),
            Series(f"<= {CUTOFF} words", [(n, one["short_f1"]) for n, one in zip(sizes, scores, strict=True)]),
            *(Series(f"not comparable: {name}", [(_PAPER_TREES, f1)]) for name, f1 in _PAPER.items()),
        ],
    )
    tables = (
        Table(("trees", "F1", f"<= {CUTOFF} words"), rows, _caption(scorer)),
        Table(("the paper", "trees", "F1"), theirs, "Not comparable: WSJ section 23, all sentences"),
    )
    title = "Table 4: F1 by size of the treebank"
    return Part("table4-sizes", title, tables, notes, (picture,), _values(plans[0], scorer, values))


def _how(config: Config, more: str) -> str:
    train, decode = config.train, config.decode
    return (
        f"--preset parsing, {train.max_steps:,} updates of {train.batch_tokens:,} tokens, seed {train.seed}, the "
        f"average of the last {train.average_last} checkpoints, beam {decode.beam}. {more} One seed: how far seeds "
        "differ is not known; --seed trains another."
    )


def _caption(scorer: Scorer) -> str:
    return f"Labelled F1 on {scorer.name} ({len(scorer.gold):,} sentences), every one counted"


def _values(plan: RowPlan, scorer: Scorer, ours: dict[str, dict[str, float]]) -> dict[str, Any]:
    train = plan.config.train
    return {
        "valid_trees": scorer.name,
        "updates": train.max_steps,
        "seed": train.seed,
        "published": _PAPER,
        "ours": ours,
    }
