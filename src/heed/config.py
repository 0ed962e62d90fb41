"""Every knob of heed, on one page.

A run is described by one `Config`: five frozen sections. Values come from a preset, then from a TOML (or
JSON) file, then from `--set section.key=value`. The resolved config is saved in the run folder as
`config.json`, and `heed train config.json` repeats the run.
"""

import difflib
import inspect
import json
import math
import re
import reprlib
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
    kind: Literal["transformer"] = "transformer"  # what computes it all

    @property
    def key_size(self) -> int:
        return self.d_k if self.d_k is not None else self.d_model // self.h

    @property
    def value_size(self) -> int:
        return self.d_v if self.d_v is not None else self.d_model // self.h


@dataclass(frozen=True)
class TextConfig:
    """The joint vocabulary of both languages (section 5.1)."""

    unit: Literal["subword", "character"] = "subword"  # what a piece is; characters suit spelling and inflection
    vocab_size: int = 37_000  # pieces, at most; a small corpus may not have that many
    character_coverage: float = 0.9999  # share of characters, from 0.98, with a piece of their own; the rest is bytes
    bpe_dropout: float = 0.0  # in training: chance that a merge of pieces is skipped, drawn anew each epoch; try 0.1
    symbols: str = ""  # words that are one piece each and never split, such as tags, separated by spaces
    tokenizer: str = ""  # a sentencepiece model to use instead of learning one, such as another run's tokenizer.model
    learn_lines: int = 2_000_000  # lines of each file to learn from, evenly spaced, when there are more


@dataclass(frozen=True)
class DataConfig:
    """Where the text is. A `.tsv` source with no target holds both, a tab between; `.gz` is read as it is."""

    train_source: str = ""  # text to translate from
    train_target: str = ""  # its translation, line by line
    prepared: str = ""  # a folder made by `heed prepare`, instead of the two above
    valid_source: str = ""  # held-out text; left out: no validation, no early stopping
    valid_target: str = ""  # its translation, line by line


@dataclass(frozen=True)
class TrainConfig:
    """How to train. The defaults are the paper's (section 5) for one step; the rest is bookkeeping."""

    max_steps: int = 100_000  # updates
    batch_tokens: int = 25_000  # tokens of one update, on the longer side, padding included
    micro_batch_tokens: int = 4_096  # at most this many at a time; more are reached by gradient accumulation
    lanes: int = 0  # threads that share a micro-batch, with a part of the cores each; 0: one for each core, if worth it
    warmup_steps: int = 4_000  # steps of rising learning rate, equation (3)
    learning_rate_factor: float = 1.0  # multiplies equation (3)
    adam_beta1: float = 0.9  # decay of Adam's mean of gradients (section 5.3)
    adam_beta2: float = 0.98  # decay of Adam's mean of squared gradients
    adam_epsilon: float = 1e-9  # added to Adam's denominator
    skip_bad_batches: int = 3  # updates in a row left out because they are not finite, before giving up
    label_smoothing: float = 0.1  # epsilon_ls
    consistency: float = 0.0  # weight of a penalty for predicting two views of a pair differently; 3 is common
    noise: float = 0.0  # share of pairs, other ones each epoch, with typos, in capitals, without a final stop, ...
    cutoff: float = 0.0  # share of tokens that the second view hides; 0: it differs by dropout alone (R-Drop)
    seed: int = 1  # of initialisation, batches and dropout
    log_every: int = 50  # steps between two log lines
    validate_every: int = 1_000  # steps between two validations
    save_every: int = 1_000  # steps between two checkpoints
    metric: Literal["auto", "bleu", "chrf", "exact", "cer", "wer", "perplexity"] = "auto"  # chooses the best checkpoint
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

    def __post_init__(self) -> None:
        for name, section in get_type_hints(Config).items():
            if not isinstance(given := getattr(self, name), section):
                how = f"; change one with replace(config.{name}, key=value)" if isinstance(given, dict) else ""
                raise TypeError(f"Config({name}=...) must be a {section.__name__}, not {given!r}{how}")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# The least and the most each number may be. A value outside cannot work, so it is refused before it costs anything.
