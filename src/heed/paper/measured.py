"""Measure a trained row: its speed in training and in translation, its BLEU, and the rate of this machine."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from heed.durable import read_json, write_json
from heed.errors import CheckpointError
from heed.evaluate import Bleu, score
from heed.loading import load
from heed.run import RunFolder

_FILE = "table2.json"  # in the run folder
_RATE_FILE = "rate.json"  # in the table's folder
_SIDE = 1_024  # of the matrices that the machine multiplies
_SECONDS = 1.0


def training_speed(path: Path) -> float:
    """Return the target tokens per second of a finished run, from its log, without validations and pauses.

    Raises:
        CheckpointError: the log has no speed.
    """
    run = RunFolder.open(path)
    speeds = [event["tokens_per_second"] for event in run.events() if event.get("event") == "step"]
    speeds = [speed for speed in speeds if speed]
    if not speeds:
        raise CheckpointError(f"{run.events_path}: does not say how fast the row trained; delete {path} to train again")
    return float(len(speeds) / sum(1 / speed for speed in speeds))


def translated(
    path: Path, sources: Sequence[str], references: Sequence[str], scored: str, say: Callable[[str], None]
) -> tuple[float, float]:
    """Translate with the best checkpoint; return BLEU and sentences per second.

    A second call for the same text, named `scored`, reads what the first one wrote.
    """
    checkpoint = RunFolder.open(path).checkpoint_path("best").name
    asked = {"checkpoint": checkpoint, "scored": scored}
    if (path / _FILE).exists():
        found = read_json(path / _FILE, f"delete {path / _FILE}")
        if {key: found.get(key) for key in asked} == asked:
            return float(found["bleu"]), float(found["sentences_per_second"])
    say(f"translating {scored} with {path.name} ...")
    translator = load(path)
    translator.translate(sources[:1])  # the first call compiles and allocates
    began = time.perf_counter()
    translations = [one.text for one in translator.translate(sources, copy=False)]
    speed = len(sources) / (time.perf_counter() - began)
    bleu = score(Bleu(), translations, references, resamples=0).value
    write_json(path / _FILE, {**asked, "bleu": bleu, "sentences_per_second": speed})
    return bleu, speed


def sustained_rate(folder: Path) -> float:
    """Return the FLOP/s of products of float32 matrices on this machine; a second call reads what the first found."""
    if (folder / _RATE_FILE).exists():
        return float(read_json(folder / _RATE_FILE, f"delete {folder / _RATE_FILE}")["flops_per_second"])
    a, b = np.random.default_rng(1).standard_normal((2, _SIDE, _SIDE), dtype=np.float32)
    a @ b
    n, began = 0, time.perf_counter()
    while time.perf_counter() - began < _SECONDS:
        a @ b
        n += 1
    rate = n * 2 * _SIDE**3 / (time.perf_counter() - began)
    write_json(folder / _RATE_FILE, {"flops_per_second": rate})
    return rate
