import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.errors import ConfigError, DataError
from heed.evaluate import Bleu, ChrF, Score, decoding_signature, score

Texts = Callable[[str], tuple[list[str], list[str]]]
MadeUp = tuple[list[str], list[str], list[str]]


def test_interval_is_that_of_the_sacrebleu_command(made_up: MadeUp, tmp_path: Path) -> None:
    hypotheses, _, reference = made_up
    for name, lines in (("hypotheses", hypotheses), ("reference", reference)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    command = [sys.executable, "-m", "sacrebleu", "reference", "-i", "hypotheses", "--metrics", "bleu", "chrf"]
    printed = subprocess.run(
        [*command, "--confidence", "--width", "6"],
        cwd=tmp_path,
        env=os.environ | {"SACREBLEU_SEED": "77"},
        capture_output=True,
        check=True,
    ).stdout
    for metric, expected in zip((Bleu(), ChrF()), json.loads(printed), strict=True):
        found = score(metric, hypotheses, reference, seed=77)
        assert found.value == pytest.approx(expected["score"], abs=1e-6)
        assert found.mean == pytest.approx(expected["confidence_mean"], abs=1e-6)
        assert found.half_width == pytest.approx(expected["confidence_var"], abs=1e-6)
        assert found.signature == expected["signature"]
        assert found.name == expected["name"]


def test_interval_holds_the_score_and_depends_on_the_seed(made_up: MadeUp) -> None:
    _, hypotheses, reference = made_up
    found, again, other = (score(Bleu(), hypotheses, reference, seed=seed) for seed in (1, 1, 2))
    assert found == again
    assert found.mean != other.mean
    assert found.value == other.value
    assert found.interval is not None
    low, high = found.interval
    assert low < found.value < high
    assert "|bs:1000|seed:1|" in found.signature


def test_without_resampling_there_is_no_interval(made_up: MadeUp) -> None:
    hypotheses, _, reference = made_up
    found = score(Bleu(), hypotheses, reference, resamples=0)
    assert (found.mean, found.half_width, found.interval) == (None, None, None)
    assert "seed" not in found.signature
    assert "[" not in str(found)
    assert "confidence" not in found.to_dict()


def test_interval_stays_within_the_scale() -> None:
    assert Score("BLEU", 1.0, "", mean=1.0, half_width=2.0).interval == (0.0, 3.0)
    assert Score("BLEU", 99.0, "", mean=99.0, half_width=2.0).interval == (97.0, 100.0)


def test_second_reference_helps() -> None:
    one = score(Bleu(), ["ein Haus am Meer"], ["ein Haus am See"], resamples=0)
    two = score(Bleu(), ["ein Haus am Meer"], ["ein Haus am See"], ["das Haus am Meer"], resamples=0)
    assert one.ngrams is not None and two.ngrams is not None
    assert (one.ngrams.correct, two.ngrams.correct) == ((3, 2, 1, 0), (4, 3, 2, 0))
    assert two.signature.startswith("nrefs:2|")


def test_dictionary_is_plain_and_complete(made_up: MadeUp) -> None:
    hypotheses, _, reference = made_up
    found = score(Bleu(), hypotheses, reference)
    plain = json.loads(json.dumps(found.to_dict()))
    assert found.ngrams is not None and found.interval is not None
    assert plain["score"] == found.value
    assert (plain["name"], plain["signature"]) == ("BLEU", found.signature)
    assert (plain["confidence"]["low"], plain["confidence"]["high"]) == found.interval
    assert plain["confidence"]["level"] == 0.95
    assert plain["correct"] == list(found.ngrams.correct)
    assert plain["ratio"] == found.ngrams.hypothesis_length / found.ngrams.reference_length
    assert list(plain)[3:] == [
        "lower_is_better",
        "confidence",
        "correct",
        "total",
        "precisions",
        "brevity_penalty",
        "hypothesis_length",
        "reference_length",
        "ratio",
    ]


def test_score_can_say_how_the_translations_were_made() -> None:
    found = score(Bleu(), ["ein Haus am See"], ["ein Haus am See"], resamples=0)
    made = found.made_by(
        decoding_signature(beam=4, alpha=0.6, checkpoint="last5", model_hash="1f2e3d", heed_version="0.1.0")
    )
    assert made.signature == f"{found.signature}|beam:4|alpha:0.6|checkpoint:last5|model:1f2e3d|heed:0.1.0"
    assert made.value == found.value


def test_blank_lines_count_as_lines() -> None:
    found = score(Bleu(), ["", ""], ["ein Haus", ""], resamples=100)
    assert found.value == 0
    assert str(found).startswith(
        "BLEU = 0.00 [0.00, 0.00] 0.0/0.0/0.0/0.0 (BP = 0.000 ratio = 0.000 hyp_len = 0 ref_len = 2) BLEU|nrefs:1|"
    )


def test_unequal_numbers_of_lines() -> None:
    with pytest.raises(DataError, match="^3 hypotheses, but 2 references;"):
        score(Bleu(), ["a", "b", "c"], ["a", "b"])
    with pytest.raises(DataError, match="^2 hypotheses, but 3 references;"):
        score(Bleu(), ["a", "b"], ["a", "b"], ["a", "b", "c"])


def test_nothing_to_score() -> None:
    with pytest.raises(DataError, match="no hypotheses to score"):
        score(Bleu(), [], [])
    with pytest.raises(DataError, match="no reference given"):
        score(Bleu(), ["a"])


def test_a_string_is_not_a_list_of_lines() -> None:
    with pytest.raises(TypeError, match="a sequence of lines"):
        score(Bleu(), ["a"], "a")
    with pytest.raises(TypeError, match="a sequence of lines"):
        score(Bleu(), "a", ["a"])


@pytest.mark.parametrize("resamples", [-1, 1, 99])
def test_too_few_resamples(resamples: int) -> None:
    with pytest.raises(ConfigError, match=f"^{resamples} resamples are too few; use at least 100"):
        score(Bleu(), ["a"], ["a"], resamples=resamples)
