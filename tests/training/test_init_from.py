"""Fine-tuning: a run that starts from another run's weights and vocabulary."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import heed
from heed.checkpoint import read_tensors
from heed.config import ModelConfig, TextConfig
from heed.errors import ConfigError
from heed.run import RunFolder
from tests.cli.conftest import letters, write_lines


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> tuple[Path, heed.Config]:
    folder = tmp_path_factory.mktemp("base")
    lines = letters(1, 60)
    source = write_lines(folder / "a.src", lines)
    target = write_lines(folder / "a.tgt", [line[::-1] for line in lines])
    tiny = heed.preset("tiny")
    config = replace(
        tiny,
        model=ModelConfig(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, h=2, max_length=20),
        text=TextConfig(vocab_size=300),
        data=replace(tiny.data, train_source=str(source), train_target=str(target)),
        train=replace(tiny.train, max_steps=4, batch_tokens=200, log_every=1, save_every=2),
    )
    return heed.train(config, folder / "run", quiet=True).path, config


def tuned(base, **changes) -> heed.Config:
    run, config = base
    train = {"init_from": str(run), "max_steps": 4, **changes}
    return replace(config, train=replace(config.train, **train))


def test_it_starts_from_the_other_runs_weights(base, tmp_path: Path) -> None:
    run, config = base
    other = write_lines(tmp_path / "b.src", letters(7, 40))  # another text would learn another vocabulary
    changed = replace(tuned(base, learning_rate_factor=1e-12), data=replace(config.data, train_source=str(other)))
    target = write_lines(tmp_path / "b.tgt", letters(8, 40))
    changed = replace(changed, data=replace(changed.data, train_target=str(target)))
    shutil.copytree(run, tmp_path / "copy")
    changed = replace(changed, train=replace(changed.train, init_from=str(tmp_path / "copy")))
    made = heed.train(changed, tmp_path / "run", quiet=True).path
    shutil.rmtree(tmp_path / "copy")  # the new run does not need it any more
    assert RunFolder.open(made).tokenizer.model == RunFolder.open(run).tokenizer.model
    before = read_tensors(RunFolder.open(run).checkpoint_path("best"), "model")
    after = read_tensors(RunFolder.open(made).checkpoint_path("last"), "model")
    for name, weight in before.items():
        assert torch.allclose(after[name], weight, atol=1e-6), name
    heed.resume(made, max_steps=6, quiet=True)


def test_killed_before_its_first_checkpoint_it_starts_there_again(base, tmp_path: Path) -> None:
    whole = heed.train(tuned(base), tmp_path / "whole", quiet=True).path

    def stop(step: int, result: object) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError):
        heed.train(tuned(base, save_every=4), tmp_path / "broken", on_step=stop, quiet=True)
    resumed = heed.resume(tmp_path / "broken", quiet=True).path
    name = "checkpoints/step-00000004/model.safetensors"
    assert (resumed / name).read_bytes() == (whole / name).read_bytes()


def test_the_running_average_starts_there_too(base, tmp_path: Path) -> None:
    made = heed.train(tuned(base, ema_decay=0.9, learning_rate_factor=1e-12), tmp_path / "run", quiet=True).path
    folder = RunFolder.open(made).checkpoint_path("last")
    mean, weights = read_tensors(folder, "mean"), read_tensors(folder, "model")
    assert all(torch.allclose(mean[name], weights[name], atol=1e-6) for name in weights)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"d_ff": 64}, r"model.d_ff is 32 there and 64 here\. .*\n--set model.d_ff=32$"),
        (
            {"encoder_layers": 2, "h": 4, "norm": "pre"},
            r"model.encoder_layers is 1 there and 2 here; model.h is 2 there and 4 here; model.norm is post there .*"
            r'\n--set model.encoder_layers=1 --set model.h=2 --set model.norm="post"$',
        ),
        ({"d_k": 4}, r"model.d_k is 8 there and 4 here.*\n--set model.d_k=8$"),  # unset there: 16 / 2
    ],
)
def test_a_model_of_another_shape_is_refused(base, tmp_path: Path, model: dict, message: str) -> None:
    config = tuned(base)
    with pytest.raises(ConfigError, match=message):
        heed.train(replace(config, model=replace(config.model, **model)), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_width_may_be_written_out(base, tmp_path: Path) -> None:
    config = tuned(base)
    heed.train(replace(config, model=replace(config.model, d_k=8)), tmp_path / "run", quiet=True)


def test_the_config_tells_the_truth_about_the_vocabulary(
    base, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is the other run's, whatever the settings for learning one say; BPE-dropout is no fact of it."""
    run, config = base
    text = TextConfig(unit="character", vocab_size=1_000, symbols="<bt>", bpe_dropout=0.1)
    made = heed.train(replace(tuned(base), text=text), tmp_path / "run").path
    assert RunFolder.open(made).config.text == TextConfig(vocab_size=300, bpe_dropout=0.1)
    said = f"starting from the weights and the vocabulary of {run}; so text.unit = "
    said += (
        '"subword" instead of "character", text.vocab_size = 300 instead of 1000, text.symbols = "" instead of "<bt>"'
    )
    assert said in " ".join(capfd.readouterr().err.split())


def test_a_parser_does_not_start_from_a_translator(base, tmp_path: Path) -> None:
    config = tuned(base)
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (NN a) (VB b))\n" * 3)
    parser = replace(
        config,
        text=replace(config.text, trees="in-order"),
        data=replace(heed.preset("tiny").data, train_trees=str(trees)),
        train=replace(config.train, metric="f1"),
        decode=replace(config.decode, extra_length=300),
    )
    with pytest.raises(ConfigError, match="this training is for a model that parses, but that one translates"):
        heed.train(parser, tmp_path / "run", quiet=True)


def test_another_dropout_is_fine(base, tmp_path: Path) -> None:
    config = tuned(base)
    heed.train(replace(config, model=replace(config.model, dropout=0.5)), tmp_path / "run", quiet=True)


def test_another_vocabulary_is_refused(base, tmp_path: Path) -> None:
    config = tuned(base)
    other = heed.Tokenizer.learn(letters(9, 60), 280)
    (tmp_path / "other.model").write_bytes(other.model)
    text = replace(config.text, tokenizer=str(tmp_path / "other.model"))
    with pytest.raises(ConfigError, match=r"text.tokenizer = '.*other.model' is another vocabulary; leave it out"):
        heed.train(replace(config, text=text), tmp_path / "run", quiet=True)


def test_no_run_there(base, tmp_path: Path) -> None:
    config = tuned(base, init_from="./none")
    with pytest.raises(heed.HeedError, match=r"^\./none: no such run folder"):
        heed.train(config, tmp_path / "run", quiet=True)


def test_sinusoids_have_no_weights_so_the_limit_may_change(base, tmp_path: Path) -> None:
    config = tuned(base)
    longer = replace(config, model=replace(config.model, max_length=30))
    made = heed.train(longer, tmp_path / "run", quiet=True).path
    assert RunFolder.open(made).config.model.max_length == 30
    learned = replace(longer, model=replace(longer.model, positions="learned"))
    with pytest.raises(ConfigError, match=r"model\.max_length is 20 there and 30 here"):
        heed.train(learned, tmp_path / "refused", quiet=True)
