"""heed learns: from the command line, on real files, with a fresh seed each time (it is printed)."""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def heed(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "heed", *map(str, arguments)], check=True, capture_output=True, text=True, **more
    )


TASKS = {"copy": lambda letters: letters, "reverse": lambda letters: letters[::-1], "sort": sorted}


_TRANSFORMER = ["d_ff=128", "h=4", "norm=pre"]
PRESETS = {"tiny": _TRANSFORMER, "gnmt-tiny": [], "gru-tiny": [], "convs2s-tiny": [], "bytenet-tiny": []}


@pytest.mark.parametrize(
    ("task", "preset"),
    [
        *((task, "tiny") for task in TASKS),
        *((task, other) for other in list(PRESETS)[1:] for task in ("copy", "reverse")),
    ],
)
def test_learns_a_task_on_letters(task, preset, tmp_path: Path):
    seed = time.time_ns() % 10**6
    print(f"seed {seed}")
    draw = random.Random(seed)
    lines = {"".join(draw.choices("abcdefghij", k=draw.randint(3, 8))) for _ in range(9000)}
    pairs = [(" ".join(line), " ".join(TASKS[task](line))) for line in sorted(lines)]
    draw.shuffle(pairs)
    for name, part in (("train", pairs[400:]), ("valid", pairs[:200]), ("test", pairs[200:400])):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in part), encoding="utf-8")
    shape = ["encoder_layers=2", "decoder_layers=2", "d_model=64", "dropout=0.0", *PRESETS[preset]]
    training = ["max_steps=1200", "batch_tokens=2000", "warmup_steps=300", "learning_rate_factor=1.0", f"seed={seed}"]
    training += ["validate_every=600", "save_every=50"]
    heed(
        *("train", "--source", tmp_path / "train.tsv", "--valid-source", tmp_path / "valid.tsv"),
        *("--out", tmp_path / "run", "--preset", preset, "--set", "text.vocab_size=300"),
        *(word for setting in shape for word in ("--set", f"model.{setting}")),
        *(word for setting in training for word in ("--set", f"train.{setting}")),
    )
    found = heed("translate", "--model", tmp_path / "run", input="".join(f"{a}\n" for a, _ in pairs[200:400]))
    right = sum(one == b for one, (_, b) in zip(found.stdout.splitlines(), pairs[200:400], strict=True))
    assert right / 200 > 0.9


@pytest.mark.timeout(900)
def test_the_demo_reaches_90_bleu_held_out(tmp_path: Path):
    shown = heed("demo", "--folder", tmp_path / "runs").stdout
    assert float(re.search(r"version:\S+ = ([\d.]+)", shown)[1]) >= 90
    assert "Die Katze jagte ihren Schwanz." in shown
    data, run = tmp_path / "runs" / "demo-data", tmp_path / "runs" / "demo"
    seen = set((data / "train.en").read_text(encoding="utf-8").splitlines())
    assert not seen & set((data / "test.en").read_text(encoding="utf-8").splitlines())
    evaluated = heed(
        *("evaluate", "--model", run, "--source", data / "test.en", "--reference", data / "test.de", "--json")
    )
    assert json.loads(evaluated.stdout)["scores"][0]["score"] >= 90


@pytest.mark.timeout(900)
def test_tiny_learns_multi30k_in_minutes(data_dir, tmp_path: Path):
    corpus = data_dir / "multi30k"
    heed(
        *("train", "--source", corpus / "train.en", "--target", corpus / "train.de", "--preset", "tiny"),
        *("--valid-source", corpus / "val.en", "--valid-target", corpus / "val.de", "--out", tmp_path / "run"),
        *("--set", "train.max_steps=400", "--set", "train.warmup_steps=400"),
    )
    best = json.loads((tmp_path / "run" / "best.json").read_text(encoding="utf-8"))
    assert best["bleu"] > 5
    assert best["perplexity"] < 40
