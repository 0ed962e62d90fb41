"""Every knob of heed, on one page.

A run is described by one `Config`: five frozen sections. Values come from a preset, then from a TOML (or
JSON) file, then from `--set section.key=value`. The resolved config is saved in the run folder as
`config.json`, and `heed train config.json` repeats the run.
"""

import difflib
import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from heed.durable import read_json
from heed.errors import ConfigError

# A run's decode settings are for people to change, with open eyes.
_CHANGED = 'put back what it was; or, if the change is meant, delete the line "checksum" from it'


@dataclass(frozen=True)
class ModelConfig:
    """The shape of the model. The defaults are the paper's base model (section 3, Table 3)."""

    encoder_layers: int = 6  # N of the encoder
    decoder_layers: int = 6  # N of the decoder
    d_model: int = 512  # width of every layer's input and output
    d_ff: int = 2048  # inner width of the feed-forward layers
    h: int = 8  # attention heads
    d_k: int | None = None  # width of a key in one head; left out: d_model / h
    d_v: int | None = None  # width of a value in one head; left out: d_model / h
    dropout: float = 0.1  # P_drop, on each sub-layer's output and on embeddings + positions
    norm: Literal["post", "pre"] = "post"  # LayerNorm after the residual sum as published, or before the sub-layer
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"  # section 3.5; "learned" is Table 3 row (E)
    max_length: int = 256  # longest sentence in pieces; longer ones are not trained on, and translated in parts

    @property
    def key_size(self) -> int:
        return self.d_k if self.d_k is not None else self.d_model // self.h

    @property
    def value_size(self) -> int:
        return self.d_v if self.d_v is not None else self.d_model // self.h


@dataclass(frozen=True)
class TextConfig:
    """The joint sub-word vocabulary of both languages (section 5.1)."""

    vocab_size: int = 37_000  # pieces, at most; a small corpus may not have that many
    character_coverage: float = 0.9999  # share of characters with a piece of their own; the rest is spelt in bytes
    tokenizer: str = ""  # a sentencepiece model to use instead of learning one, such as another run's tokenizer.model
    learn_lines: int = 2_000_000  # lines of each file to learn from, evenly spaced, when there are more


@dataclass(frozen=True)
class DataConfig:
    """Where the text is. A `.tsv` source with no target holds both, a tab between; `.gz` is read as it is."""

    train_source: str = ""
    train_target: str = ""
    prepared: str = ""  # a folder made by `heed prepare`, instead of the two above
    valid_source: str = ""  # left out: no validation, no early stopping
    valid_target: str = ""


@dataclass(frozen=True)
class TrainConfig:
    """How to train. The defaults are the paper's (section 5) for one step; the rest is bookkeeping."""

    max_steps: int = 100_000  # updates
    batch_tokens: int = 25_000  # tokens of one update, on the longer side, padding included
    micro_batch_tokens: int = 4_096  # at most this many at a time; more are reached by gradient accumulation
    lanes: int = 0  # threads that share a micro-batch, with a part of the cores each; 0: one for each core, if worth it
    warmup_steps: int = 4_000  # steps of rising learning rate, equation (3)
    learning_rate_factor: float = 1.0  # multiplies equation (3)
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    adam_epsilon: float = 1e-9
    skip_bad_batches: int = 3  # updates in a row left out because they are not finite, before giving up
    label_smoothing: float = 0.1  # epsilon_ls
    seed: int = 1  # of initialisation, batches and dropout
    log_every: int = 50  # steps between two log lines
    validate_every: int = 1_000  # steps between two validations
    save_every: int = 1_000  # steps between two checkpoints
    patience: int = 10  # validations without a better one before stopping early; 0: never
    keep_checkpoints: int = 5  # the newest ones kept, at least 2
    average_last: int = 5  # checkpoints averaged at the end (section 6.1); 1: none
    ema_decay: float = 0.0  # of a running mean of the weights, such as 0.999, tried at the end; 0: none
    precision: Literal["float32", "bfloat16", "float16"] = "float32"  # of products, where the device is good at it
    compile: bool = False  # layers through torch.compile: minutes of warm-up, quicker on a GPU
    sharded: bool = False  # with several processes: each keeps a share of the model and optimizer only (FSDP2)
    tensorboard: bool = False  # write events for TensorBoard into the run folder, too


@dataclass(frozen=True)
class DecodeConfig:
    """How to translate unless told otherwise: the paper's settings (section 6.1)."""

    beam: int = 4  # hypotheses kept; 1: greedy
    alpha: float = 0.6  # length penalty
    extra_length: int = 50  # a translation has at most input length + this many pieces
    batch_tokens: int = 4_096  # source pieces translated together, padding included


