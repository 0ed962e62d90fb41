"""Make the gradient non-finite in one process: all skip the step together."""

from pathlib import Path

import pytest

from heed.data.batching import BatchPlan
from heed.data.store import PairStore
from heed.run import RunFolder
from tests.distributed.conftest import SHARDED, Training, events_of, same_bytes, state_of

EVERY = ["--set", "train.save_every=1", "--set", "train.keep_checkpoints=6", "--set", "train.validate_every=6"]


def poisoned(rank: int, *steps: int) -> list[dict[str, str]]:
    return [{"HEED_TEST_POISON": ",".join(map(str, steps))} if one == rank else {} for one in (0, 1)]


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
def test_all_skip_the_step(training: Training, tmp_path: Path, kind: list[str]) -> None:
    run = tmp_path / "run"
    training.train(2, run, *EVERY, *kind, each=poisoned(1, 3, 4))
    skipped = events_of(run, "skipped")
    assert [one["step"] for one in skipped] == [3, 4]
    for step in (3, 4):
        assert (run / f"checkpoints/step-{step:08d}/model.safetensors").read_bytes() == (
            run / "checkpoints/step-00000002/model.safetensors"
        ).read_bytes()
    assert not state_of(run, 5)["model"]["embedding.weight"].equal(state_of(run, 4)["model"]["embedding.weight"])
    # The result does not depend on which process it was.
    training.train(2, tmp_path / "other", *EVERY, *kind, each=poisoned(0, 3, 4))
    same_bytes(run, tmp_path / "other", 6)


def test_the_lines_are_those_of_the_batch(training: Training, tmp_path: Path) -> None:
    run = tmp_path / "run"
    training.train(2, run, *EVERY, each=poisoned(1, 2))
    config, store = RunFolder.open(run).config, PairStore.open(run / "data")
    lengths = store.source.lengths, store.target.lengths
    plan = BatchPlan(*lengths, config.train.batch_tokens, config.train.seed, config.model.max_length)
    lines = sorted(int(store.lines[pair]) for pair in plan.batch(*divmod(1, len(plan))))
    assert [one["lines"] for one in events_of(run, "skipped")] == [lines]
    assert len(lines) > 10


@pytest.mark.parametrize("kind", [[], SHARDED], ids=["ddp", "sharded"])
def test_a_fourth_in_a_row_stops_everything(training: Training, tmp_path: Path, kind: list[str]) -> None:
    run = tmp_path / "run"
    ended = training.start(2, run, *EVERY, *kind, each=poisoned(1, 2, 3, 4, 5)).wait(30)
    assert ended.codes == [1, 1]
    assert (
        "".join(ended.said).count(
            "the last 4 steps had a non-finite loss or gradient, more than train.skip_bad_batches = 3"
        )
        == 1
    )
    assert "Traceback" not in "".join(ended.said)
    assert [one["step"] for one in events_of(run, "skipped")] == [2, 3, 4, 5]
    training.resume(2, run)  # without the cause, it resumes from the newest checkpoint
    assert events_of(run)[-1]["event"] == "end"
