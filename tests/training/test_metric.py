"""Check that `train.metric` decides the best checkpoint, patience, events, `heed runs` and `heed plot`."""

import json
import math
import random
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import heed
from heed.cli.main import main
from heed.config import TrainConfig
from heed.evaluate import CRITERIA, criterion
from heed.presets import preset
from heed.settings import build_config
from heed.training.progress import Progress
from heed.training.validate import Validation

SETTINGS = {
    "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 32, "h": 2, "max_length": 30},
    "text": {"vocab_size": 280},
    "train": {
        "batch_tokens": 300,
        "max_steps": 60,
        "warmup_steps": 20,
        "learning_rate_factor": 0.3,
        "validate_every": 10,
        "save_every": 20,
        "average_last": 2,
        "log_every": 20,
    },
    "decode": {"extra_length": 3},
}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One word per line, and the same with its first letter repeated: too short for BLEU."""
    folder = tmp_path_factory.mktemp("words")
    draw = random.Random(5)
    texts = {"train": 200, "valid": 20}
    for name, n in texts.items():
        lines = ["".join(draw.choices("abcd", k=draw.randint(2, 5))) for _ in range(n)]
        (folder / f"{name}.src").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{name}.tgt").write_text("".join(f"{line}{line[0]}\n" for line in lines))
    sides = {"source": "src", "target": "tgt"}
    return {f"{name}_{side}": str(folder / f"{name}.{end}") for name in texts for side, end in sides.items()}


def trained(words: dict[str, str], out: Path, **train: object) -> list[dict[str, object]]:
    """Train, and return the recorded validations."""
    changes = {**SETTINGS, "data": words, "train": {**SETTINGS["train"], **train}}
    heed.train(build_config(preset("tiny"), ("test", changes)), out)
    return recorded(out, "validation")


def recorded(run: Path, kind: str) -> list[dict[str, object]]:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text("utf-8").splitlines()]
    return [event for event in events if event["event"] == kind]


def test_config_and_criteria_name_the_same_metrics() -> None:
    assert set(get_args(get_type_hints(TrainConfig)["metric"])) == {"auto", *CRITERIA}


@pytest.mark.parametrize(
    ("references", "key"),
    [
        (["one two three four"], "bleu"),
        (["one two three", "one two three four five"], "bleu"),  # 4 on average
        (["one two three", "one two three four"], "chrf"),
        (["word"], "chrf"),
        (["今天天气很好，我们去公园吧。"], "chrf"),  # no spaces: no runs of words
        ([], "bleu"),  # nothing to validate on
    ],
)
def test_auto_is_chrf_where_lines_are_too_short_for_bleu(references: list[str], key: str) -> None:
    assert criterion("auto", references).key == key
    assert criterion("exact", references).key == "exact"


@pytest.mark.parametrize("key", CRITERIA)
def test_the_better_one(key: str) -> None:
    by = CRITERIA[key]
    other = "bleu" if key != "bleu" else "chrf"
    low, high = ({"perplexity": 5.0, other: 1.0} | {key: value} for value in (2.0, 3.0))
    better, worse = (low, high) if key in ("perplexity", "cer", "wer") else (high, low)
    assert Validation(better).better_than(Validation(worse), by)
    assert not Validation(worse).better_than(Validation(better), by)
    assert not Validation(better).better_than(Validation(better), by)
    assert Validation(worse).better_than(None, by)
    if key != "perplexity":  # which breaks ties
        assert Validation({**low, "perplexity": 4.0}).better_than(Validation(low), by)
        for not_finite in (math.inf, math.nan):
            assert not Validation({**better, "perplexity": not_finite}).better_than(Validation(worse), by)
            assert not Validation({**better, "perplexity": not_finite}).better_than(None, by)


def test_state_of_0_1_0_without_a_validation() -> None:
    state = {"step": 7, "bad_batches": 1, "validated_step": 0, "best_step": 0, "validations_since_best": 0}
    old = Progress.from_state({**state, "best_perplexity": 0.0, "best_bleu": 0.0})
    assert old == Progress(step=7, bad_batches=1)
    assert old.best is None


def test_one_word_lines_go_by_chrf(words: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    validations = trained(words, run, seed=4)
    said = capsys.readouterr().err
    assert "train.metric: chrf (references average 1.0 words, too few for BLEU)\n" in said
    assert f"validation at step 10: perplexity {validations[0]['perplexity']:.2f}, BLEU 0.00, chrF2 " in said
    assert json.loads((run / "config.json").read_text())["train"]["metric"] == "chrf"
    assert recorded(run, "start")[0]["metric"] == "chrf"
    assert [one["bleu"] for one in validations] == [0.0] * 7  # six steps and an average; BLEU is always 0
    best = max(validations, key=lambda one: (one["chrf"], -one["perplexity"]))  # type: ignore[operator]
    assert best["chrf"] > 0  # type: ignore[operator]
    written = json.loads((run / "best.json").read_text())
    assert (written["metric"], written["chrf"], written["bleu"]) == ("chrf", best["chrf"], 0.0)
    # The average competes by chrF too. By BLEU, 0 for both, its perplexity would have won.
    average = validations[-1]
    assert average["chrf"] < best["chrf"] and average["perplexity"] < best["perplexity"]  # type: ignore[operator]
    assert written["checkpoint"].startswith("step-")
    assert f"(validation chrF2 {best['chrf']:.2f})" in said

    assert main(["runs", str(run), "--json"]) == 0
    [listed] = json.loads(capsys.readouterr().out)
    assert (listed["metric"], listed["best"], listed["best_bleu"]) == ("chrf", best["chrf"], 0.0)
    assert main(["runs", str(run)]) == 0
    assert f" chrF2 {best['chrf']:.2f} " in capsys.readouterr().out
    assert main(["plot", str(run)]) == 0
    assert "Validation chrF2 (character n-grams, 0 to 100)" in capsys.readouterr().out


def test_the_lowest_error_rate_is_the_best_and_decides_when_to_stop(words: dict[str, str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    validations = trained(words, run, metric="cer", patience=1, validate_every=5)
    own = [one for one in validations if str(one["of"]).startswith("step")]
    ranks = [(one["cer"], one["perplexity"]) for one in own]
    # It stops after the first validation without improvement.
    no_better = [i for i in range(1, len(ranks)) if ranks[i] >= min(ranks[:i])]  # type: ignore[type-var]
    assert no_better in ([], [len(ranks) - 1])
    assert recorded(run, "end")[0]["reason"] == ("early" if no_better else "finished")
    best = min(validations, key=lambda one: (one["cer"], one["perplexity"]))  # type: ignore[type-var]
    written = json.loads((run / "best.json").read_text())
    assert (written["metric"], written["cer"]) == ("cer", best["cer"])
    assert {"bleu", "perplexity"} <= written.keys()


def test_a_resumed_run_goes_by_what_it_began_with(words: dict[str, str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    trained(words, run, metric="perplexity", max_steps=20)
    heed.resume(run, max_steps=30)
    validations = recorded(run, "validation")
    best = min(validations, key=lambda one: one["perplexity"])  # type: ignore[type-var]
    written = json.loads((run / "best.json").read_text())
    assert (written["metric"], written["perplexity"]) == ("perplexity", best["perplexity"])
    assert [event["metric"] for event in recorded(run, "start")] == ["perplexity"] * 2
