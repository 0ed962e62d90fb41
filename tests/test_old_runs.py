"""Run folders of older versions: they translate, resume and are listed as before.

old_runs/heed-0.1.0.tar.gz was made by heed 0.1.0 itself, together with its text, lines of 2 to 4 letters to copy:

    heed train --source train.src --target train.tgt --valid-source valid.src --valid-target valid.tgt --out run ...
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

import heed
from heed.inspect.runs import state_of
from heed.run import RunFolder

OLD_RUNS = Path(__file__).with_name("old_runs")
# By heed 0.1.0: its best.json, and `heed translate --engine torch --json < valid.src`.
BLEU, PERPLEXITY = 74.00828044922856, 1.9983375889118475
TRANSLATED = {"d d d": ("d d d", -0.429145), "a d d b": ("a d b d", -0.560963), "c a a": ("c a a", -0.410669)}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(OLD_RUNS / "heed-0.1.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)  # the run names its text from here
    return Path("run")


def recorded(run: Path, kind: str) -> list[dict[str, object]]:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text("utf-8").splitlines()]
    return [event for event in events if event["event"] == kind]


def test_it_is_what_0_1_0_wrote(run: Path) -> None:
    assert "metric" not in json.loads((run / "config.json").read_text())["train"]
    assert json.loads((run / "best.json").read_text()) == {
        "checkpoint": "step-00000400",
        "step": 400,
        "bleu": BLEU,
        "perplexity": PERPLEXITY,
    }
    manifest = json.loads((run / "checkpoints" / "step-00000400" / "manifest.json").read_text())
    assert manifest["format"] == 2
    assert manifest["machine"]["heed"] == "0.1.0"
    assert manifest["state"]["best_bleu"] == BLEU
    assert "metric" not in recorded(run, "start")[0]


def test_it_translates_as_before(run: Path) -> None:
    found = heed.load(run).translate(list(TRANSLATED))
    assert [one.text for one in found] == [text for text, _ in TRANSLATED.values()]
    assert [one.log_probability for one in found] == pytest.approx(
        [score for _, score in TRANSLATED.values()], abs=1e-4
    )


def test_it_goes_by_bleu_though_its_lines_are_short(run: Path) -> None:
    assert RunFolder.open(run).config.train.metric == "bleu"
    state = state_of(run)
    assert (state.state, state.metric, state.best, state.best_bleu) == ("finished", "bleu", BLEU, BLEU)


def test_it_resumes(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = heed.resume(run, max_steps=404)
    assert (outcome.step, outcome.reason) == (404, "finished")
    assert "going on at step 400" in capsys.readouterr().err
    validations = recorded(run, "validation")
    assert [one["step"] for one in validations] == [400, 404]
    best = max(validations, key=lambda one: (one["bleu"], -one["perplexity"]))  # type: ignore[operator]
    written = json.loads((run / "best.json").read_text())
    assert (written["metric"], written["step"], written["bleu"]) == ("bleu", best["step"], best["bleu"])
    assert written["perplexity"] == best["perplexity"]
    assert recorded(run, "start")[-1]["metric"] == "bleu"


def test_resumed_with_nothing_left_to_do_it_stays_as_it_is(run: Path) -> None:
    manifest = run / "checkpoints" / "step-00000400" / "manifest.json"
    before = manifest.read_bytes()
    assert heed.resume(run).step == 400
    assert manifest.read_bytes() == before
    assert json.loads((run / "best.json").read_text())["bleu"] == BLEU


def test_with_best_json_lost_its_scores_come_back_from_the_checkpoint(run: Path) -> None:
    (run / "best.json").unlink()
    shutil.rmtree(run / "data")  # encoded again from the text
    heed.resume(run)
    best = json.loads((run / "best.json").read_text())
    assert (best["checkpoint"], best["bleu"], best["perplexity"]) == ("step-00000400", BLEU, PERPLEXITY)
