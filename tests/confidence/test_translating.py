"""Confidences of translations, from Python: what is returned, and which files are refused."""

import json
import math
import pickle
import shutil
from pathlib import Path

import pytest

import heed
from heed.durable import read_json, write_json
from heed.errors import CheckpointError, DamageError, DecodeError
from heed.run import CONFIDENCE, RunFolder
from heed.translation import parts_that_fit
from tests.cli.conftest import letters
from tests.confidence.conftest import OLD_RUN, Calibrated

TEXTS = ["a b c", "", "d d a b c d", "c"]


def test_a_confidence_is_the_regression_of_its_features(calibrated: Calibrated) -> None:
    """Computed from the file's numbers, feature by feature."""
    saved = json.loads((calibrated.run / CONFIDENCE).read_bytes())["sentence"]
    for one in heed.load(calibrated.run).translate(TEXTS, confidence=True):
        if not one.pieces:
            continue
        logprobs, ratio = one.log_probabilities, math.log((len(one.pieces) + 1) / (len(one.source_pieces) + 1))
        features = {
            "mean log-probability": sum(logprobs) / len(logprobs),
            "least log-probability": min(logprobs),
            "least probability": math.exp(min(logprobs)),
            "log length ratio": ratio,
            "its square": ratio * ratio,
            "log source length": math.log(len(one.source_pieces) + 1),
        }
        z = saved["bias"] + sum(weight * features[name] for name, weight in saved["weights"].items())
        assert one.confidence == pytest.approx(1 / (1 + math.exp(-z)))
        assert [word.text for word in one.words] == one.text.split()
        assert all(0 < word.confidence < 1 for word in one.words)


def test_it_comes_only_if_asked_for_and_changes_nothing_else(calibrated: Calibrated) -> None:
    translator = heed.load(calibrated.run)
    plain, asked = translator.translate(TEXTS), translator.translate(TEXTS, confidence=True)
    assert [one.text for one in plain] == [one.text for one in asked]
    assert [one.score for one in plain] == pytest.approx([one.score for one in asked])
    assert all(one.confidence is None and one.words == () for one in plain)
    assert asked[1].confidence == 1.0 and asked[1].words == ()  # a blank text


def test_every_alternative_has_its_own(calibrated: Calibrated) -> None:
    (found,) = heed.load(calibrated.run).translate(["a b c d"], beam=4, n_best=3, confidence=True)
    assert len({one.confidence for one in found.alternatives}) == 3
    assert found.alternatives[0].confidence == found.confidence
    assert all([word.text for word in one.words] == one.text.split() for one in found.alternatives)


def test_a_text_in_parts_is_as_confident_as_its_least_confident_part(calibrated: Calibrated) -> None:
    translator = heed.load(calibrated.run)
    text = " ".join(letters(4, translator.engine.limit))
    (whole,) = translator.translate([text], confidence=True)
    (parts,) = parts_that_fit([text], translator.tokenizer, translator.engine.limit)
    assert len(parts) == len(whole.cuts) + 1 > 2
    alone = translator.translate([part.text for part in parts], confidence=True)
    assert len({one.confidence for one in alone}) > 1
    assert whole.confidence == pytest.approx(min(one.confidence for one in alone if one.confidence is not None))
    assert [word.text for word in whole.words] == whole.text.split()


def test_samples_and_copies_of_the_translator(calibrated: Calibrated) -> None:
    translator = pickle.loads(pickle.dumps(heed.load(calibrated.run)))
    (found,) = translator.translate(["a b c"], sampling=heed.Sampling(), confidence=True)
    assert 0 < found.confidence < 1


# --- files that are missing, damaged or of other weights ----------------------------------------------------


@pytest.fixture
def run(calibrated: Calibrated, tmp_path: Path) -> Path:
    return shutil.copytree(calibrated.run, tmp_path / "run")


def test_a_moved_run_is_still_calibrated(run: Path) -> None:
    assert heed.load(run).calibration.n_fitted > 200


def test_no_calibration() -> None:
    translator = heed.load(OLD_RUN)
    with pytest.raises(CheckpointError, match=r"not calibrated; to do so: heed confidence --model .*run --source"):
        translator.translate(["a"], confidence=True)
    assert translator.translate(["a"])[0].text


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"format": 1}', b'{"format": 9}'], ids=lambda one: one[:9]
)
def test_a_damaged_file_is_refused_by_name_but_the_model_translates(run: Path, content: bytes) -> None:
    (run / CONFIDENCE).write_bytes(content)
    translator = heed.load(run)
    assert translator.translate(["a b c"])[0].text
    with pytest.raises(DamageError, match=rf"run/{CONFIDENCE}: damaged"):
        translator.translate(["a b c"], confidence=True)


def test_another_digit_is_noticed(run: Path) -> None:
    text = (run / CONFIDENCE).read_text()
    (run / CONFIDENCE).write_text(text.replace('"n_fitted": ', '"n_fitted": 1'))
    with pytest.raises(DamageError, match="its checksum is wrong; to fit it again: heed confidence"):
        RunFolder.open(run).calibration()


def test_the_file_of_other_weights_is_refused(run: Path) -> None:
    write_json(run / CONFIDENCE, {**read_json(run / CONFIDENCE), "weights": "0" * 64, "checkpoint": "step-00000007"})
    with pytest.raises(CheckpointError, match=r"fitted for other weights \(step-00000007\) than those of .*00300"):
        heed.load(run).translate(["a"], confidence=True)


def test_an_ensemble_has_none(run: Path) -> None:
    with pytest.raises(DecodeError, match="an ensemble of 2"):
        heed.load(run, run).translate(["a"], confidence=True)
