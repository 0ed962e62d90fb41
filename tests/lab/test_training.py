"""Watching runs: one that trains, one without a checkpoint, one that is deleted, one that cannot be read."""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from heed.durable import write_json
from heed.inside.words import by_words, side_of
from heed.loading import load
from heed.text.tokenizer import Tokenizer
from tests.cli.conftest import corpus, settings, started, train_arguments
from tests.lab.conftest import Open, RunningLab, make_run, running_lab

__all__ = ["corpus", "train_arguments"]


def until(condition: Callable[[], Any], seconds: float = 90) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.2)
    return found


def test_frames_are_the_attention_of_each_checkpoint(lab: RunningLab, run: Path) -> None:
    told = until(lambda: (found := lab.get("/api/watch/0").json)["steps"] == [5, 10] and found)
    assert told["state"] == "finished" and told["curves"]["loss"] == [[5, 6.5], [10, 4.0]]
    assert told["curves"]["BLEU"] == [[10, 12.5]]
    first = told["frames"][0]
    translator = load(run, checkpoint="step-00000005")
    text, reference = "the lazy dog jumps", "der faule Hund springt"
    (expected,) = translator.translate([text], beam=1, copy=False)
    assert told["sentences"][1]["text"] == text and first["translations"][1] == expected.text
    tokenizer = translator.tokenizer
    source, target = (side_of(tokenizer, ids) for ids in tokenizer.encode_ids([text, reference]))
    captured = forced_attention(translator, source.ids[:-1], target.ids[:-1])
    import base64

    packed = first["attention"][1]
    found = np.frombuffer(base64.b64decode(packed["bytes"]), np.uint8).reshape(packed["shape"]) / 255
    for layer in range(2):
        for head in range(2):
            by_word = by_words(captured[layer, head], target.words, source.words)
            np.testing.assert_allclose(found[layer, head], by_word, atol=0.5 / 255 + 1e-6)
    again = lab.get("/api/watch/0?known=5.10").json
    assert again["frames"] == [] and again["steps"] == [5, 10]


def forced_attention(translator: Any, source: list[int], target: list[int]) -> np.ndarray:
    import torch

    from heed.model.transformer import AttentionWeights

    vocabulary, captured = translator.tokenizer.vocabulary, AttentionWeights()
    with torch.inference_mode():
        translator.models[0](
            torch.tensor([[*source, vocabulary.end]]), torch.tensor([[vocabulary.start, *target]]), captured
        )
    return np.stack([one[0].numpy() for one in captured.cross])


def test_the_film_strip_moves_with_the_slider(lab: RunningLab, open_lab: Open, run: Path) -> None:
    tab = open_lab(lab, "view=training")
    tab.wait_for_function("() => document.querySelectorAll('.frame').length === 2", timeout=60_000)
    texts = []
    for step in (5, 10):
        tab.focus("#frame")
        tab.keyboard.press("Home" if step == 5 else "End")
        tab.wait_for_selector(f".frame.chosen[data-step='{step}']")
        assert f"step {step}" in tab.inner_text(".slider")
        expected = load(run, checkpoint=f"step-{step:08d}").translate(["the quick fox"], beam=1, copy=False)[0].text
        texts.append(tab.eval_on_selector("#then .word", "one => one.textContent"))
        assert texts[-1] == expected
        assert tab.evaluate("document.activeElement.id") == "frame"
    assert texts[0] != texts[1]


