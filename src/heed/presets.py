"""Define the presets: one function each, whose meaning never changes."""

from dataclasses import replace
from typing import Any

from heed.config import Config, DecodeConfig, ModelConfig, TextConfig, TrainConfig
from heed.errors import ConfigError
from heed.wording import did_you_mean


def tiny() -> Config:
    """For tens of thousands of pairs and minutes of CPU: the published Multi30k shape (docs/results.md).

    4+4 layers of width 128; peak learning rate 0.005 at step 2000.
    """
    return Config(
        preset="tiny",
        model=ModelConfig(encoder_layers=4, decoder_layers=4, d_model=128, d_ff=256, h=4, dropout=0.3),
        text=TextConfig(vocab_size=8_000),
        train=TrainConfig(
            max_steps=8_000,
            batch_tokens=4_096,
            warmup_steps=2_000,
            learning_rate_factor=2.5,
            validate_every=500,
            save_every=250,
        ),
    )


def swift() -> Config:
    """Like tiny, with a deep encoder and a shallow decoder: 6+2 pre-norm layers. Translates faster (docs/results.md).

    The encoder reads a sentence at once, but the decoder writes token by token, so its layers cost more time.
    """
    config = tiny()
    model = replace(config.model, encoder_layers=6, decoder_layers=2, norm="pre")
    return replace(config, preset="swift", model=model)


def quick() -> Config:
    """For a first look in minutes of CPU: can a model learn from this text? (docs/results.md)

    The shape of swift, with small batches and a small vocabulary, so that many steps fit into little time; peak
    learning rate 0.0056 at step 250. The last three checkpoints are close together: averaging them has the effect of a
    falling learning rate.
    """
    config = swift()
    return replace(
        config,
        preset="quick",
        model=replace(config.model, dropout=0.1),
        text=TextConfig(vocab_size=3_000),
        train=TrainConfig(
            max_steps=700,
            batch_tokens=1_500,
            warmup_steps=250,
            validate_every=350,
            save_every=25,
            average_last=3,
        ),
    )


def small() -> Config:
    """For hundreds of thousands of pairs: hours of CPU, or minutes of GPU."""
    return Config(
        preset="small",
        model=ModelConfig(encoder_layers=6, decoder_layers=6, d_model=256, d_ff=1024, h=4, dropout=0.2),
        text=TextConfig(vocab_size=16_000),
        train=TrainConfig(max_steps=50_000, batch_tokens=8_192, learning_rate_factor=2.0),
    )


def base() -> Config:
    """The paper's base model: Table 3, first row."""
    return Config()


def big() -> Config:
    """The paper's big model: Table 3, last row. (For English-French the paper uses dropout 0.1.)"""
    return Config(
        preset="big",
        model=ModelConfig(d_model=1024, d_ff=4096, h=16, dropout=0.3),
        train=TrainConfig(max_steps=300_000, keep_checkpoints=20, average_last=20),
    )


def gnmt_tiny() -> Config:
    """A recurrent model of the size of tiny: LSTM with attention, as GNMT (Wu et al. 2016), to compare with.

    4+4 layers of width 128, the first of the encoder in both directions; peak learning rate 0.002 at step 2000.
    """
    config = tiny()
    model = ModelConfig(encoder_layers=4, decoder_layers=4, d_model=128, dropout=0.3, kind="recurrent")
    return replace(config, preset="gnmt-tiny", model=model, train=replace(config.train, learning_rate_factor=1.0))


def gru_tiny() -> Config:
    """Like gnmt-tiny, with gated recurrent units (Cho et al. 2014); width 144, as a GRU has fewer weights."""
    config = gnmt_tiny()
    return replace(config, preset="gru-tiny", model=replace(config.model, d_model=144, cell="gru"))


def convs2s_tiny() -> Config:
    """A convolutional model of the size of tiny: ConvS2S (Gehring et al. 2017), to compare with.

    6+5 layers of width 128 that read 3 positions; learned positions; peak learning rate 0.002 at step 2000.
    """
    config = tiny()
    model = ModelConfig(encoder_layers=6, decoder_layers=5, d_model=128, dropout=0.3, kind="convolutional")
    return replace(config, preset="convs2s-tiny", model=model, train=replace(config.train, learning_rate_factor=1.0))


