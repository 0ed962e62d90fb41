"""Table 2: what is printed, what each budget allows, and rows that are trained and measured once."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heed.cli.main import main
from heed.config import DataConfig
from heed.data.store import PairStore
from heed.errors import ConfigError
from heed.model.build import model_class
from heed.paper import table2
from heed.paper.report import lines
from heed.paper.rows import RowResult, operations
from heed.paper.speed import Speed
from heed.presets import preset
from heed.training.schedule import learning_rate
from heed.vocabulary import Vocabulary
from tests.paper.conftest import Texts


def test_the_published_rows_are_the_papers() -> None:
    """As in the paper's table; FLOPs of the base model by its own rule: 12 hours on 8 P100 at 9.5 TFLOPS."""
    rows = {row.model: row for row in table2.PUBLISHED}
    assert len(rows) == 10
    assert (rows["ByteNet"].en_de, rows["ByteNet"].en_fr) == (23.75, None)
    gnmt, convs2s = rows["GNMT + RL"], rows["ConvS2S"]
    assert (gnmt.en_de, gnmt.en_fr, gnmt.flops_en_de, gnmt.flops_en_fr) == (24.6, 39.92, 2.3e19, 1.4e20)
    assert (convs2s.en_de, convs2s.en_fr, convs2s.flops_en_de, convs2s.flops_en_fr) == (25.16, 40.46, 9.6e18, 1.5e20)
    base, big = rows["Transformer (base)"], rows["Transformer (big)"]
    assert (base.en_de, base.en_fr, big.en_de, big.en_fr) == (27.3, 38.1, 28.4, 41.8)
    by_rule = 12 * 3600 * 8 * table2.PAPER_TFLOPS["P100"] * 1e12
    assert by_rule == pytest.approx(base.flops_en_de, rel=0.01)
    assert 3.5 * 24 * 3600 * 8 * 9.5e12 == pytest.approx(big.flops_en_de, rel=0.01)


@pytest.mark.parametrize("row", table2.BASELINES)
def test_rows_are_their_presets_with_a_peak_of_their_own(row: str) -> None:
    config = table2.row_config(row, "tiny", 400, DataConfig())
    assert config.model == preset(table2.BASELINES[row].preset).model
    train = config.train
    peak = learning_rate(train.warmup_steps, config.model.d_model, train.warmup_steps, train.learning_rate_factor)
    assert train.warmup_steps == 100 and peak == pytest.approx(table2.BASELINES[row].peak)
    small = table2.row_config(row, "small", 400, DataConfig())
    assert small.model.d_model == 2 * config.model.d_model and small.text.vocab_size == 16_000


def test_rows_by_name() -> None:
    assert table2.chosen_rows("") == ["transformer", "gnmt", "gru", "convs2s"]
    assert table2.chosen_rows("bytenet, gru") == ["transformer", "gru", "bytenet"]
    with pytest.raises(ConfigError, match='unknown row "gntm"; did you mean "gnmt"'):
        table2.chosen_rows("gntm")


def test_the_best_trial_has_the_lowest_perplexity() -> None:
    plans = table2.trials("gnmt", "tiny", 400, DataConfig())
    names = ["0.5-dropout0.1", "0.5-dropout0.3", "1-dropout0.1", "1-dropout0.3", "2-dropout0.1", "2-dropout0.3"]
    assert [one.name for one in plans] == [f"gnmt-try-peak{name}" for name in names]
    assert [one.config.model.dropout for one in plans] == [0.1, 0.3] * 3 and plans[0].config.train.max_steps == 100
    for best, expected in ((0, (0.5, 0.1)), (3, (1.0, 0.3)), (4, (2.0, 0.1))):
        results = [
            RowResult(one.name, Path(), 1, 1, 1, 1.0, 3.0 if i == best else 9.0, 0.0, 0.0)
            for i, one in enumerate(plans)
        ]
        assert table2.best_trial(results) == expected


