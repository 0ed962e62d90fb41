"""The parsers of Table 4 that are trained here: rows that resume, and numbers that are the scorer's."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heed.cli.main import main
from heed.config import Config, ModelConfig
from heed.data.store import PairStore
from heed.errors import ConfigError
from heed.model.build import model_class
from heed.paper import parsers
from heed.paper.rows import train_rows
from heed.paper.speed import Speed
from heed.parsing.trees import read_trees
from heed.presets import preset
from heed.run import RunFolder
from tests.cli.test_parse import treebank


def tiny(name: str) -> Config:
    config = preset(name)
    return replace(
        config,
        model=ModelConfig(1, 1, 16, 32, 2, norm="pre", kind="follower"),
        text=replace(config.text, vocab_size=400),
        train=replace(config.train, batch_tokens=300, average_last=2, lanes=1),
        decode=replace(config.decode, beam=2, extra_length=20),
    )


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options of a quick experiment, without its name."""
    monkeypatch.setattr(parsers, "preset", tiny)
    for name, n, seed in (("train", 40, 1), ("dev", 6, 2)):
        (tmp_path / f"{name}.mrg").write_text(treebank(n, seed), encoding="utf-8")
    files = ["--trees", str(tmp_path / "train.mrg"), "--valid-trees", str(tmp_path / "dev.mrg")]
    return ["paper", "table4", *files, "--updates", "12", "--out", str(tmp_path / "out")]


Json = Callable[[list[str]], dict[str, dict[str, dict[str, float]]]]


@pytest.fixture
def result(capsys: pytest.CaptureFixture[str]) -> Json:
    def call(options: list[str]) -> dict[str, dict[str, dict[str, float]]]:
        capsys.readouterr()
        assert main([*options, "--json"]) == 0
        found: dict[str, dict[str, dict[str, float]]] = json.loads(capsys.readouterr().out)["values"]
        return found

    return call


def test_every_way_to_write_a_tree_is_a_row_and_one_is_the_papers() -> None:
    plans = parsers.linearisation_plans(parsers.base("t.mrg", 80, 3))
    configs = [plan.config for plan in plans]
    ways = {(one.text.trees, one.text.tags, one.model.kind) for one in configs}
    assert len(ways) == len(plans) == 12 and ("in-order", True, "follower") in ways
    paper = preset("parsing-paper")
    assert plans[0].name == "brackets" and (configs[0].text.trees, configs[0].text.tags) == ("brackets", False)
    assert configs[0].model.kind == paper.model.kind
    assert {(one.train.max_steps, one.train.seed, one.train.save_every) for one in configs} == {(80, 3, 1)}
    assert {one.train.cooldown_steps for one in configs} == {10}
    with pytest.raises(ConfigError, match='unknown row "in-ordr"; did you mean "in-order'):
        parsers.linearisation_plans(configs[0], "in-ordr")


def test_linearisations_are_trained_scored_and_reported(
    asked: list[str], result: Json, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*asked, "--linearisations", "--rows", "brackets, in-order-tags-follower"]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert all(len(line) <= 80 for line in (*out.splitlines(), *err.splitlines()) if str(tmp_path) not in line)
    assert "row 2/2 in-order-tags-follower" in err and "left for all" in err and "section 23" in out
    runs = tmp_path / "out" / "table4-linearisations-12-seed1"
    assert sorted(path.name for path in runs.iterdir()) == ["brackets", "in-order-tags-follower"]
    assert "F1 and outputs that are no trees" in (tmp_path / "out" / "report.html").read_text()

    ours = result(asked)["ours"]
    gold, parsed = str(tmp_path / "dev.mrg"), str(tmp_path / "parsed.mrg")
    clean = tmp_path / "clean.mrg"  # without function tags and traces, which the parser has never seen
    clean.write_text("".join(f"{tree}\n" for tree in parsers.Scorer(gold).gold), encoding="utf-8")
    for name, scores in ours.items():
        run = str(runs / name)
        assert main(["parse", "--model", run, "--from-trees", gold, "--output", parsed]) == 0
        assert main(["score", "--trees", str(clean), parsed, "--json"]) == 0
        scored = json.loads(capsys.readouterr().out)["every_sentence"]
        assert scores["f1"] == pytest.approx(scored["all"]["f1"]) and scores["f1"] > 0
        assert scores["short_f1"] == pytest.approx(scored["up_to_cutoff"]["f1"])
        assert main(["parse", "--model", run, "--from-trees", gold, "--output", parsed, "--unconstrained"]) == 0
        (share,) = re.findall(r"\(([\d.]+) %\) are no trees", capsys.readouterr().err)
        assert f"{scores['malformed']:.1f}" == share


