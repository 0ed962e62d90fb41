"""A parser learns a small grammar from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_parse import treebank

pytestmark = pytest.mark.slow


def heed(*arguments: object) -> str:
    command = [sys.executable, "-m", "heed", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("trees", "kind"), [("in-order", "follower"), ("top-down", "follower"), ("brackets", "transformer")]
)
def test_learns_a_grammar(tmp_path: Path, trees: str, kind: str) -> None:
    for name, size, seed in (("train", 1000, 1), ("dev", 40, 2), ("test", 100, 3)):
        (tmp_path / f"{name}.mrg").write_text(treebank(size, seed), encoding="utf-8")
    shape = ["encoder_layers=1", "decoder_layers=1", "d_model=64", "d_ff=128", "dropout=0.0", f"kind={kind}"]
    training = ["max_steps=300", "batch_tokens=600", "warmup_steps=40", "learning_rate_factor=0.5"]
    training += ["validate_every=100", "lanes=1"]
    settings = [f"--set=model.{one}" for one in shape] + [f"--set=train.{one}" for one in training]
    settings += ["--set=text.vocab_size=350", f"--set=text.trees={trees}", "--set=decode.beam=3"]
    files = ("--trees", tmp_path / "train.mrg", "--valid-trees", tmp_path / "dev.mrg")
    heed("train", "--preset", "parsing", *files, "--out", tmp_path / "p", *settings)
    gold, parsed = tmp_path / "test.mrg", tmp_path / "parsed.mrg"
    heed("parse", "--model", tmp_path / "p", "--from-trees", gold, "--output", parsed)
    scores = json.loads(heed("score", "--trees", gold, parsed, "--json"))["every_sentence"]["all"]
    assert scores["f1"] > 90
