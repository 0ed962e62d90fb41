"""Provide real system outputs with their sacreBLEU scores, and BLEU computed by plain loops."""

import json
import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LoopBleu = Callable[[list[str], list[str]], tuple[float, list[int], list[int], float, int, int]]
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def oracle_dir() -> Path:
    folder = Path(os.environ.get("HEED_DATA", PROJECT / "../shared/data")) / "bleu_oracle"
    if not folder.is_dir():
        pytest.skip(f"needs the folder bleu_oracle in HEED_DATA, and there is no {folder}")
    return folder


@pytest.fixture(scope="session")
def oracle_scores(oracle_dir: Path) -> dict[str, Any]:
    scores = json.loads((oracle_dir / "sacrebleu_reference_scores.json").read_text("utf-8"))
    return dict(scores["items"])


@pytest.fixture(scope="session")
def oracle_texts(oracle_dir: Path) -> Callable[[str], tuple[list[str], list[str]]]:
    """Return hypotheses and references of one output, named like `en-de.wmt14.bergamot-tiny.de`."""

    def read(name: str) -> tuple[list[str], list[str]]:
        pair, year, _system, language = name.split(".")
        return tuple(  # type: ignore[return-value]
            (oracle_dir / file).read_bytes().decode("utf-8").removesuffix("\n").split("\n")
            for file in (name, f"{pair}.{year}.ref.{language}")
        )

    return read


def counted_by_loops(
    hypotheses: list[str], references: list[str]
) -> tuple[float, list[int], list[int], float, int, int]:
    """Compute unsmoothed 4-gram BLEU of text split at spaces: (score, correct, total, BP, lengths)."""
    correct, total = [0] * 4, [0] * 4
    hypothesis_length = reference_length = 0
    for hypothesis_line, reference_line in zip(hypotheses, references, strict=True):
        hypothesis, reference = hypothesis_line.split(), reference_line.split()
        hypothesis_length += len(hypothesis)
        reference_length += len(reference)
        for n in range(1, 5):
            unused = [reference[i : i + n] for i in range(len(reference) - n + 1)]
            for i in range(len(hypothesis) - n + 1):
                total[n - 1] += 1
                if hypothesis[i : i + n] in unused:
                    unused.remove(hypothesis[i : i + n])
                    correct[n - 1] += 1
    penalty = 1.0
    if hypothesis_length < reference_length:
        penalty = math.exp(1 - reference_length / hypothesis_length) if hypothesis_length else 0.0
    score = 0.0
    if all(correct):
        score = 100 * penalty * math.prod(c / t for c, t in zip(correct, total, strict=True)) ** 0.25
    return score, correct, total, penalty, hypothesis_length, reference_length


@pytest.fixture(scope="session")
def loop_bleu() -> LoopBleu:
    return counted_by_loops


@pytest.fixture
def made_up() -> tuple[list[str], list[str], list[str]]:
    """Return a good system, a poor system and the reference: 80 lines from a small vocabulary each."""
    draw = random.Random(3)
    words = [f"w{i}" for i in range(40)]
    reference = [[draw.choice(words) for _ in range(draw.randint(6, 14))] for _ in range(80)]

    def worsen(chance: float) -> list[str]:
        return [" ".join(draw.choice(words) if draw.random() < chance else word for word in line) for line in reference]

    return worsen(0.05), worsen(0.3), [" ".join(line) for line in reference]