_MANY = 10**9  # steps, tokens, lines: more than any training has
BOUNDS: dict[str, tuple[float, float]] = {
    "model.encoder_layers": (1, 1_000),
    "model.decoder_layers": (1, 1_000),
    "model.d_model": (1, 65_536),
    "model.d_ff": (1, 1_048_576),
    "model.h": (1, 1_024),
    "model.d_k": (1, 65_536),
    "model.d_v": (1, 65_536),
    "model.dropout": (0, 0.99),  # kept values are scaled by 1 / (1 - dropout)
    "model.max_length": (1, 100_000),
    "text.vocab_size": (260, 1_000_000),  # 3 special symbols, 256 bytes, and one piece
    "text.character_coverage": (0.98, 1),  # what sentencepiece takes
    "text.learn_lines": (1, _MANY),
    "train.max_steps": (1, 99_999_999),  # checkpoints are named by 8 digits
    "train.batch_tokens": (1, _MANY),
    "train.micro_batch_tokens": (1, _MANY),
    "train.lanes": (0, 256),
    "train.warmup_steps": (1, _MANY),
    "train.learning_rate_factor": (1e-12, 1e38),
    "train.adam_beta1": (0, 0.999999),
    "train.adam_beta2": (0, 0.999999),
    "train.adam_epsilon": (1e-30, 1),  # in float32 a smaller one becomes 0, and 0 / 0 not a number
    "train.skip_bad_batches": (0, _MANY),
    "train.label_smoothing": (0, 0.99),
    "train.consistency": (0, 100),
    "train.cutoff": (0, 0.9),
    "train.noise": (0, 1),
    "text.bpe_dropout": (0, 0.9),
    "train.seed": (0, 2**63 - 1),
    "train.log_every": (1, _MANY),
    "train.validate_every": (1, _MANY),
    "train.save_every": (1, _MANY),
    "train.patience": (0, _MANY),
    "train.keep_checkpoints": (2, _MANY),
    "train.average_last": (1, 1_000),
    "train.ema_decay": (0, 0.999999),
    "decode.beam": (1, 1_000),  # with a vocabulary of 37,000, that is 150 MB of scores a step
    "decode.alpha": (0, 10),  # the length penalty of no text overflows
    "decode.extra_length": (0, 10_000),
    "decode.batch_tokens": (1, _MANY),
}


@dataclass(frozen=True)
class Setting:
    """One key of the config, as its line above describes it."""

    section: str
    key: str
    type: str
    default: str
    meaning: str


_FIELD = re.compile(r"^    (\w+): (.+?) = (.+?)(?:  # (.*))?$")


def all_settings() -> list[Setting]:
    """List every key with its type, default and meaning, read from the classes above."""
    types = {name: kind for name, kind in get_type_hints(Config).items() if name != "preset"}
    return [
        Setting(section, match[1], match[2], match[3], match[4] or "")
        for section, kind in types.items()
        for line in inspect.getsource(kind).splitlines()
        if (match := _FIELD.match(line))
    ]


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


