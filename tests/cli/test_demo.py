import argparse
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import heed.demo.grammar
from heed.cli import demo
from heed.config import Config
from heed.presets import preset
from heed.settings import build_config
from tests.cli.conftest import TINY_SETTINGS, write_lines


def test_the_demo_trains_the_tiny_model(tmp_path: Path) -> None:
    config = demo.demo_config(tmp_path, seed=3)
    assert config.preset == "tiny"
    tiny = preset("tiny").model
    assert (config.model.encoder_layers, config.model.decoder_layers) == (tiny.encoder_layers, tiny.decoder_layers)
    assert (config.model.d_model, config.model.d_ff, config.model.h) == (tiny.d_model, tiny.d_ff, tiny.h)
    assert config.train.seed == 3
    assert Path(config.data.train_source).parent == tmp_path


def interrupt_at_step(run: Path, step: int) -> threading.Thread:
    """Press Ctrl-C once the training in a run folder has reached a step."""

    def wait() -> None:
        while not (run / "events.jsonl").exists() or f'"step": {step},' not in (run / "events.jsonl").read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_an_interrupted_demo_is_resumed_and_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the whole demo, on less text and with a small model."""
    data = tmp_path / "demo-data"
    data.mkdir()
    made = heed.demo.grammar.corpus(train=300, valid=10, test=20)
    for name, pairs in (("train", made.train), ("valid", made.valid), ("test", made.test)):
        write_lines(data / f"{name}.en", [pair.source for pair in pairs])
        write_lines(data / f"{name}.de", [pair.target for pair in pairs])
    changes = {key.split(".")[1]: value for key, value in TINY_SETTINGS.items() if key.startswith("train.")}
    changes |= {"log_every": 1, "max_steps": 100, "validate_every": 100}
    shape = {key.split(".")[1]: value for key, value in TINY_SETTINGS.items() if key.startswith("model.")}

    def small(data: Path, seed: int, whole: Callable[[Path, int], Config] = demo.demo_config) -> Config:
        return build_config(whole(data, seed), ("test", {"train": changes, "model": shape}))

    monkeypatch.setattr(demo, "demo_config", small)
    args = argparse.Namespace(folder=tmp_path, seed=1)
    thread = interrupt_at_step(tmp_path / "demo", 5)
    assert demo.run(args) == 130
    thread.join()
    first = capsys.readouterr()
    assert "held-out" not in first.out and "the same command" in first.err

    assert demo.run(argparse.Namespace(folder=tmp_path, seed=2)) == 0  # another training
    assert (tmp_path / "demo-2").exists()
    capsys.readouterr()

    assert demo.run(args) == 0
    second = capsys.readouterr()
    assert "resuming at step" in second.err
    assert not (tmp_path / "demo-3").exists()
    for words in ("20 held-out sentences", "BLEU", "Five sentences", "What the decoder looks at", "What next"):
        assert words in second.out
    assert f"--model {tmp_path / 'demo'}\n" in second.out

    config = small(data, 1)
    assert demo._run_folder(tmp_path / "demo", config) == (tmp_path / "demo-3", True)  # both have ended


def test_defaults() -> None:
    parser = argparse.ArgumentParser()
    demo.configure(parser)
    args = parser.parse_args([])
    assert (args.folder, args.seed) == (Path("runs"), 1)
