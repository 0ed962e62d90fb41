"""Read curves from events.jsonl, even of a training that was killed and resumed."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from heed.errors import CheckpointError
from heed.evaluate.criterion import BLEU
from heed.follow.curves import PANELS, curves_of, is_logarithmic, read_history


def line(event: str, step: int | None = None, **values: Any) -> bytes:
    record = {"event": event, "time": 1.5, **({} if step is None else {"step": step}), **values}
    return json.dumps(record).encode() + b"\n"


def write(folder: Path, *lines: bytes) -> Path:
    (folder / "events.jsonl").write_bytes(b"".join(lines))
    return folder


def test_curves_of_a_quiet_run(tmp_path: Path) -> None:
    history = read_history(
        write(
            tmp_path,
            line("start", 0, parameters=5),
            line("warning", text="beware"),
            line("step", 10, loss=3.0, perplexity=20.0),
            line("step", 20, loss=2, perplexity=9.5, new_key=[1]),
            line("validation", 20, of="step 20", perplexity=12.0, bleu=1.25),
            line("something_new", 25, loss=99.0),
            line("checkpoint", 20),
        )
    )
    assert history.curve("step", "loss") == [(10, 3.0), (20, 2.0)]
    assert history.curve("step", "perplexity") == [(10, 20.0), (20, 9.5)]
    assert history.curve("validation", "bleu") == [(20, 1.25)]
    assert history.curve("step", "nothing") == []
    assert history.damaged_lines == []
    assert history.last is not None and history.last["event"] == "checkpoint"


def test_repeated_steps_count_once(tmp_path: Path) -> None:
    history = read_history(
        write(
            tmp_path,
            line("start", 0),
            line("step", 10, loss=3.0),
            line("step", 20, loss=2.0),
            line("checkpoint", 20),
            line("step", 30, loss=1.5),
            line("validation", 30, of="step 30", bleu=50.0),
            line("step", 40, loss=1.0),  # killed here
            line("resume", 20),
            line("start", 20),
            line("step", 30, loss=1.6),
        )
    )
    assert history.curve("step", "loss") == [(10, 3.0), (20, 2.0), (30, 1.6)]
    assert history.curve("validation", "bleu") == []
    assert history.best(BLEU) is None
    assert history.step == 30


def test_resuming_from_the_beginning_drops_all_events(tmp_path: Path) -> None:
    lines = [line("start", 0), line("step", 10, loss=3.0), line("resume", 0), line("start", 0)]
    history = read_history(write(tmp_path, *lines))
    assert history.curve("step", "loss") == [] and history.step == 0


@pytest.mark.parametrize("keep", range(1, len(line("step", 20, loss=2.0))))
def test_a_last_line_cut_anywhere_is_left_out_and_counted(tmp_path: Path, keep: int) -> None:
    last = line("step", 20, loss=2.0)
    history = read_history(write(tmp_path, line("step", 10, loss=3.0), last[:keep]))
    whole = keep == len(last) - 1  # only the line end is missing
    assert history.curve("step", "loss") == [(10, 3.0), (20, 2.0)][: 1 + whole]
    assert history.damaged_lines == ([] if whole else [2])


@pytest.mark.parametrize(
    "damage",
    [b"\0\0", b"\xff{}", b'{"event": ', b"17", b'["step"]', b'{"step": 5}', b'{"event": 5}', b"[" * 9999],
    ids=["zeros", "not utf-8", "cut", "number", "list", "no event", "no name", "deep"],
)
def test_a_damaged_line_in_between_hurts_nothing_else(tmp_path: Path, damage: bytes) -> None:
    lines = [line("step", 10, loss=3.0), damage + b"\n", b"\n", line("step", 20, loss=2.0)]
    history = read_history(write(tmp_path, *lines))
    assert history.curve("step", "loss") == [(10, 3.0), (20, 2.0)]
    assert history.damaged_lines == [2]


def test_a_resume_after_an_incomplete_line_is_found(tmp_path: Path) -> None:
    lines = [
        line("step", 10, loss=3.0),
        line("step", 20, loss=2.0),
        line("step", 30, loss=1.0)[:25],
        line("resume", 10),
    ]
    history = read_history(write(tmp_path, *lines))
    assert history.curve("step", "loss") == [(10, 3.0)]
    assert history.damaged_lines == [3]


def test_values_that_are_no_numbers_are_no_points(tmp_path: Path) -> None:
    values = [float("nan"), float("inf"), "2.5", None, [1.0], {}]
    lines = [line("step", step, loss=value) for step, value in enumerate(values)]
    lines += [line("step", loss=1.0), b'{"event": "step", "step": "7", "loss": 1.0}\n', line("step", 9, loss=0.5)]
    assert read_history(write(tmp_path, *lines)).curve("step", "loss") == [(9, 0.5)]


def test_averaged_weights_are_no_point_of_the_curve_but_may_be_the_best(tmp_path: Path) -> None:
    lines = [
        line("validation", 20, of="step 20", bleu=30.0),
        line("validation", 20, of="the average of steps 10, 20", bleu=31.5),
    ]
    history = read_history(write(tmp_path, *lines))
    assert history.curve("validation", "bleu") == [(20, 30.0)]
    assert history.best(BLEU) == 31.5


def test_the_criterion_is_that_of_the_start_event(tmp_path: Path) -> None:
    scores = [(20, 10.0, 40.0), (40, 11.0, 30.0), (60, 12.0, 35.0)]
    lines = [line("validation", step, of=f"step {step}", bleu=bleu, cer=cer) for step, bleu, cer in scores]
    history = read_history(write(tmp_path, line("start", 0, metric="cer"), *lines))
    assert history.criterion.key == "cer"
    assert history.best(history.criterion) == 30.0  # fewer errors are better
    assert history.best(BLEU) == 12.0
    # heed 0.1.0 did not record it; a later version may record one that is unknown here.
    for start in (line("start", 0), line("start", 0, metric="comet"), line("start", 0, metric=["cer"])):
        assert read_history(write(tmp_path, start, *lines)).criterion.key == "bleu"


@pytest.mark.parametrize("seed", range(30))
def test_kills_leave_no_trace(tmp_path: Path, seed: int) -> None:
    """A training killed at random, even within a line, and resumed has the curves of one never killed."""
    chance = random.Random(seed)
    loss = {step: chance.random() for step in range(1, 61)}
    bleu = {step: chance.random() for step in range(7, 61, 7)}
    content, step, saved, n_kills = line("start", 0), 0, 0, 0
    while step < 60:
        if chance.random() < 0.1:
            n_kills += 1
            half = line("step", step + 1, loss=-1.0)
            if chance.random() < 0.5:
                content += half[: chance.randrange(1, len(half) - 1)] + (b"\n" if chance.random() < 0.5 else b"")
            step = saved
            content += line("resume", step) + line("start", step)
        step += 1
        content += line("step", step, loss=loss[step])
        if step in bleu:
            content += line("validation", step, of=f"step {step}", bleu=bleu[step])
        if step % 5 == 0:
            saved = step
            content += line("checkpoint", step)
    history = read_history(write(tmp_path, content))
    assert n_kills
    assert history.curve("step", "loss") == sorted(loss.items())
    assert history.curve("validation", "bleu") == sorted(bleu.items())


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no events.jsonl"):
        read_history(tmp_path)
    with pytest.raises(CheckpointError, match="no events.jsonl"):
        read_history(tmp_path / "nowhere")


def test_perplexity_over_decades_is_logarithmic_and_loss_never(tmp_path: Path) -> None:
    loss, perplexity, bleu, *_ = PANELS
    for top, expected in ((99.0, True), (50.0, False)):
        values = {"loss": top, "perplexity": top}
        lines = [line("step", 10, **values), line("step", 20, loss=9.9, perplexity=9.9)]
        histories = [read_history(write(tmp_path, *lines))]
        assert is_logarithmic(perplexity, curves_of(perplexity, histories)) is expected
        assert not is_logarithmic(loss, curves_of(loss, histories))
        assert curves_of(bleu, histories) == []
