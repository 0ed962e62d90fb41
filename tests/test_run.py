import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from heed.checkpoint import read_tensors
from heed.config import Config
from heed.durable import write_json
from heed.errors import CheckpointError, HeedError
from heed.model.transformer import Transformer
from heed.run import RunFolder, load_weights
from heed.settings import build_config
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return Tokenizer.learn(["a b c d e f g"] * 20, 300)


@pytest.fixture
def config() -> Config:
    model = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 12, "h": 2, "max_length": 20}
    return build_config(Config(), ("test", {"model": model}))


def make_model(config: Config, tokenizer: Tokenizer, seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(config.model, tokenizer.vocabulary)


@pytest.fixture
def run(tmp_path: Path, config: Config, pieces: Tokenizer) -> RunFolder:
    made = RunFolder.create(tmp_path / "run", config, pieces)
    for step in (5, 10):
        made.save_step(step, {"model": dict(make_model(config, pieces, step).state_dict())}, {"step": step})
    return made


def same_weights(model: Transformer, other: Transformer) -> bool:
    return all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


# --- there and back ---------------------------------------------------------------------------------------


def test_what_is_saved_is_loaded(run: RunFolder, config: Config, pieces: Tokenizer) -> None:
    again = RunFolder.open(run.path)
    assert again.config == config
    assert again.tokenizer.model == pieces.model
    assert again.steps() == [5, 10]
    model = again.load_model("step-00000005")
    assert same_weights(model, make_model(config, pieces, 5))
    assert not model.training


def test_last_best_and_named_checkpoints(run: RunFolder) -> None:
    checkpoints = run.path / "checkpoints"
    assert run.checkpoint_path("last") == checkpoints / "step-00000010"
    assert run.checkpoint_path() == checkpoints / "step-00000010"  # nothing to compare yet
    run.set_best({"checkpoint": "step-00000005", "bleu": 1.0})
    assert run.checkpoint_path() == checkpoints / "step-00000005"
    assert run.checkpoint_path("last") == checkpoints / "step-00000010"
    assert run.best() == {"checkpoint": "step-00000005", "bleu": 1.0}


def test_weights_of_no_step_are_a_checkpoint_of_their_own(run: RunFolder) -> None:
    weights = {key: tensor + 1 for key, tensor in read_tensors(run.step_path(5), "model").items()}
    path = run.save_weights("average-00000010", weights, {})
    assert all(torch.equal(found, weights[key]) for key, found in read_tensors(path, "model").items())
    assert run.steps() == [5, 10]
    run.load_model("average-00000010")


def test_deleting_steps(run: RunFolder) -> None:
    run.delete_steps({5, 7})
    assert run.steps() == [10]


def test_no_pickle_anywhere(run: RunFolder) -> None:
    run.save_weights("average-00000010", read_tensors(run.step_path(5), "model"), {})
    run.set_best({"checkpoint": "step-00000005"})
    suffixes = {file.suffix for file in run.path.rglob("*") if file.is_file()}
    assert suffixes == {".json", ".model", ".safetensors"}
    for file in run.path.rglob("*"):
        assert not file.is_file() or b"torch" not in file.read_bytes()[:200]


def test_leftovers_of_a_crash_are_passed_over(run: RunFolder) -> None:
    shutil.copytree(run.step_path(10), run.path / "checkpoints" / ".step-00000099.new")
    (run.path / "checkpoints" / ".step-00000099.new" / "manifest.json").unlink()
    (run.path / ".best.json.new").write_bytes(b'{"checkp')
    again = RunFolder.open(run.path)
    assert again.steps() == [5, 10]
    assert again.checkpoint_path().name == "step-00000010"
    again.load_model()


# --- refusals ---------------------------------------------------------------------------------------------


def test_a_folder_that_exists_is_refused_with_the_two_ways_on(run: RunFolder) -> None:
    before = {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()}
    with pytest.raises(CheckpointError) as caught:
        RunFolder.refuse_existing(run.path)
    message = str(caught.value)
    assert f"{run.path}: already exists" in message
    assert f"heed train --resume {run.path}" in message
    assert "another folder to --out" in message
    assert {file: file.read_bytes() for file in run.path.rglob("*") if file.is_file()} == before


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    """It may be valuable text, so the message must not suggest deleting it."""
    (tmp_path / "a.en").write_bytes(b"text\n")
    with pytest.raises(
        CheckpointError, match=r"a\.en is a file, not a folder; pass the name of a new folder"
    ) as caught:
        RunFolder.refuse_existing(tmp_path / "a.en")
    assert "remove" not in str(caught.value) and "--resume" not in str(caught.value)


def test_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(CheckpointError, match="already exists, and is neither empty nor a run folder") as caught:
        RunFolder.refuse_existing(tmp_path)
    assert "remove" not in str(caught.value) and "--resume" not in str(caught.value)


def test_an_empty_folder_is_fine(tmp_path: Path, config: Config, pieces: Tokenizer) -> None:
    (tmp_path / "run").mkdir()
    RunFolder.create(tmp_path / "run", config, pieces)
    assert RunFolder.open(tmp_path / "run").steps() == []


def test_a_folder_that_cannot_be_made(tmp_path: Path, config: Config, pieces: Tokenizer) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match="cannot be written"):
        RunFolder.create(tmp_path / "file" / "run", config, pieces)