def test_a_run_is_watched_while_it_trains(train_arguments: list[object], tmp_path: Path, open_lab: Open) -> None:
    out = tmp_path / "run"
    with started(
        *train_arguments,
        *("--out", out, *settings(train__max_steps=100_000, train__save_every=20, train__validate_every=40)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as training:
        until(lambda: (out / "config.json").exists())
        with running_lab(out) as own:
            tab = open_lab(own, "view=training&text=a+b+c", refusals=True)
            tab.wait_for_function("() => document.querySelectorAll('.frame').length >= 1", timeout=90_000)
            assert "running" in tab.inner_text("#run-state")
            n = tab.locator(".frame").count()
            tab.wait_for_function(f"() => document.querySelectorAll('.frame').length > {n}", timeout=90_000)
            tab.wait_for_selector(".curve:has-text('BLEU')", timeout=90_000)
            training.send_signal(signal.SIGINT)
            training.wait(60)
            tab.wait_for_selector("#run-state:has-text('interrupted')", timeout=60_000)
            shutil.rmtree(out)
            tab.wait_for_selector("main [role=alert]:has-text('was deleted')", timeout=60_000)
            assert tab.locator(".frame").count() > n  # what was computed before is still there
            tab.click("#tab-attention")
            tab.fill("#source", "b c d")
            tab.wait_for_selector("header [role=alert]:has-text('was deleted while the lab was open')", timeout=60_000)
            tab.close()
            code, err = own.stop()
            assert code == 130 and f"{out}: was deleted" in err and "Traceback" not in err


def test_a_run_without_a_checkpoint_is_shown_as_soon_as_there_is_one(
    tmp_path: Path, tokenizer: Tokenizer, valid: Path, open_lab: Open
) -> None:
    run = make_run(tmp_path / "run", tokenizer, valid)
    shutil.move(run.path / "checkpoints", tmp_path / "kept")
    (run.path / "best.json").unlink()
    (run.path / "checkpoints").mkdir()
    with running_lab(run.path) as own:
        tab = open_lab(own, "text=the+fox", refusals=True)
        assert "has no checkpoint yet" in tab.inner_text("header [role=alert]")
        shutil.rmtree(run.path / "checkpoints")
        shutil.move(tmp_path / "kept", run.path / "checkpoints")
        expected = load(run.path).translate(["the fox"], copy=False)[0].text
        tab.wait_for_function(
            "(text) => document.getElementById('translation').value === text", arg=expected, timeout=60_000
        )
        assert tab.is_hidden("header [role=alert]")
        tab.close()
        _, err = own.stop()
    assert "has no checkpoint yet" in err


def test_a_run_of_another_kind_is_named(tmp_path: Path, tokenizer: Tokenizer, valid: Path, open_lab: Open) -> None:
    run = make_run(tmp_path / "run", tokenizer, valid)
    config = json.loads((run.path / "config.json").read_text(encoding="utf-8"))
    config["model"]["kind"] = "recurrent"
    write_json(run.path / "config.json", {key: value for key, value in config.items() if key != "checksum"})
    with running_lab(run.path) as own:
        tab = open_lab(own, "text=the+fox", refusals=True)
        assert "recurrent" in tab.inner_text("header [role=alert]")
        tab.close()
        _, err = own.stop()
    assert "recurrent" in err and "Traceback" not in err


def test_a_model_without_heads_shows_what_it_has(tokenizer: Tokenizer, run: Path) -> None:
    from heed.config import DecodeConfig
    from heed.engines.pytorch import PyTorchEngine
    from heed.errors import DecodeError
    from heed.lab.answers import inspected, why
    from heed.lab.asked import asked, asked_why
    from heed.lab.models import Models, Opened
    from heed.lab.strip import _fixed_sentences, _frame
    from tests.conftest import small_config
    from tests.model.test_interface import Gru

    engine = PyTorchEngine([Gru(small_config(), tokenizer.vocabulary).eval()], tokenizer, DecodeConfig())

    class OneGru(Models):
        def open(self, number: int, checkpoint: str) -> Opened:
            return Opened("a recurrent model", run, "best", engine)

    models = OneGru([run])
    question = {"client": "a", "text": "the fox", "parts": ["measures", "walk"]}
    answer = inspected(models, asked(question), lambda: False)
    summary = json.loads(answer[4 : 4 + int.from_bytes(answer[:4], "little")])
    assert summary["beam"]["nodes"] and "occlusion.change" in summary["arrays"] and summary["walk"]["layers"] == {}
    body = {**question, "before": [], "this": [9], "that": [11]}
    found = why(models, asked(body), asked_why(body), lambda: False)
    assert len(found["parts"]) == 2
    with pytest.raises(DecodeError, match="has no attention heads"):
        inspected(models, asked({**question, "switches": {"positions": False}}), lambda: False)
    models.measure_roles(models.open(0, "best"))  # there are none to measure
    frame = _frame(engine, 5, _fixed_sentences(run, engine))
    assert len(frame.translations) == 3 and frame.attention == []