@dataclass(frozen=True)
class Config:
    """One run, completely."""

    preset: str = "base"
    model: ModelConfig = field(default_factory=ModelConfig)
    text: TextConfig = field(default_factory=TextConfig)
    data: DataConfig = field(default_factory=DataConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# --- presets: one function each, and a name never changes its meaning --------------------------------------


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
    """As tiny, with a deep encoder and a shallow decoder: 6+2 pre-norm layers. Quicker to translate (docs/results.md).

    The decoder goes from word to word and the encoder sees all at once, so a layer of the first costs more time.
    """
    config = tiny()
    model = replace(config.model, encoder_layers=6, decoder_layers=2, norm="pre")
    return replace(config, preset="swift", model=model)


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


PRESETS = {preset.__name__: preset for preset in (tiny, swift, small, base, big)}


# --- reading ----------------------------------------------------------------------------------------------


def preset(name: str) -> Config:
    """The preset of that name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError(
            f'unknown preset "{name}"{_did_you_mean(str(name), PRESETS)}; there are: {", ".join(PRESETS)}'
        )
    return PRESETS[name]()


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a TOML file, or in a JSON file such as a run folder's `config.json`.

    That file's checksum is left out and not compared: here it is a file for people to change.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder; to go on with a run, use --resume {path}") from None
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: cannot be read: too many brackets within brackets") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: holds no settings; write sections and keys, as a run folder's config.json does")
    found.pop("checksum", None)
    return found


def parse_overrides(overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`["train.max_steps=600"]` as nested settings. Values are TOML; a bare word is a string."""
    settings: dict[str, dict[str, Any]] = {}
    for override in overrides:
        name, equals, text = override.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise ConfigError(f'--set "{override}": write it as section.key=value, such as train.max_steps=600')
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        settings.setdefault(section, {})[key] = value
    return settings


def build_config(base: Config, *layers: tuple[str, dict[str, Any]]) -> Config:
    """`base` with layers of settings on top, each named for complaints; all faults are reported at once.

    Raises:
        ConfigError: unknown keys (with the nearest known one), wrong types, values that cannot be.
    """
    faults: list[str] = []
    config = base
    for origin, settings in layers:
        config = _apply(config, settings, origin, faults)
    faults += _contradictions(config)
    if faults:
        raise ConfigError("\n".join(faults))
    return config


def read_run_config(folder: Path) -> Config:
    """The config a run folder saved.

    Raises:
        DamageError: it is missing, or not what was written.
        ConfigError: settings that cannot be.
    """
    path = folder / "config.json"
    return config_from_dict(read_json(path, _CHANGED), str(path))


def config_from_dict(settings: dict[str, Any], origin: str) -> Config:
    """The config that `to_dict` made these settings of."""
    return build_config(Config(), (origin, settings))


def _apply(config: Config, settings: dict[str, Any], origin: str, faults: list[str]) -> Config:
    sections = {f.name: getattr(config, f.name) for f in fields(Config) if f.name != "preset"}
    for name, values in settings.items():
        if name == "preset":
            if isinstance(values, str):
                sections["preset"] = values
            else:
                faults.append(f"{origin}: preset = {values!r}: must be text")
        elif name not in sections:
            keys = [f"{s}.{f.name}" for s, c in sections.items() if s != "preset" for f in fields(c)]
            known = [*sections, *keys]
            faults.append(f'{origin}: unknown section "{name}"{_did_you_mean(name, known)}')
        elif not isinstance(values, dict):
            faults.append(f'{origin}: "{name}" is a section; write [{name}] and its keys below')
        else:
            sections[name] = _apply_section(sections[name], name, values, origin, faults)
    return replace(config, **sections)


def _apply_section(section: Any, name: str, values: dict[str, Any], origin: str, faults: list[str]) -> Any:
    types = get_type_hints(type(section))
    good = {}
    for key, value in values.items():
        if key not in types:
            faults.append(f'{origin}: unknown key "{name}.{key}"{_did_you_mean_key(name, key)}')
        elif (fault := _type_fault(value, types[key])) is not None:
            faults.append(f"{origin}: {name}.{key} = {value!r}: {fault}")
        else:
            good[key] = float(value) if types[key] is float else value
    return replace(section, **good)


def _type_fault(value: Any, wanted: Any) -> str | None:
    if get_origin(wanted) is Literal:
        choices = get_args(wanted)
        return None if value in choices else f"must be one of {', '.join(map(repr, choices))}"
    if isinstance(wanted, UnionType):  # `int | None` is the only kind
        (wanted,) = (kind for kind in get_args(wanted) if kind is not NoneType)
        if value is None:
            return None
    if wanted is bool:
        return None if isinstance(value, bool) else "must be true or false"
    accepted = (int, float) if wanted is float else (wanted,)
    if isinstance(value, accepted) and not isinstance(value, bool):
        return None
    return f"must be {'a whole number' if wanted is int else 'a number' if wanted is float else 'text'}"


def _contradictions(config: Config) -> list[str]:
    model, text, data, train, decode = config.model, config.text, config.data, config.train, config.decode
    positive = {
        "model": (model, "encoder_layers decoder_layers d_model d_ff h max_length"),
        "text": (text, "vocab_size learn_lines"),
        "train": (
            train,
            "max_steps batch_tokens micro_batch_tokens warmup_steps log_every validate_every save_every",
        ),
        "decode": (decode, "beam batch_tokens"),
    }
    faults = [
        f"{name}.{key} = {getattr(section, key)}: must be at least 1"
        for name, (section, keys) in positive.items()
        for key in keys.split()
        if getattr(section, key) < 1
    ]
    if model.h > 0 and (model.d_k is None or model.d_v is None) and model.d_model % model.h:
        faults.append(f"model.d_model = {model.d_model} is not a multiple of model.h = {model.h}; give d_k and d_v")
    if model.positions == "sinusoidal" and model.d_model % 2:
        faults.append(f"model.d_model = {model.d_model}: sinusoidal positions need an even width")
    faults += [
        f"model.{key} = {getattr(model, key)}: must be at least 1"
        for key in ("d_k", "d_v")
        if getattr(model, key) is not None and getattr(model, key) < 1
    ]
    faults += [
        f"{name} = {value}: must be at least 0 and below 1"
        for name, value in [
            ("model.dropout", model.dropout),
            ("train.label_smoothing", train.label_smoothing),
            ("train.adam_beta1", train.adam_beta1),
            ("train.adam_beta2", train.adam_beta2),
            ("train.ema_decay", train.ema_decay),
        ]
        if not 0 <= value < 1
    ]
    faults += [
        f"{name} = {value}: must be above 0"
        for name, value in [
            ("train.learning_rate_factor", train.learning_rate_factor),
            ("train.adam_epsilon", train.adam_epsilon),
        ]
        if not 0 < value < math.inf
    ]
    faults += [
        f"{name} = {value}: must be at least 0"
        for name, value in [
            ("decode.alpha", decode.alpha),
            ("decode.extra_length", decode.extra_length),
            ("train.skip_bad_batches", train.skip_bad_batches),
        ]
        if not 0 <= value < math.inf
    ]
    if not 0 <= train.seed < 2**63:
        faults.append(f"train.seed = {train.seed}: must be at least 0 and below 2**63")
    faults += [
        f"data.{which}_target = {target!r}: its source, data.{which}_source, is missing"
        for which, source, target in [
            ("train", data.train_source, data.train_target),
            ("valid", data.valid_source, data.valid_target),
        ]
        if target and not source
    ]
    if data.prepared and data.train_source:
        faults.append("data.prepared holds the training text already; leave out data.train_source, or data.prepared")
    if data.prepared and text.tokenizer:
        faults.append("data.prepared has its own vocabulary; leave out text.tokenizer")
    if train.sharded and train.precision == "float16":
        faults.append('train.sharded does not go with train.precision = "float16"; take "bfloat16"')
    if not 0 < text.character_coverage <= 1:
        faults.append(f"text.character_coverage = {text.character_coverage}: must be above 0 and at most 1")
    if train.keep_checkpoints < max(2, train.average_last):
        faults.append(
            f"train.keep_checkpoints = {train.keep_checkpoints}: must be at least 2 and at least "
            f"train.average_last = {train.average_last}"
        )
    if train.average_last < 1 or train.patience < 0 or train.lanes < 0:
        faults.append("train.average_last must be at least 1, train.patience and train.lanes at least 0")
    if min(train.batch_tokens, train.micro_batch_tokens) < model.max_length + 1:
        faults.append(
            f"train.batch_tokens = {train.batch_tokens} and train.micro_batch_tokens = {train.micro_batch_tokens} "
            f"must hold one longest sentence and its end: model.max_length + 1 = {model.max_length + 1}"
        )
    return faults


def _did_you_mean(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f'; did you mean "{near[0]}"?' if near else ""


def _did_you_mean_key(section: str, key: str) -> str:
    """Of this section if one is near, else of any."""
    keys = {f.name: [k.name for k in fields(getattr(Config(), f.name))] for f in fields(Config) if f.name != "preset"}
    for name, known in sorted(keys.items(), key=lambda item: item[0] != section):
        if near := difflib.get_close_matches(key, known, n=1):
            return f'; did you mean "{name}.{near[0]}"?'
    return ""
