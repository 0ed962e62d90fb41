"""Shipped models: the stored weights against NumPy loops, and what the folder holds and does not hold."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import heed
from heed.config import Config, DataConfig, DecodeConfig
from heed.errors import CheckpointError, DecodeError
from heed.export.shipped import write_shipped
from heed.follow.runs import state_of
from heed.kernels.library import library
from heed.model.build import build_model
from heed.model.int8 import quantized
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from heed.training.loop import resume
from tests.conftest import small_config, torch_translator

WEIGHTS = "checkpoints/shipped/model.safetensors"
TEXTS = ["the quick brown fox", "the lazy dog jumps", "der schnelle Hund"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> RunFolder:
    """Save a random model as a run of which everything but the corpus is there."""
    torch.manual_seed(5)
    config = replace(
        Config(),
        model=small_config(norm="pre", positions="learned"),
        data=DataConfig("/secret/train.en", "/secret/train.de", valid_source="/secret/valid.en"),
    )
    config = replace(config, train=replace(config.train, init_from="/secret/run"))
    config = replace(config, text=replace(config.text, tokenizer="/secret/tokenizer.model"))
    model = build_model(config.model, tokenizer.vocabulary).eval()
    model.embedding.weight.data *= 3
    model.encoder[0].feed_forward.w_1.weight.data[3] = 0.0  # a row without a largest number
    made = RunFolder.create(tmp_path_factory.mktemp("trained") / "run", config, tokenizer)
    made.save_weights("average-00000040", dict(model.state_dict()), {"config": config.to_dict()})
    made.set_best({"checkpoint": "average-00000040", "step": 40, "bleu": 12.5})
    return made


@pytest.fixture(scope="module")
def shipped(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shipped") / "x"
    path.mkdir()
    write_shipped(path, run, run.checkpoint_path(), run.load_model(), run.config.decode)
    return path


def test_each_row_of_a_matrix_has_127_steps_to_its_largest_number(run: RunFolder, shipped: Path) -> None:
    found = load_file(shipped / WEIGHTS)
    for name, tensor in run.load_model().state_dict().items():
        weight, stored = tensor.numpy(), found.pop(name)
        if weight.ndim == 1:
            assert stored.dtype == np.float32 and np.array_equal(stored, weight)
            continue
        assert stored.dtype == np.int8 and stored.shape == weight.shape
        scales = found.pop(f"{name}/scale")
        for row, codes, scale in zip(weight.tolist(), stored.tolist(), scales.tolist(), strict=True):
            largest = max(abs(x) for x in row)
            assert scale == pytest.approx(largest / 127, rel=1e-6, abs=1e-30)
            for x, code in zip(row, codes, strict=True):
                assert abs(code) <= 127 and abs(x - code * scale) <= scale * 0.5001 + 1e-30
    assert found == {}  # nothing else is stored


def test_it_translates_with_the_stored_codes_times_their_scales(
    run: RunFolder, shipped: Path, tokenizer: Tokenizer
) -> None:
    stored = load_file(shipped / WEIGHTS)
    by_hand = run.load_model()
    with torch.no_grad():
        for name, weight in by_hand.state_dict().items():
            if weight.dim() == 2:
                product = stored[name].astype(np.float32) * stored[f"{name}/scale"][:, None]
                weight.copy_(torch.from_numpy(product))
    expected = torch_translator([by_hand], tokenizer, DecodeConfig()).translate(TEXTS)
    found = heed.load(shipped).translate(TEXTS)
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_a_search_in_8_bits_uses_the_codes_of_the_file(shipped: Path) -> None:
    if library() is None:
        pytest.skip("needs the C kernels")
    stored = load_file(shipped / WEIGHTS)
    model = quantized(RunFolder.open(shipped).load_model())
    names = [name for name, module in model.named_modules() if hasattr(module, "codes_OI")]
    assert len(names) > 10
    for name in names:
        key = "embedding.weight" if name == "embedding.projection" else f"{name}.weight"
        quantised = model.get_submodule(name)
        assert np.array_equal(quantised.codes_OI.numpy(), stored[key])
        np.testing.assert_allclose(quantised.scale_O.numpy(), stored[f"{key}/scale"], rtol=2e-7)


def test_no_name_of_a_file_is_shipped(shipped: Path) -> None:
    files = [file for file in shipped.rglob("*") if file.is_file()]
    names = ["best.json", "checkpoints/shipped/manifest.json", WEIGHTS, "config.json", "tokenizer.model"]
    assert sorted(str(file.relative_to(shipped)) for file in files) == names
    assert not any(b"secret" in file.read_bytes() for file in files)


def test_it_says_where_it_is_from(run: RunFolder, shipped: Path) -> None:
    best = json.loads((shipped / "best.json").read_bytes())
    assert (best["checkpoint"], best["from"], best["bleu"]) == ("shipped", "average-00000040", 12.5)
    assert best["parameters"] == sum(weight.numel() for weight in run.load_model().parameters())
    assert state_of(shipped).state == "shipped"


def test_scores_of_another_checkpoint_are_not_shipped(run: RunFolder, tmp_path: Path) -> None:
    """best.json has the scores of the best checkpoint, and this is another."""
    other = run.save_weights("step-00000020", dict(run.load_model().state_dict()), {})
    write_shipped(tmp_path, run, other, run.load_model("step-00000020"), run.config.decode)
    best = json.loads((tmp_path / "best.json").read_bytes())
    assert best["from"] == "step-00000020" and "bleu" not in best


def test_a_shipped_model_can_be_shipped_again_unchanged(shipped: Path, tmp_path: Path) -> None:
    run = RunFolder.open(shipped)
    write_shipped(tmp_path, run, run.checkpoint_path(), run.load_model(), run.config.decode)
    first, second = load_file(shipped / WEIGHTS), load_file(tmp_path / WEIGHTS)
    assert all(np.array_equal(first[key], second[key]) for key in first if not key.endswith("/scale"))


@pytest.mark.parametrize("which", ["best", "last", "shipped"])
def test_its_one_checkpoint_is_the_best_and_the_last(shipped: Path, which: str) -> None:
    assert RunFolder.open(shipped).checkpoint_path(which) == shipped / "checkpoints" / "shipped"
    assert heed.load(shipped, checkpoint=which).translate(TEXTS)


def test_it_cannot_be_resumed(shipped: Path) -> None:
    with pytest.raises(CheckpointError, match="a shipped model, .* cannot be resumed; .* train.init_from="):
        resume(shipped)


def test_weights_that_are_not_finite_are_not_shipped(run: RunFolder, tmp_path: Path) -> None:
    model = run.load_model()
    model.embedding.weight.data[5, 3] = torch.inf
    with pytest.raises(DecodeError, match="average-00000040 are not finite"):
        write_shipped(tmp_path, run, run.checkpoint_path(), model, run.config.decode)
