"""Train from Python, and check what the caller is told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import heed
from heed.config import ModelConfig, TextConfig
from tests.cli.conftest import letters, write_lines


@pytest.fixture
def config(tmp_path: Path) -> heed.Config:
    lines = letters(1, 60)
    source = write_lines(tmp_path / "a.src", lines)
    target = write_lines(tmp_path / "a.tgt", [line[::-1] for line in lines])
    tiny = heed.preset("tiny")
    return replace(
        tiny,
        model=ModelConfig(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, h=2, max_length=20),
        text=TextConfig(vocab_size=300),
        data=replace(tiny.data, train_source=str(source), train_target=str(target)),
        train=replace(tiny.train, max_steps=4, batch_tokens=200, log_every=1),
    )


def test_each_step_is_told_and_quiet_is_quiet(
    config: heed.Config, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run, told = tmp_path / "run", list[tuple[int, float]]()
    outcome = heed.train(config, run, on_step=lambda step, result: told.append((step, result.loss)), quiet=True)
    assert (outcome.step, outcome.reason) == (4, "finished")
    heed.resume(run, max_steps=6, on_step=lambda step, result: told.append((step, result.loss)), quiet=True)
    assert [step for step, _ in told] == [1, 2, 3, 4, 5, 6]
    assert capfd.readouterr() == ("", "")

    events = [json.loads(line) for line in (run / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    logged = [(event["step"], event["loss"]) for event in events if event["event"] == "step"]
    assert logged == [(step, pytest.approx(loss, abs=1e-4)) for step, loss in told]
    assert {"start", "end"} <= {event["event"] for event in events}

    heed.train(replace(config, train=replace(config.train, max_steps=1)), tmp_path / "loud")
    out, err = capfd.readouterr()
    assert out == "" and "step 1/1" in err


def test_what_on_step_raises_ends_the_training_which_can_go_on(config: heed.Config, tmp_path: Path) -> None:
    def stop(step: int, result: object) -> None:
        if step == 3:
            raise KeyError("enough")

    config = replace(config, train=replace(config.train, save_every=2))
    with pytest.raises(KeyError, match="enough"):
        heed.train(config, tmp_path / "run", on_step=stop, quiet=True)
    seen: list[int] = []
    assert heed.resume(tmp_path / "run", on_step=lambda step, result: seen.append(step), quiet=True).step == 4
    assert seen == [3, 4]


TECHNIQUES = {"consistency": 3.0, "cutoff": 0.1, "head_diversity": 0.5, "noise": 0.5}


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("more", [{}, TECHNIQUES], ids=["plain", "techniques"])
def test_with_two_threads_a_resumed_run_is_the_same_run(
    config: heed.Config, tmp_path: Path, lanes: int, more: dict[str, float]
) -> None:
    """Byte for byte; the tests of the command run with one thread."""

    def stop(step: int, result: object) -> None:
        if step == 3:
            raise KeyError("enough")

    text = replace(config.text, bpe_dropout=0.2 if more else 0.0)
    config = replace(config, text=text, train=replace(config.train, save_every=2, lanes=lanes, **more))
    torch.set_num_threads(2)
    try:
        whole = heed.train(config, tmp_path / "whole", quiet=True).path
        with pytest.raises(KeyError, match="enough"):
            heed.train(config, tmp_path / "broken", on_step=stop, quiet=True)
        resumed = heed.resume(tmp_path / "broken", quiet=True).path
    finally:
        torch.set_num_threads(1)
    names = [f"checkpoints/step-00000004/{group}.safetensors" for group in ("model", "optimizer")]
    assert [(resumed / name).read_bytes() for name in names] == [(whole / name).read_bytes() for name in names]


def test_settings_are_checked_before_anything_is_made(config: heed.Config, tmp_path: Path) -> None:
    with pytest.raises(heed.ConfigError, match="train.max_steps = -1"):
        heed.train(replace(config, train=replace(config.train, max_steps=-1)), tmp_path / "run")
    with pytest.raises(TypeError, match=r"config must be a heed.Config, .* not \{'train'"):
        heed.train({"train": {"max_steps": 5}}, tmp_path / "run")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()