def test_what_is_trained_and_scored_is_not_done_again(
    asked: list[str], result: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [*asked, "--linearisations", "--rows", "in-order,top-down"]
    trained: list[str] = []
    real = parsers.load

    def killed(path: Path) -> object:
        if path.name == "in-order":  # the second row
            raise KeyboardInterrupt
        trained.append(path.name)
        return real(path)

    monkeypatch.setattr(parsers, "load", killed)
    assert main(asked) == 130
    runs = tmp_path / "out" / "table4-linearisations-12-seed1"
    before = {path: path.stat().st_mtime_ns for path in runs.glob("*/checkpoints/*/*")}
    assert trained == ["top-down", "top-down"] and before
    monkeypatch.setattr(parsers, "load", lambda path: trained.append(path.name) or real(path))
    first = result(asked)
    assert trained[2:] == ["in-order", "in-order"]  # with the constraint and without
    assert {path: path.stat().st_mtime_ns for path in runs.glob("*/checkpoints/*/*")} == before
    assert result(asked) == first and len(trained) == 4
    with open(tmp_path / "dev.mrg", "a", encoding="utf-8") as file:  # other trees are scored, by the same parsers
        file.write(treebank(1, 5))
    result(asked)
    assert len(trained) == 8


def test_a_learning_curve(asked: list[str], result: Json, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*asked, "--sizes"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^WSJ only +40,000 +91\.3$", out, re.MULTILINE) and "Not comparable" in out
    found = result([*asked, "--sizes"])
    assert [one["trees"] for one in found["ours"].values()] == [5, 10, 20, 40]
    assert found["published"] == {"WSJ only": 91.3, "semi-supervised": 92.7}
    parts = [
        [str(tree) for tree in read_trees(tmp_path / "out" / "table4-sizes-12-seed1" / "trees" / f"1of{share}.mrg")]
        for share in (8, 4, 2, 1)
    ]
    for smaller, larger in zip(parts, parts[1:], strict=False):
        assert larger[: len(smaller)] == smaller
    assert sorted(parts[-1]) == sorted(map(str, parsers.Scorer(str(tmp_path / "train.mrg")).gold))
    page = (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "train.mrg").write_text(treebank(40, 7), encoding="utf-8")
    assert main([*asked, "--sizes"]) == 1  # what was trained on other trees is not shown as a result of these
    assert "1of8.mrg: has other trees than" in capsys.readouterr().err
    assert "Learning curve" in page and "not comparable: semi-supervised" in page


def test_the_plan_counts_the_trees_as_they_are_trained_on(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("heed.paper.speed._SECONDS", 0.01)
    rows = ["--linearisations", "--rows", "brackets,in-order-tags-follower"]
    assert main([*asked, *rows, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^in-order-tags-follower +in-order +yes +follower +12 +0\.0 +0\.00$", out, re.MULTILINE)
    assert all(len(line) <= 80 for line in out.splitlines()) and not (tmp_path / "out").exists()

    plans = parsers.linearisation_plans(parsers.base(str(tmp_path / "train.mrg"), 12, 1), rows[-1])
    planned = parsers.counted(plans)
    results = train_rows(plans, tmp_path / "rows")
    for plan, one, trained in zip(plans, planned, results, strict=True):
        store = PairStore.open(trained.path / "data")
        sides = store.source.lengths.tolist(), store.target.lengths.tolist()
        # One epoch, pair by pair.
        total = sum(
            model_class(plan.config.model).update_operations(
                plan.config.model, RunFolder.open(trained.path).tokenizer.vocabulary, np.array([s]), np.array([t])
            )
            for s, t in zip(*sides, strict=True)
        )
        start = next(event for event in RunFolder.open(trained.path).events() if event["event"] == "start")
        assert one.parameters == trained.parameters
        assert one.operations == pytest.approx(total / start["batches_per_epoch"])

    # A second for every operation: the hours are as many as the operations say.
    part = parsers.plan_of(planned, lambda config, vocabulary: Speed(1.0))
    assert part.values["hours"] == pytest.approx(12 * sum(one.operations for one in planned) / 3600)


def test_the_plan_of_a_learning_curve_writes_nothing(
    asked: list[str], result: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heed.paper.speed._SECONDS", 0.01)
    without_held_out = [*asked[: asked.index("--valid-trees")], *asked[asked.index("--updates") :]]
    rows = result([*without_held_out, "--sizes", "--dry-run"])["rows"]
    assert [row["row"] for row in rows] == ["1of8", "1of4", "1of2", "1of1"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes"], "--sizes needs trees"),
        (["--sizes", "--dry-run"], "the plan of --sizes needs the trees to train on"),
        (["--dry-run"], "add --linearisations or --sizes"),
        (["--trees", "t", "--valid-trees", "v"], "for training only: --trees and --valid-trees; add --linear"),
        (["--updates", "3"], "for training only: --updates; add --linearisations or --sizes"),
        (["--seed", "0"], "for training only: --seed; add --linearisations or --sizes"),
        (["--sizes", "--linearisations"], "not allowed with"),
        (["--sizes", "--trees", "t", "--valid-trees", "v", "--rows", "brackets"], "--rows chooses linearisations"),
        (["--sizes", "--trees", "t", "--valid-trees", "v", "--updates", "0"], "--updates 0"),
        (["--sizes", "--trees", "t", "--valid-trees", "v", "--seed", "-1"], "--seed -1"),
        (["--sizes", "--trees", "t", "--valid-trees", "nowhere.mrg"], "nowhere.mrg"),
    ],
)
def test_wrong_input(options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table4", *options, "--out", str(tmp_path / "p")]) in (1, 2)
    assert message in capsys.readouterr().err and not (tmp_path / "p").exists()