def quick() -> Config:
    """For a first look within minutes of CPU: does it learn anything from this text? (docs/results.md)

    The shape of swift, with small batches and a small vocabulary, so that many updates fit into little time; peak
    learning rate 0.0056 at step 250. The last three checkpoints stand close together: their mean does what a falling
    learning rate would.
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


PRESETS = {preset.__name__: preset for preset in (quick, tiny, swift, small, base, big)}


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
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")
        found: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder; to go on with a run, use --resume {path}") from None
    except (ValueError, RecursionError) as error:  # what all of their errors are
        raise ConfigError(f"{path}: {_what_is_wrong(path, text, str(error))}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: holds no settings; write sections and keys, as a run folder's config.json does")
    found.pop("checksum", None)
    return found


def _what_is_wrong(path: Path, text: str, error: str) -> str:
    if path.suffix not in (".toml", ".json"):
        return f"not TOML; text goes to --source, settings into a .toml file ({error})"
    line = re.search(r"line (\d+)", error)
    lines = text.split("\n")
    if line and int(line[1]) <= len(lines):
        bare = re.match(r"\s*(\w+)\s*=\s*([A-Za-z][\w./+-]*)\s*$", lines[int(line[1]) - 1])
        if bare and path.suffix == ".toml":
            return f'line {line[1]}: text needs quotes; write {bare[1]} = "{bare[2]}"'
    return f"cannot be read: {error}"


def parse_overrides(overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`["train.max_steps=600"]` as nested settings. Values are TOML; a bare word is a string."""
    settings: dict[str, dict[str, Any]] = {}
    for override in overrides:
        name, equals, text = override.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise ConfigError(f'--set "{override}": write it as section.key=value, such as train.max_steps=600')
        try:
            (value,) = tomllib.loads(f"value = {text}").values()
        except (ValueError, RecursionError):  # a bare word; more than one value
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
    # heed 0.1.0 had no train.metric: its runs go by BLEU.
    return build_config(Config(train=TrainConfig(metric="bleu")), (origin, settings))


def _apply(config: Config, settings: dict[str, Any], origin: str, faults: list[str]) -> Config:
    sections = {f.name: getattr(config, f.name) for f in fields(Config) if f.name != "preset"}
    for name, values in settings.items():
        if name == "preset":
            if isinstance(values, str):
                sections["preset"] = values
            else:
                faults.append(f"{origin}: preset = {_shown(values)}: must be text")
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
            faults.append(f"{origin}: {name}.{key} = {_shown(value)}: {fault}")
        else:
            good[key] = _as_float(value) if types[key] is float else value
    return replace(section, **good)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf


def _shown(value: Any) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "(a very large number)"


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
        return "no file has a NUL in its name" if isinstance(value, str) and "\0" in value else None
    return f"must be {'a whole number' if wanted is int else 'a number' if wanted is float else 'text'}"


def _contradictions(config: Config) -> list[str]:
    model, text, data, train = config.model, config.text, config.data, config.train
    faults = [fault for key, bounds in BOUNDS.items() if (fault := _out_of_bounds(config, key, *bounds))]
    if faults:
        return faults  # what follows compares numbers that could be
    if (model.d_k is None or model.d_v is None) and model.d_model % model.h:
        faults.append(f"model.d_model = {model.d_model} is not a multiple of model.h = {model.h}; give d_k and d_v")
    if model.positions == "sinusoidal" and model.d_model % 2:
        faults.append(f"model.d_model = {model.d_model}: sinusoidal positions need an even width")
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
    if text.unit != "subword" and (data.prepared or text.tokenizer):
        given = "data.prepared" if data.prepared else "text.tokenizer"
        faults.append(f'text.unit = "{text.unit}": {given} brings its own vocabulary; leave out one of the two')
    if train.cutoff and not train.consistency:
        faults.append(f"train.cutoff = {train.cutoff} is of the consistency loss; give train.consistency, such as 3")
    if train.sharded and train.precision == "float16":
        faults.append('train.sharded does not go with train.precision = "float16"; take "bfloat16"')
    if train.keep_checkpoints < train.average_last:
        faults.append(
            f"train.keep_checkpoints = {train.keep_checkpoints}: must be at least "
            f"train.average_last = {train.average_last}"
        )
    if min(train.batch_tokens, train.micro_batch_tokens) < model.max_length + 1:
        faults.append(
            f"train.batch_tokens = {train.batch_tokens} and train.micro_batch_tokens = {train.micro_batch_tokens} "
            f"must hold one longest sentence and its end: model.max_length + 1 = {model.max_length + 1}"
        )
    return faults


def _out_of_bounds(config: Config, name: str, least: float, most: float) -> str | None:
    section, key = name.split(".")
    value = getattr(getattr(config, section), key)
    if value is None or least <= value <= most:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        fault = "must be finite"
    else:
        fault = f"must be at least {_plain(least)}" if value < least else f"must be at most {_plain(most)}"
    return f"{name} = {_shown(value)}: {fault}"


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


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
