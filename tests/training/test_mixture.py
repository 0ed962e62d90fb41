"""Train on several corpora with weights."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import heed
from heed.config import ModelConfig, TextConfig, TrainingText
from heed.data.store import PairStore
from heed.errors import CheckpointError, ConfigError, DataError
from tests.cli.conftest import heed as command
from tests.cli.conftest import letters, write_lines


def text(folder: Path, name: str, seed: int, n: int, **entry: object) -> TrainingText:
    lines = letters(seed, n)
    source = write_lines(folder / f"{name}.src", lines)
    target = write_lines(folder / f"{name}.tgt", [line[::-1] for line in lines])
    return TrainingText(str(source), str(target), **entry)  # type: ignore[arg-type]


@pytest.fixture
def config(tmp_path: Path) -> heed.Config:
    first = text(tmp_path, "a", 1, 60, weight=2.0)
    second = text(tmp_path, "b", 2, 40, weight=0.3, tag="<bt>")
    tiny = heed.preset("tiny")
    return replace(
        tiny,
        model=ModelConfig(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, h=2, max_length=20),
        text=TextConfig(vocab_size=300, symbols="<bt>"),
        data=replace(tiny.data, train=(first, second)),
        train=replace(tiny.train, max_steps=14, batch_tokens=300, log_every=1, save_every=4),
    )


def with_texts(config: heed.Config, *texts: TrainingText) -> heed.Config:
    return replace(config, data=replace(config.data, train=texts))


def steps(config: heed.Config, n: int) -> heed.Config:
    return replace(config, train=replace(config.train, max_steps=n))


def weights(run: Path, step: int) -> bytes:
    return (run / f"checkpoints/step-{step:08d}/model.safetensors").read_bytes()


def test_a_resumed_run_is_the_same_run(config: heed.Config, tmp_path: Path) -> None:
    """14 steps are more than an epoch, and epochs differ in their pairs."""

    def stop(step: int, result: object) -> None:
        if step == 11:
            raise KeyError("enough")

    config = replace(config, train=replace(config.train, noise=0.5))
    whole = heed.train(config, tmp_path / "whole", quiet=True).path
    events = [json.loads(line) for line in (whole / "events.jsonl").read_text().splitlines()]
    start = next(event for event in events if event["event"] == "start")
    assert start["pairs"] == 100 and start["batches_per_epoch"] < 11
    with pytest.raises(KeyError):
        heed.train(config, tmp_path / "broken", on_step=stop, quiet=True)
    shutil.rmtree(tmp_path / "broken" / "data")  # made again from the text
    resumed = heed.resume(tmp_path / "broken", quiet=True).path
    assert weights(resumed, 14) == weights(whole, 14)
    assert PairStore.open(resumed / "data").checksum == PairStore.open(whole / "data").checksum


def test_one_corpus_in_the_list_is_train_source(config: heed.Config, tmp_path: Path) -> None:
    only = replace(config.data.train[0], weight=1.0)
    listed = heed.train(steps(with_texts(config, only), 4), tmp_path / "listed", quiet=True).path
    data = replace(config.data, train=(), train_source=only.source, train_target=only.target)
    plain = heed.train(steps(replace(config, data=data), 4), tmp_path / "plain", quiet=True).path
    assert weights(listed, 4) == weights(plain, 4)


def test_weights_cannot_change_but_paths_can(config: heed.Config, tmp_path: Path) -> None:
    run = heed.train(steps(config, 4), tmp_path / "run", quiet=True).path
    first, second = config.data.train
    settings = json.loads((run / "config.json").read_text())
    del settings["checksum"]
    settings["data"]["train"][1]["weight"] = 0.4
    (run / "config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=r"weight in data\.train was \[2\.0, 0\.3\] and is now \[2\.0, 0\.4\]"):
        heed.resume(run, max_steps=6, quiet=True)
    moved = Path(first.source).rename(tmp_path / "moved.src")
    settings["data"]["train"][1]["weight"] = second.weight
    settings["data"]["train"][0]["source"] = str(moved)
    (run / "config.json").write_text(json.dumps(settings))
    assert heed.resume(run, max_steps=6, quiet=True).step == 6


def test_corpora_and_lines_are_named(config: heed.Config, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first, second = config.data.train
    with open(second.source, "a") as source, open(second.target, "a") as target:
        source.write("\n" + "x " * 50 + "\n")
        target.write("y\n" + "y " * 50 + "\n")
    lines = [Path(path).read_text().splitlines()[3] for path in (second.source, second.target)]
    valid = [str(write_lines(tmp_path / f"valid.{i}", [line])) for i, line in enumerate(lines)]
    data = replace(config.data, valid_source=valid[0], valid_target=valid[1])
    heed.train(steps(replace(config, data=data), 1), tmp_path / "run")
    said = " ".join(capfd.readouterr().err.split())
    name = f"{second.source} and {second.target}"
    assert f"weight 2: 60 pairs of {first.source} and {first.target}" in said
    assert f"weight 0.3: 41 pairs of {name}" in said
    assert f"1 pair with a blank side (line 41 of {name})" in said
    assert f"(line 42 of {name})" in said
    assert "1 of 1 validation pairs are also in the training text" in said  # the tag does not hide it


def test_wrong_text_is_named_before_anything_is_written(config: heed.Config, tmp_path: Path) -> None:
    first, second = config.data.train
    empty = write_lines(tmp_path / "empty.src", [])
    for wrong, message in [
        (replace(second, source=str(empty), target=str(empty)), r"empty\.src: is empty"),
        (replace(second, target=first.target), r"b\.src has 40 lines, but \S+a\.tgt has 60;"),
        (replace(second, source=str(tmp_path / "none")), "none: no such file"),
        (replace(second, target=""), r"entry 2: \S+b\.src has no translation; add target ="),
    ]:
        with pytest.raises((DataError, ConfigError), match=message):
            heed.train(with_texts(config, first, wrong), tmp_path / "run", quiet=True)
        assert not (tmp_path / "run").exists()


def test_a_given_vocabulary_must_know_the_tag(config: heed.Config, tmp_path: Path) -> None:
    (tmp_path / "other.model").write_bytes(heed.Tokenizer.learn(letters(9, 60), 280).model)
    other = replace(config.text, tokenizer=str(tmp_path / "other.model"))
    with pytest.raises(
        ConfigError, match=r"data\.train, entry 2: tag = '<bt>': the vocabulary splits it into .*symbols"
    ):
        heed.train(replace(config, text=other), tmp_path / "run", quiet=True)


def test_the_settings_are_shown(config: heed.Config, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(config.to_dict()))
    shown = command("train", tmp_path / "x.json", "--settings").out
    assert "* data.train = 2 corpora" in shown and f'    - source = "{config.data.train[0].source}"' in shown
    assert "      weight = 0.3\n" in shown and '      tag = "<bt>"\n' in shown
    found = json.loads(command("train", tmp_path / "x.json", "--settings", "--json").out)["settings"]["data.train"]
    assert found["value"] == config.to_dict()["data"]["train"]
    assert found["default"] == []


def test_steps_go_through_epochs_of_different_lengths(config: heed.Config, tmp_path: Path) -> None:
    """With weight 0.5, epochs have two and three of these five pairs, each of which fills a batch."""
    lines = ["abcdefghijklmnop"[:n] for n in range(11, 16)]
    path = str(write_lines(tmp_path / "c.src", lines))
    config = with_texts(config, TrainingText(path, path, weight=0.5))
    config = replace(config, text=TextConfig(unit="character", vocab_size=300))
    config = replace(config, train=replace(config.train, max_steps=5, batch_tokens=21, micro_batch_tokens=21))
    seen: list[int] = []
    run = heed.train(config, tmp_path / "run", on_step=lambda step, result: seen.append(result.n_tokens), quiet=True)
    assert sorted(seen) == sorted(PairStore.open(run.path / "data").target.lengths.tolist())
    assert len(set(seen)) == 5