@pytest.fixture
def made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the rows so small that they train in seconds."""
    shapes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16}

    def smaller(name: str) -> object:
        config = preset(name)
        heads = {"d_ff": 32, "h": 2} if config.model.kind == "transformer" else {}
        return replace(config, model=replace(config.model, **shapes, **heads))

    monkeypatch.setattr(table2, "preset", smaller)
    monkeypatch.setitem(table2.SCALES, "tiny", table2.Scale(1, 8, 300, 400))


def test_rows_are_trained_to_both_budgets_once(
    texts: Texts, tmp_path: Path, made_small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["paper", "table2", "--data", str(texts.folder), "--out", str(tmp_path / "out"), "--steps", "8"]
    assert main([*arguments, "--rows", "gnmt,convs2s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]
    folder = tmp_path / "out" / "table2-tiny"
    runs = {path.name for path in folder.iterdir() if (path / "config.json").exists()}
    assert runs == {"transformer", "gnmt-flops", "gnmt-minutes", "convs2s-flops", "convs2s-minutes"}
    ours = {(one["row"], one["budget"]): one for one in found["ours"]}
    assert len(ours) == 6
    transformer = ours["transformer", "FLOPs"]
    assert transformer["steps"] == 8 and transformer == {**ours["transformer", "minutes"], "budget": "FLOPs"}
    for row in ("gnmt", "convs2s"):
        # Equal operations, and equal time by the speed of the first training, up to half an update.
        by_flops, by_minutes = ours[row, "FLOPs"], ours[row, "minutes"]
        each = by_flops["operations"] / by_flops["steps"]
        assert abs(by_flops["operations"] - transformer["operations"]) <= each / 2 + 1
        seconds = by_flops["seconds"] / by_flops["steps"]
        assert by_minutes["steps"] == max(1, round(transformer["seconds"] / seconds))
    store = PairStore.open(folder / "text")
    config = table2.row_config("gnmt", "tiny", 8, DataConfig())
    # One epoch, pair by pair.
    total = sum(
        model_class(config.model).update_operations(
            config.model, store.tokenizer.vocabulary, np.array([s]), np.array([t])
        )
        for s, t in zip(store.source.lengths.tolist(), store.target.lengths.tolist(), strict=True)
    )
    batches = json.loads((folder / "gnmt-flops" / "events.jsonl").read_text().splitlines()[0])["batches_per_epoch"]
    gnmt = ours["gnmt", "FLOPs"]
    assert gnmt["operations"] == pytest.approx(gnmt["steps"] * total / batches)
    assert gnmt["flops_by_rule"] == pytest.approx(gnmt["seconds"] * gnmt["rate"])
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert main([*arguments, "--rows", "gnmt,convs2s"]) == 0
    printed = capsys.readouterr()
    assert max(map(len, printed.out.splitlines())) <= 80
    assert "Ours, equal minutes" in printed.out and "translating" not in printed.err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before
    assert "<svg" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_tuning_lists_every_trial(
    texts: Texts, tmp_path: Path, made_small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["paper", "table2", "--data", str(texts.folder), "--out", str(tmp_path / "out"), "--steps", "4"]
    assert main([*arguments, "--rows", "gru", "--tune", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    tried = found["values"]["trials"]
    assert [one["name"].partition("-")[0] for one in tried] == ["transformer"] * 6 + ["gru"] * 6
    best = min((one for one in tried if one["name"].startswith("gru")), key=lambda one: one["perplexity"])
    config = json.loads((tmp_path / "out" / "table2-tiny" / "gru-flops" / "config.json").read_text())
    assert config["model"]["dropout"] == float(best["name"].rpartition("dropout")[2])


def test_the_plan_says_what_a_table_costs(made_small: None, capsys: pytest.CaptureFixture[str]) -> None:
    speeds = {"transformer": Speed(1e-6), "gru": Speed(2e-6)}
    part = table2.plan_part(["transformer", "gru"], "tiny", 100, speeds)
    (transformer, gru), config = part.values["rows"], table2.row_config("gru", "tiny", 100, DataConfig())
    # The same operations at half the speed: half of the updates fit into the time.
    assert transformer["steps"] == transformer["steps in equal time"] == "100"
    assert int(gru["steps in equal time"]) == pytest.approx(int(gru["steps"]) / 2, abs=1)
    assert gru["M"] == f"{model_class(config.model).count_parameters(config.model, Vocabulary(400)) / 1e6:.1f}"
    budget = 100 * operations(table2.row_config("transformer", "tiny", 100, DataConfig())) * 1e-6 / 3600
    assert part.values["hours"] == pytest.approx(budget + 2 * budget + budget, rel=0.05)
    assert (
        max(
            map(
                len,
                lines(
                    table2.plan_part(
                        list(table2.BASELINES), "small", 10**6, dict.fromkeys(table2.BASELINES, Speed(1e-9))
                    )
                ),
            )
        )
        <= 80
    )
    assert main(["paper", "table2", "--dry-run", "--rows", "gru", "--steps", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "table2-plan"


def test_without_text_the_published_rows_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table2"]) == 0
    out = capsys.readouterr().out
    assert "ConvS2S ensemble" in out and "7.7e19" in out and "Ours" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert lines(table2.published_part())[0] in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scale", "tinny"], 'did you mean "tiny"'),
        (["--steps", "2"], "--steps 2: must be at least 4"),
        (["--steps", "10"], "no text to train on"),
        (["--test-source", "x"], "--test-source and --test-target belong together"),
        (["--data", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "table2", *arguments]) != 0
    assert message in capsys.readouterr().err