def test_missing_folders(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="absent: no such run folder; check the name"):
        RunFolder.open(tmp_path / "absent")
    with pytest.raises(CheckpointError, match=r"not a run folder \(it has no config\.json\)"):
        RunFolder.open(tmp_path)


def test_a_run_without_checkpoints(tmp_path: Path, config: Config, pieces: Tokenizer) -> None:
    run = RunFolder.create(tmp_path / "run", config, pieces)
    with pytest.raises(CheckpointError, match="has no checkpoint yet; to train: heed train --resume "):
        run.load_model()
    with pytest.raises(CheckpointError, match='no checkpoint "step-7"; there are none'):
        run.load_model("step-7")
    (run.path / "checkpoints").rmdir()
    for which in ("best", "step-7"):
        with pytest.raises(CheckpointError):
            run.load_model(which)


def test_a_checkpoint_that_is_not_there(run: RunFolder) -> None:
    with pytest.raises(
        CheckpointError, match='no checkpoint "step-7"; there are: best, last, step-00000005, step-00000010$'
    ):
        run.load_model("step-7")
    run.set_best({"checkpoint": "step-00000099"})
    with pytest.raises(CheckpointError, match='no checkpoint "step-00000099"'):
        run.load_model()


@pytest.mark.parametrize("content", ["{}", '{"checkpoint": 5}', "[]", "{"])
def test_a_damaged_best(run: RunFolder, content: str) -> None:
    (run.path / "best.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"best\.json: damaged"):
        run.load_model()
    run.load_model("last")


def test_another_vocabulary_is_refused(run: RunFolder) -> None:
    other = Tokenizer.learn(["t u v w x y z"] * 20, 300)
    assert len(other) == len(run.tokenizer)  # it would fit, but give nonsense
    (run.path / "tokenizer.model").write_bytes(other.model)
    with pytest.raises(CheckpointError, match=r"was trained with another vocabulary than .*tokenizer\.model"):
        RunFolder.open(run.path).load_model()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"d_ff": 16}, r"does not fit .*config\.json: it was trained with model d_ff = \d+; restore"),
        ({"encoder_layers": 2}, r"it was trained with model encoder_layers = 1; restore"),
        ({"h": 4, "norm": "pre"}, r"model h = \d, norm = post; restore"),  # the shapes would fit another h
    ],
)
def test_a_changed_config_is_refused(run: RunFolder, change: dict[str, int], complaint: str) -> None:
    settings = run.config.to_dict()
    settings["model"] |= change
    write_json(run.path / "config.json", settings)
    with pytest.raises(CheckpointError, match=complaint):
        RunFolder.open(run.path).load_model()


def test_weights_of_another_build_do_not_fit(config: Config, pieces: Tokenizer) -> None:
    deeper = Transformer(replace(config.model, encoder_layers=2), pieces.vocabulary)
    with pytest.raises(
        CheckpointError, match=r"does not fit its config\.json: \d+ tensors missing or unknown, such as "
    ):
        load_weights(make_model(config, pieces, 0), dict(deeper.state_dict()), "x")


def test_weights_of_another_vocabulary_size_do_not_fit(config: Config, pieces: Tokenizer) -> None:
    torch.manual_seed(0)
    larger = Transformer(config.model, Vocabulary(len(pieces) + 1))
    with pytest.raises(
        CheckpointError, match=rf"has shape \({len(pieces) + 1}, 8\), but they need \({len(pieces)}, 8\)"
    ):
        load_weights(make_model(config, pieces, 0), dict(larger.state_dict()), "x")


def test_every_file_cut_or_gone_is_an_error_for_people(run: RunFolder, tmp_path: Path) -> None:
    """There is an error without a traceback, and never a model with other weights."""
    run.set_best({"checkpoint": "step-00000010"})
    files = [file.relative_to(run.path) for file in run.path.rglob("*") if file.is_file()]
    files = [file for file in files if "step-00000005" not in file.parts]
    assert len(files) == 5
    for file in files:
        content = (run.path / file).read_bytes()
        for name, damaged in (("empty", b""), ("half", content[: len(content) // 2]), ("gone", None)):
            copy = tmp_path / f"{file.name}-{name}"
            shutil.copytree(run.path, copy)
            if damaged is None:
                (copy / file).unlink()
            else:
                (copy / file).write_bytes(damaged)
            if (name, file.name) == ("gone", "best.json"):
                assert RunFolder.open(copy).checkpoint_path().name == "step-00000010"
                continue
            with pytest.raises(HeedError, match=str(copy)):
                RunFolder.open(copy).load_model()


def test_the_saved_config_is_plain_json(run: RunFolder, config: Config) -> None:
    saved = json.loads((run.path / "config.json").read_text(encoding="utf-8"))
    assert len(saved.pop("checksum")) == 64
    assert saved == config.to_dict()
