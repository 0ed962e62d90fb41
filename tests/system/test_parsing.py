"""A parser learns a small grammar from the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_parse import treebank

pytestmark = pytest.mark.slow


def heed(*arguments: object) -> str:
    command = [sys.executable, "-m", "heed", *map(str, arguments)]
    # The model is small: threads that wait for each other on busy cores take several times as long as one.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.mark.parametrize(
    ("trees", "kind", "layers", "steps"),
    # Without the next word's vector, the decoder must learn to find the word by attention.
    [("in-order", "follower", 1, 200), ("top-down", "follower", 1, 200), ("brackets", "transformer", 2, 500)],
)
def test_learns_a_grammar(tmp_path: Path, trees: str, kind: str, layers: int, steps: int) -> None:
    for name, size, seed in (("train", 1000, 1), ("dev", 40, 2), ("test", 100, 3)):
        (tmp_path / f"{name}.mrg").write_text(treebank(size, seed), encoding="utf-8")
    shape = [
        f"encoder_layers={layers}",
        f"decoder_layers={layers}",
        "d_model=64",
        "d_ff=128",
        "dropout=0.0",
        f"kind={kind}",
    ]
    training = [f"max_steps={steps}", "batch_tokens=600", "warmup_steps=100", "learning_rate_factor=0.3"]
    training += [f"validate_every={steps}", "lanes=1"]
    settings = [f"--set=model.{one}" for one in shape] + [f"--set=train.{one}" for one in training]
    settings += ["--set=text.vocab_size=350", f"--set=text.trees={trees}", "--set=decode.beam=3"]
    files = ("--trees", tmp_path / "train.mrg", "--valid-trees", tmp_path / "dev.mrg")
    heed("train", "--preset", "parsing", *files, "--out", tmp_path / "p", *settings)
    gold, parsed = tmp_path / "test.mrg", tmp_path / "parsed.mrg"
    heed("parse", "--model", tmp_path / "p", "--from-trees", gold, "--output", parsed)
    scores = json.loads(heed("score", "--trees", gold, parsed, "--json"))["every_sentence"]["all"]
    assert scores["f1"] > 90
