"""Sections 5 and 6: the schedule, the cost, averaging, beam search, positions and norms."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from heed.cli.main import main
from heed.config import DataConfig
from heed.errors import ConfigError, DataError
from heed.evaluate import Bleu, score
from heed.loading import load
from heed.paper import norm, positions, table3
from heed.paper.beam import numbers
from heed.paper.cost import TRAININGS, by_the_rule
from heed.paper.rows import RowPlan, train_rows
from heed.paper.table3 import Scale
from heed.paper.texts import texts_in
from heed.presets import preset
from heed.text.lines import read_lines
from heed.training.schedule import learning_rate
from tests.paper.conftest import Texts


def values(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)["values"]


def fits(text: str, *paths: Path) -> bool:
    return all(len(line) <= 80 for line in text.splitlines() if not any(str(path) in line for path in paths))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, grammar: list[tuple[str, str]]) -> Path:
    """A run with three checkpoints and 20 validation pairs."""
    folder = tmp_path_factory.mktemp("sections")
    for name, pairs in (("train", grammar[:240]), ("val", grammar[240:])):
        for side, language in enumerate(("en", "de")):
            (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    config = preset("tiny")
    config = replace(
        config,
        model=replace(config.model, encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, h=2, max_length=40),
        text=replace(config.text, vocab_size=400),
        data=DataConfig(
            **{
                f"{part}_{side}": str(folder / f"{name}.{language}")
                for part, name in (("train", "train"), ("valid", "val"))
                for side, language in (("source", "en"), ("target", "de"))
            }
        ),
        train=replace(
            config.train,
            max_steps=9,
            batch_tokens=300,
            validate_every=9,
            save_every=3,
            average_last=1,
            patience=0,
            lanes=1,
            log_every=1,
        ),
    )
    train_rows([RowPlan("run", config)], folder)
    return folder / "run"


def test_the_schedule(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "schedule", "--model", str(run), "--out", str(tmp_path)]) == 0
    assert fits(capsys.readouterr().out)
    assert main(["paper", "schedule", "--model", str(run), "--out", str(tmp_path), "--json"]) == 0
    base, big, ours = values(capsys)["rows"]
    # (512 * 4000)^-0.5 and (1024 * 4000)^-0.5; the falling arm gives 512^-0.5 * 100000^-0.5 at the end.
    assert (base["peak"], big["peak"], base["at the end"]) == ("6.99e-04", "4.94e-04", "1.40e-04")
    assert (ours["model"], ours["d_model"], ours["warm-up"]) == ("run", "16", "2,000")
    assert "Equation (3)" in (tmp_path / "report.html").read_text()


def test_the_rule_gives_the_printed_operations(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {name: one.operations for name, one in TRAININGS.items()} == {"base": 3.3e18, "big": 2.3e19}
    assert float(f"{by_the_rule(12 * 3600, 8, 9.5):.1e}") == 3.3e18
    assert main(["paper", "cost", "--model", str(run), "--teraflops", "0.01", "--out", str(tmp_path)]) == 0
    assert fits(capsys.readouterr().out, run)
    assert main(["paper", "cost", "--model", str(run), "--out", str(tmp_path), "--json"]) == 0
    rows = values(capsys)["rows"]
    assert all(row["printed"] == row["rule"] for row in rows[:2])
    # 9 updates of 300 tokens, at least 6 operations per weight and token; embeddings are only looked up on one side.
    assert 9 * 300 * 6 * 5_000 < float(rows[2]["counted"]) < 9 * 300 * 6 * 40_000
    assert main(["paper", "cost", "--teraflops", "1"]) == 2
    assert "--model" in capsys.readouterr().err


def test_a_model_that_is_not_a_run_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for experiment in ("schedule", "cost", "beam"):
        assert main(["paper", experiment, "--model", "nowhere", "--out", str(tmp_path)]) == 1
        assert "nowhere: no such run folder" in capsys.readouterr().err
    assert main(["paper", "schedule", "--model", "en-de", "--out", str(tmp_path)]) == 0
    assert "en-de" in capsys.readouterr().out
    assert main(["paper", "cost", "--model", "en-de", "--out", str(tmp_path)]) == 1
    assert "has no update of a training" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.touch()
    for out in (file, file / "below"):
        assert main(["paper", "beam", "--model", "nowhere", "--out", str(out)]) == 2
        assert f"--out {out}: {file} is a file; name a folder" in capsys.readouterr().err


def test_averages_of_the_last_checkpoints(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "averaging", "--model", str(run), "--out", str(tmp_path)]) == 0
    assert fits(capsys.readouterr().out, run, run.parent)
    assert main(["paper", "averaging", "--model", str(run), "--out", str(tmp_path), "--json"]) == 0
    rows = values(capsys)["rows"]
    assert [(row["averaged"], row["from_step"]) for row in rows] == [(1, 9), (2, 6), (3, 3)]
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    last = next(one for one in reversed(events) if one["event"] == "validation")
    assert rows[0]["perplexity"] == pytest.approx(last["perplexity"], rel=1e-4)
    assert len({row["perplexity"] for row in rows}) == 3


def test_beams_and_penalties(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["paper", "beam", "--model", str(run), "--beams", "1,3", "--alphas", "0,2", "--sentences", "8"]
    assert main([*asked, "--out", str(tmp_path)]) == 0
    assert fits(capsys.readouterr().out, run, run.parent)
    assert main([*asked, "--out", str(tmp_path), "--json"]) == 0
    rows = values(capsys)["rows"]
    assert [(row["beam"], row["alpha"]) for row in rows] == [(1, 0), (1, 2), (3, 0), (3, 2)]
    sources, references = (list(read_lines(str(run.parent / f"val.{side}")))[:8] for side in ("en", "de"))
    texts = [one.text for one in load(run).translate(sources, beam=3, alpha=2.0, copy=False)]
    assert rows[3]["bleu"] == score(Bleu(), texts, references, resamples=0).value
    assert main([*asked[:4], "--beams", "two", "--out", str(tmp_path)]) == 2
    assert "--beams two" in capsys.readouterr().err
    assert main([*asked[:4], "--beams", "2.7", "--out", str(tmp_path)]) == 2
    assert "whole numbers" in capsys.readouterr().err
    assert main([*asked[:4], "--sentences", "-2", "--out", str(tmp_path)]) == 2
    assert "--sentences -2: must be at least 1" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="negative"):
        numbers("1,-2", "--alphas")


def test_a_model_without_text_to_measure_on(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "beam", "--model", "en-de"]) == 2
    assert "--source and --reference" in capsys.readouterr().err
    assert main(["paper", "beam", "--model", str(run), "--source", "x"]) == 2
    assert "belong together" in capsys.readouterr().err


@pytest.fixture
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(table3.SCALES, "tiny", Scale(16, 6, 4, 300, 4, 400))


def test_positions_beyond_the_trained_length(
    texts: Texts, small_scale: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["paper", "positions", "--data", str(texts.folder), "--longest", "8", "--out", str(tmp_path / "p")]
    assert main(asked) == 0
    assert fits(capsys.readouterr().out)
    assert main([*asked, "--json"]) == 0
    found = values(capsys)
    pairs = list(zip(*(read_lines(str(texts.folder / f"val.{side}")) for side in ("en", "de")), strict=True))
    within = sum(max(len(a.split()), len(b.split())) <= 8 for a, b in pairs)
    assert found["groups"][0] == {"words": [1, 8], "pairs": within}
    assert sum(group["pairs"] for group in found["groups"]) == len(pairs)
    assert found["scores"].keys() == {"sinusoidal", "learned"}
    short = list(read_lines(str(tmp_path / "p" / "positions-tiny-8" / "train-8.source")))
    assert 0 < len(short) < 240 and max(len(line.split()) for line in short) <= 8


def test_ranges_of_lengths_meet() -> None:
    found = positions.buckets(12)
    assert found[:3] == [(1, 12), (13, 18), (19, 24)]
    assert all(a[1] + 1 == b[0] for a, b in zip(found, found[1:], strict=False))


def test_too_few_short_sentences(texts: Texts, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="raise --longest"):
        positions.short_texts(texts_in(texts.folder), 2, tmp_path)


def test_norms_differ_in_norm_and_rate_only() -> None:
    found = {plan.name: plan.config for plan in norm.plans(table3.SCALES["tiny"], 2, DataConfig())}
    assert len(found) == 2 * 3 * 2
    warmup = found["post-on-seed1"].train.warmup_steps
    rates = {
        name: [learning_rate(step, 128, one.train.warmup_steps, one.train.learning_rate_factor) for step in (1, warmup)]
        for name, one in found.items()
    }
    on, peak, off = (rates[f"post-{name}-seed1"] for name in ("on", "peak", "off"))
    assert peak[0] == pytest.approx(on[1])  # starts where the warm-up would end
    assert off[1] == pytest.approx(on[1]) and off[0] > on[1]  # the same curve, without its rise
    assert found["pre-on-seed2"].model == replace(found["post-on-seed1"].model, norm="pre")
    assert found["pre-on-seed2"].train == replace(found["post-on-seed1"].train, seed=2)


def test_norms_from_text_to_table(
    texts: Texts, small_scale: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["paper", "norm", "--data", str(texts.folder), "--seeds", "1", "--out", str(tmp_path / "p")]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert fits(out) and "row 6/6 pre-off-seed1" in err
    assert len(re.findall(r"^(post|pre ) +(on|peak|off) ", out, re.MULTILINE)) == 6
    assert main([*asked, "--steps", "3", "--json"]) == 0  # beside the longer ones
    assert [row["steps"] for row in values(capsys)["rows"]] == [3] * 6
    assert main([*asked, "--scale", "paper"]) == 2
    assert "choose from: tiny, small" in capsys.readouterr().err
    assert main([*asked, "--steps", "2"]) == 2
    assert "--steps 2: must be at least 3" in capsys.readouterr().err


def test_fewer_steps_keep_the_share_of_the_warm_up() -> None:
    shorter = table3.shorter(table3.SCALES["small"], 600)
    assert (shorter.max_steps, shorter.warmup_steps) == (600, 100)
    assert replace(shorter, max_steps=24_000, warmup_steps=4_000) == table3.SCALES["small"]