def bytenet_tiny() -> Config:
    """Like convs2s-tiny, dilated as ByteNet (Kalchbrenner et al. 2016); unlike ByteNet, it attends to the source."""
    config = convs2s_tiny()
    return replace(config, preset="bytenet-tiny", model=replace(config.model, dilated=True))


def parsing() -> Config:
    """For a treebank of tens of thousands of trees, in hours of CPU (docs/parsing.md).

    4+2 pre-norm layers of width 256. A tree is written in-order, with tags, and the decoder reads the next word.
    """
    return Config(
        preset="parsing",
        model=ModelConfig(
            encoder_layers=4,
            decoder_layers=2,
            d_model=256,
            d_ff=1024,
            h=4,
            dropout=0.25,
            norm="pre",
            max_length=400,
            kind="follower",
        ),
        text=TextConfig(vocab_size=4_000, bpe_dropout=0.1, trees="in-order"),
        train=TrainConfig(
            max_steps=12_750,
            batch_tokens=3_072,
            warmup_steps=1_000,
            learning_rate_factor=0.8,
            validate_every=1_000,
            save_every=250,
            metric="f1",
            patience=0,
            keep_checkpoints=10,
            average_last=10,
        ),
        decode=DecodeConfig(beam=8, alpha=0.0, extra_length=300),
    )


def parsing_paper() -> Config:
    """The paper's parser, section 6.3: 4 layers of width 1024, all else as in base. Made for GPUs."""
    return Config(
        preset="parsing-paper",
        model=ModelConfig(encoder_layers=4, decoder_layers=4, d_model=1024, max_length=512),
        text=TextConfig(vocab_size=16_000, trees="brackets", tags=False),
        train=TrainConfig(metric="f1"),
        decode=DecodeConfig(beam=21, alpha=0.3, extra_length=300),
    )


# What each row of Table 3 changes in base; rows (A) and (C) leave d_k and d_v at d_model / h, as printed.
TABLE_3: dict[str, dict[str, Any]] = {
    "base": {},
    **{f"A-h{h}": {"h": h} for h in (1, 4, 16, 32)},
    **{f"B-dk{d_k}": {"d_k": d_k} for d_k in (16, 32)},
    **{f"C-N{n}": {"encoder_layers": n, "decoder_layers": n} for n in (2, 4, 8)},
    **{f"C-d{d_model}": {"d_model": d_model} for d_model in (256, 1024)},
    **{f"C-ff{d_ff}": {"d_ff": d_ff} for d_ff in (1024, 4096)},
    **{f"D-drop{dropout}": {"dropout": dropout} for dropout in (0.0, 0.2)},
    **{f"D-ls{epsilon}": {"label_smoothing": epsilon} for epsilon in (0.0, 0.2)},
    "E-learned": {"positions": "learned"},
    "big": {},
}


def table3(row: str) -> Config:
    """A row of the paper's Table 3: base or big with one change, all updates made, no checkpoints averaged."""
    start, changes = (big() if row == "big" else base()), dict(TABLE_3[row])
    smoothing = changes.pop("label_smoothing", start.train.label_smoothing)
    return replace(
        start,
        preset=f"table3-{row}",
        model=replace(start.model, **changes),
        train=replace(start.train, label_smoothing=smoothing, patience=0, keep_checkpoints=5, average_last=1),
    )


PRESETS = {
    preset.__name__.replace("_", "-"): preset
    for preset in (
        *(quick, tiny, swift, small, base, big, parsing, parsing_paper),
        *(gnmt_tiny, gru_tiny, convs2s_tiny, bytenet_tiny),
    )
}


def preset(name: str) -> Config:
    """Return the preset with this name.

    Raises:
        ConfigError: there is none.
    """
    rows = {f"table3-{row}": row for row in TABLE_3}
    if isinstance(name, str) and name in rows:
        return table3(rows[name])
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(
            f'unknown preset "{name}"{did_you_mean(str(name), [*PRESETS, *rows])}; '
            f"choose from: {', '.join(PRESETS)}, or a row of Table 3, such as table3-A-h1"
        )
    return PRESETS[name]()
