"""A few pairs of the built-in grammar as files, and a model that learns little from them in a moment."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from heed.config import Config, DataConfig, ModelConfig, TextConfig, TrainConfig
from heed.demo.grammar import corpus


@dataclass(frozen=True)
class Texts:
    folder: Path
    config: Config


@pytest.fixture(scope="session")
def grammar() -> list[tuple[str, str]]:
    made = corpus(train=240, valid=20, test=1)
    return [(pair.source, pair.target) for pair in (*made.train, *made.valid)]


@pytest.fixture
def texts(grammar: list[tuple[str, str]], tmp_path: Path) -> Texts:
    folder = tmp_path / "text"
    folder.mkdir()
    for name, pairs in (("train", grammar[:240]), ("val", grammar[240:])):
        for side, language in enumerate(("en", "de")):
            (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    data = DataConfig(*(str(folder / name) for name in ("train.en", "train.de")))
    data = replace(data, valid_source=str(folder / "val.en"), valid_target=str(folder / "val.de"))
    config = Config(
        preset="tiny",
        model=ModelConfig(encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, h=2, max_length=40),
        text=TextConfig(vocab_size=400),
        data=data,
        train=TrainConfig(
            max_steps=6,
            batch_tokens=300,
            warmup_steps=4,
            validate_every=3,
            save_every=2,
            average_last=1,
            patience=0,
            metric="bleu",
            lanes=1,
        ),
    )
    return Texts(folder, config)
