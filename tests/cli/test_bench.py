"""`heed bench`: its numbers are consistent. No test depends on speed."""

import json
import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from heed.bench.rounds import in_turns, percentile, rates
from heed.cli.main import main
from heed.config import ModelConfig
from heed.kernels import bf16_ways
from heed.kernels.library import library
from heed.model.size import update_operations
from heed.vocabulary import Vocabulary
from tests.cli.conftest import TINY_SETTINGS, Done, Trained, heed, letters, write_lines

MODEL = {key: value for key, value in TINY_SETTINGS.items() if key.startswith("model.") or key == "train.batch_tokens"}
SETTINGS = [word for key, value in MODEL.items() for word in ("--set", f"{key}={value}")]


def found(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    assert done.err == ""
    (line,) = done.lines
    result = json.loads(line)
    assert result["machine"]["cores"] >= 1 and result["machine"]["processor"]
    return dict(result)


def same_rates(amount: float, seconds: list[float], rate: dict[str, float]) -> None:
    assert all(one > 0 for one in seconds)
    assert rate == pytest.approx({"best": amount / min(seconds), "median": amount / statistics.median(seconds)})


def fits_the_page(done: Done, *paths: object) -> None:
    """Check that lines fit 80 columns, except those with long file names."""
    assert done.code == 0, done.err
    for line in done.lines:
        assert len(line) <= 80 or any(str(path) in line for path in paths), done.out


# --- training ---------------------------------------------------------------------------------------------


def test_training(corpus: Path) -> None:
    text = ["--source", corpus / "train.src", "--target", corpus / "train.tgt", "--set", "text.vocab_size=300"]
    request = ["bench", "train", *text, *SETTINGS, "--rounds", 3, "--updates", 2]
    result = found(heed(*request, "--json"))
    assert (result["what"], result["preset"], result["batch_tokens"]) == ("train", "tiny", 600)
    assert len(result["seconds"]) == result["rounds"] == 3
    same_rates(result["tokens_a_round"], result["seconds"], result["target_tokens_per_second"])
    reached = result["operations_a_round"] / min(result["seconds"])
    assert result["share_of_products"] == pytest.approx(reached / result["product_operations_per_second"])
    # Two updates of at most 600 padded tokens; a letter is a token, and each line has an end token.
    assert 600 < result["tokens_a_round"] <= 1200
    lines = (corpus / "train.tgt").read_text().splitlines()
    mean = statistics.mean(len(line.split()) + 1 for line in lines)
    assert result["target_tokens_a_pair"] == pytest.approx(mean, rel=0.35)
    epoch = 1_000_000 * result["target_tokens_a_pair"] / result["target_tokens_per_second"]["best"]
    assert (result["epoch_pairs"], result["epoch_seconds"]) == (1_000_000, pytest.approx(epoch))
    assert 10e6 < result["peak_memory_bytes"] < 10e9
    # Weights of the tied embedding, of attention, and the rest: counted by hand for 1 + 1 layers of 16 and 32.
    attention, feed_forward, norm = 4 * 16 * 16, 2 * 16 * 32 + 32 + 16, 2 * 16
    layers = 3 * attention + 2 * feed_forward + 5 * norm
    assert result["parameters"] == result["vocabulary"] * 16 + layers
    fits_the_page(heed(*request))


def test_training_on_built_in_sentences_with_a_config_file(tmp_path: Path) -> None:
    settings = "".join(f"{key} = {value}\n" for key, value in MODEL.items())
    (tmp_path / "mine.toml").write_text(f'preset = "small"\n{settings}')
    result = found(heed("bench", "train", tmp_path / "mine.toml", "--pairs", 300, "--rounds", 1, "--json"))
    assert (result["preset"], result["batch_tokens"], result["updates_a_round"]) == ("small", 600, 2)


def test_operations_are_those_torch_counts() -> None:
    """Compare with torch's count for the same model; torch counts both halves of masked attention, we need one."""
    d, ff, vocab_size, s, t = 32, 64, 50, 7, 5
    model, output = nn.Transformer(d, 4, 2, 3, ff, dropout=0.0, batch_first=True), nn.Linear(d, vocab_size)
    source, target = (torch.randn(1, length, d, requires_grad=True) for length in (s, t))
    mask = nn.Transformer.generate_square_subsequent_mask(t)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        output(model(source, target, tgt_mask=mask)).sum().backward()
    above_the_diagonal = 3 * 2 * 3 * (2 * d) * (t * (t - 1) // 2)
    config = ModelConfig(encoder_layers=2, decoder_layers=3, d_model=d, d_ff=ff, h=4)
    ours = update_operations(config, Vocabulary(vocab_size), np.array([s]), np.array([t]))
    assert ours == counter.get_total_flops() - above_the_diagonal


# --- translating ------------------------------------------------------------------------------------------


def test_translating(trained: Trained, tmp_path: Path) -> None:
    text = write_lines(tmp_path / "in", [*letters(3, 30), "", "  "])
    request = ["bench", "translate", "--model", trained.path, "--input", text, "--rounds", 2, "--single", 7]
    result = found(heed(*request, "--beam", 3, "--json"))
    assert (result["sentences"], result["beam"], result["single"], result["text"]) == (30, 3, 7, str(text))
    sides = result["engines"]
    in_bfloat16 = [] if bf16_ways.chosen() is None else ["native bfloat16"]
    in_c = [] if library() is None else ["torch int8", "native", *in_bfloat16, "native int8"]
    assert list(sides) == ["torch", *in_c]
    for one in sides.values():
        assert len(one["seconds"]) == 2
        same_rates(30, one["seconds"], one["sentences_per_second"])
        same_rates(one["target_tokens"], one["seconds"], one["target_tokens_per_second"])
        assert one["ratio_to_torch"] == pytest.approx(min(sides["torch"]["seconds"]) / min(one["seconds"]))
        for kind in ("greedy", "beam"):
            assert 0 < one["latency_seconds"][kind]["p50"] <= one["latency_seconds"][kind]["p95"] < math.inf
    translated = heed("translate", "--model", trained.path, "--beam", 3, "--json", "--input", text)
    pieces = [len(json.loads(line)["pieces"]) + 1 for line in translated.lines if json.loads(line)["source"].strip()]
    assert sides["torch"]["target_tokens"] == sum(pieces)
    fits_the_page(heed(*request), trained.path, text)


def test_translating_the_runs_own_validation_text(trained: Trained, corpus: Path) -> None:
    result = found(heed("bench", "translate", "--model", trained.path, "--rounds", 1, "--single", 1, "--json"))
    assert (result["text"], result["sentences"]) == (str(corpus / "valid.src"), 12)


# --- preparing --------------------------------------------------------------------------------------------


def test_preparing(corpus: Path) -> None:
    text = ["--source", corpus / "train.src", "--target", corpus / "train.tgt", "--vocab-size", 300]
    result = found(heed("bench", "prepare", *text, "--rounds", 2, "--pairs", 250, "--json"))
    assert result["pairs"] == 250
    seconds = result["seconds"]
    for name in ("heed", "sentencepiece"):
        same_rates(250, seconds[name], result["pairs_per_second"][name])
    assert result["ratio_to_sentencepiece"] == pytest.approx(min(seconds["sentencepiece"]) / min(seconds["heed"]))
    fits_the_page(heed("bench", "prepare", "--pairs", 400, "--vocab-size", 400, "--rounds", 1))


# --- measuring --------------------------------------------------------------------------------------------


def test_sides_take_turns_after_a_warm_up_round() -> None:
    order, progress = [], []
    seconds = in_turns({name: lambda name=name: order.append(name) for name in "ab"}, 2, progress.append)  # type: ignore[misc]
    assert order == ["a", "b"] * 3
    assert progress == [1, 2, 3, 4, 5, 6]
    assert {name: len(taken) for name, taken in seconds.items()} == {"a": 2, "b": 2}


def test_percentiles_and_rates() -> None:
    values = [float(number) for number in range(20, 0, -1)]
    assert (percentile(values, 50), percentile(values, 95), percentile([3.0], 95)) == (10, 19, 3)
    assert rates(12, [4.0, 2.0, 3.0]) == {"best": 6, "median": 4}


# --- invalid options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["train", "tyni"], 2, 'unknown preset "tyni"'),
        (["train", "absent.toml"], 2, "absent.toml: no such file"),
        (["train", "--rounds", "0"], 2, "--rounds 0: must be at least 1"),
        (["train", "--target", "x"], 2, "--target without --source"),
        (["train", "--source", "x"], 2, "x: has no translation"),
        (["prepare", "--source", "absent", "--target", "absent"], 1, "absent: no such file"),
        (["prepare", "--vocab-size", "7"], 2, "--vocab-size 7: must be at least 260"),
        (["translate", "--model", "absent", "--beam", "0"], 2, "--beam 0: must be at least 1"),
        (["translate", "--model", "absent"], 1, "absent: no such run folder"),
    ],
)
def test_invalid_options_are_refused(
    arguments: list[str], code: int, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("heed bench: ") and complaint in err


def test_bench_needs_a_command() -> None:
    done = heed("bench")
    assert done.code == 2 and "train|translate|prepare" in done.err
