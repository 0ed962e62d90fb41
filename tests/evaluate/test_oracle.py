"""Scores against those of sacreBLEU's own command line, stored in oracle.json (see make_oracle.py)."""

import json
import re
from importlib.metadata import version
from typing import Any

import pytest

from heed.evaluate import Bleu, ChrF, Metric, PaperBleu, compare, score
from tests.evaluate.conftest import LoopBleu
from tests.evaluate.make_oracle import ORACLE

TEXTS: dict[str, list[str]]
TEXTS, COMMANDS = json.loads(ORACLE.read_text("utf-8")).values()
METRICS: dict[str, Metric] = {
    **{f"bleu-{tokenize}": Bleu(tokenize) for tokenize in ("13a", "intl", "zh", "char", "none")},
    "bleu-lowercase": Bleu(lowercase=True),
    "bleu-two-references": Bleu(),
    "bleu-interval": Bleu(),
    "chrf": ChrF(),
    "chrf++": ChrF(word_order=2),
    "chrf-two-references": ChrF(),
    "chrf-interval": ChrF(),
}


def expected(name: str) -> dict[str, Any]:
    return dict(COMMANDS[name]["said"])


def test_the_oracle_has_every_metric() -> None:
    assert COMMANDS.keys() == {*METRICS, "paired"}
    assert {len(lines) for lines in TEXTS.values()} == {48}


@pytest.mark.parametrize("name", METRICS)
def test_score_is_that_of_the_command(name: str) -> None:
    said = expected(name)
    references = [TEXTS["reference"], *([TEXTS["second"]] if "two-references" in name else [])]
    found = score(METRICS[name], TEXTS["system"], *references, resamples=1000 if "interval" in name else 0)
    assert found.value == pytest.approx(said["score"], abs=1e-11)  # it was asked for 12 digits
    assert found.name == said["name"]
    assert found.signature == said["signature"].replace("version:2.6.0", f"version:{version('sacrebleu')}")
    # Precisions, brevity penalty, ratio and both lengths.
    assert str(found.ngrams or "") == said.get("verbose_score", "")
    if "interval" in name:
        assert found.mean == pytest.approx(said["confidence_mean"], rel=1e-6)
        assert found.half_width == pytest.approx(said["confidence_var"], rel=1e-6)


@pytest.mark.parametrize("metric", [Bleu("none"), PaperBleu("de")])
def test_counts_are_those_of_a_loop(metric: Metric, loop_bleu: LoopBleu) -> None:
    hypotheses, references = (metric.prepare(TEXTS[name]) for name in ("system", "reference"))
    value, correct, total, penalty, *lengths = loop_bleu(list(hypotheses), list(references))
    found = score(metric, TEXTS["system"], TEXTS["reference"], resamples=0)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.ngrams is not None
    assert (list(found.ngrams.correct), list(found.ngrams.total)) == (correct, total)
    assert found.ngrams.brevity_penalty == pytest.approx(penalty, rel=1e-12)
    assert [found.ngrams.hypothesis_length, found.ngrams.reference_length] == lengths


def test_p_values_are_those_of_the_command() -> None:
    p_values = [float(p) for p in re.findall(r"p = ([\d.]+)", COMMANDS["paired"]["said"])]
    assert p_values == [0.0609, 0.1588]
    for metric, p in zip((Bleu(), ChrF()), p_values, strict=True):
        found = compare(metric, TEXTS["system"], TEXTS["baseline"], TEXTS["reference"])
        assert f"{found.value:.12f}" in COMMANDS["paired"]["said"]
        assert f"{found.baseline:.12f}" in COMMANDS["paired"]["said"]
        assert found.p_value == pytest.approx(p, abs=5e-5)
