"""Read settings from files and from `--set`, check them, and build a `Config` from them."""

import difflib
import json
import math
import os
import re
import reprlib
import tomllib
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from heed.config import (
    BOUNDS,
    UNUSED_SETTINGS,
    WEIGHT_BOUNDS,
    Config,
    DataConfig,
    ModelConfig,
    TextConfig,
    TrainConfig,
    TrainingText,
)
from heed.durable import json_fault, read_json
from heed.errors import ConfigError
from heed.wording import did_you_mean

# Users may edit a run's decode settings, but not by accident.
_ADVICE = 'restore the old content or, if the edit is intended, delete its "checksum" line'


def read_config(path: Path) -> dict[str, Any]:
    """Return the settings in a TOML file, or in a JSON file such as a run folder's `config.json`.

    The checksum in `config.json` is dropped without being verified: here, it is a file that users may edit.

    Raises:
        ConfigError: the file cannot be read.
    """
    text = ""
    try:
        text = path.read_text(encoding="utf-8-sig")
        found: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a folder; to resume a run, use --resume {path}") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: {json_fault(error)}") from None
    except (ValueError, RecursionError) as error:  # the base of both parsers' errors
        raise ConfigError(f"{path}: {_explain(path, text, str(error))}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: has no settings; write sections and keys, as in a run folder's config.json")
    found.pop("checksum", None)
    return found


def _explain(path: Path, text: str, error: str) -> str:
    """Explain a parser's error, with a correction if text lacks its quotes."""
    if path.suffix not in (".toml", ".json"):
        return f"not TOML; pass text with --source, and settings in a .toml file ({error})"
    line = re.search(r"line (\d+)", error)
    lines = text.split("\n")
    if line and int(line[1]) <= len(lines):
        bare = re.match(r"\s*(\w+)\s*=\s*([A-Za-z][\w./+-]*)\s*$", lines[int(line[1]) - 1])
        if bare and path.suffix == ".toml":
            return f'line {line[1]}: text needs quotes; write {bare[1]} = "{bare[2]}"'
    return f"cannot be read: {error}"


def parse_overrides(overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return overrides such as `train.max_steps=600` as nested settings. Values are TOML; a bare word is a string.

    Raises:
        ConfigError: an override is not of the form section.key=value.
    """
    settings: dict[str, dict[str, Any]] = {}
    for override in overrides:
        name, equals, text = override.partition("=")
        section, dot, key = name.strip().partition(".")
        if not (equals and dot and section and key):
            raise ConfigError(f'--set "{override}": write it as section.key=value, such as train.max_steps=600')
        try:
            (value,) = tomllib.loads(f"value = {text}").values()
        except (ValueError, RecursionError):  # a bare word, or more than one value
            value = text.strip()
        settings.setdefault(section, {})[key] = value
    return settings


def build_config(base: Config, *layers: tuple[str, dict[str, Any]]) -> Config:
    """Return `base` with layers of settings applied in order, and check the result.

    Each layer has a name for messages.

    Raises:
        ConfigError: with all faults at once: unknown keys, wrong types, values that are invalid or contradict others.
    """
    faults: list[str] = []
    config = base
    for origin, settings in layers:
        config = _apply(config, settings, origin, faults)
    faults += _contradictions(config, _origin_of_training_texts(layers))
    if faults:
        raise ConfigError("\n".join(faults))
    return config


def _origin_of_training_texts(layers: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """Return the name of the last layer that sets data.train; "" if none does."""
    data = [(origin, settings.get("data")) for origin, settings in layers]
    return next((origin for origin, given in reversed(data) if isinstance(given, dict) and "train" in given), "")


def read_run_config(folder: Path) -> Config:
    """Return the config saved in a run folder.

    Raises:
        DamageError: it is missing, or not what was written.
        ConfigError: it has invalid settings.
    """
    path = folder / "config.json"
    return config_from_dict(read_json(path, _ADVICE), str(path))


def config_from_dict(settings: dict[str, Any], origin: str) -> Config:
    """Return the config that `Config.to_dict` returned these settings for."""
    # heed 0.1.0 had no train.metric: its runs use BLEU.
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
            faults.append(f'{origin}: unknown section "{name}"{did_you_mean(name, known)}')
        elif not isinstance(values, dict):
            faults.append(f'{origin}: "{name}" is a section; write [{name}] and its keys below')
        else:
            sections[name] = _apply_section(sections[name], name, values, origin, faults)
    return replace(config, **sections)


def _apply_section(section: Any, name: str, values: dict[str, Any], origin: str, faults: list[str]) -> Any:
    types = get_type_hints(type(section))
    good: dict[str, Any] = {}
    for key, value in values.items():
        if key not in types:
            faults.append(f'{origin}: unknown key "{name}.{key}"{_did_you_mean_key(name, key)}')
        elif types[key] == tuple[TrainingText, ...]:
            good[key] = _training_texts(value, origin, faults)
        elif (fault := _type_fault(value, types[key])) is not None:
            faults.append(f"{origin}: {name}.{key} = {_shown(value)}: {fault}")
        else:
            good[key] = _as_float(value) if types[key] is float else value
    return replace(section, **good)


def _training_texts(entries: Any, origin: str, faults: list[str]) -> tuple[TrainingText, ...]:
    """Return the entries of `data.train`."""
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, dict) for entry in entries):
        how = 'must be a list of tables; write [[data.train]], and source = "..." below, for each corpus'
        faults.append(f"{origin}: data.train = {_shown(entries)}: {how}")
        return ()
    types, texts = get_type_hints(TrainingText), []
    for number, entry in enumerate(entries, 1):
        where = f"{origin}: data.train, entry {number}"
        faults += [f'{where}: unknown key "{key}"{did_you_mean(key, types)}' for key in entry if key not in types]
        known = {key: value for key, value in entry.items() if key in types}
        wrong = {key: fault for key, value in known.items() if (fault := _type_fault(value, types[key])) is not None}
        faults += [f"{where}: {key} = {_shown(known[key])}: {fault}" for key, fault in wrong.items()]
        good = {key: value for key, value in known.items() if key not in wrong}
        if "weight" in good:
            good["weight"] = _as_float(good["weight"])
        texts.append(TrainingText(**good))
    return tuple(texts)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf


def _shown(value: Any) -> str:
    try:
        return reprlib.repr(value)
    except ValueError:  # Python does not print integers of more than 4,300 digits
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
        return "must not contain NUL characters" if isinstance(value, str) and "\0" in value else None
    return f"must be {'a whole number' if wanted is int else 'a number' if wanted is float else 'text'}"


def _contradictions(config: Config, texts_origin: str) -> list[str]:
    """Return a message for each value out of bounds, or else for each contradiction between values.

    `texts_origin` names the file that data.train is from.
    """
    model, text, data, train = config.model, config.text, config.data, config.train
    faults = [fault for key, bounds in BOUNDS.items() if (fault := _out_of_bounds(config, key, *bounds))]
    if faults:
        return faults  # the checks below need numbers within bounds
    faults += _faults_of_kind(config)
    has_heads = "h" not in UNUSED_SETTINGS.get(model.kind, ())
    has_sinusoids = model.positions == "sinusoidal" and "positions" not in UNUSED_SETTINGS.get(model.kind, ())
    if has_heads and (model.d_k is None or model.d_v is None) and model.d_model % model.h:
        faults.append(
            f"model.d_model = {model.d_model} is not a multiple of model.h = {model.h}; change one, or set d_k and d_v"
        )
    if train.head_diversity and not (has_heads and model.h > 1):
        which = f"model.h = {model.h}" if has_heads else f'model.kind = "{model.kind}" has no attention heads'
        faults.append(f"train.head_diversity = {train.head_diversity} compares two heads, but {which}; set it to 0")
    if has_sinusoids and model.d_model % 2:
        faults.append(f"model.d_model = {model.d_model}: sinusoidal positions need an even width")
    faults += [
        f"data.{which}_target = {target!r}: its source, data.{which}_source, is missing; set both"
        for which, source, target in [
            ("train", data.train_source, data.train_target),
            ("valid", data.valid_source, data.valid_target),
        ]
        if target and not source
    ]
    faults += _faults_of_training_texts(data, text, bool(text.tokenizer or train.init_from), texts_origin)
    if data.prepared and data.training_texts:
        given = "data.train" if data.train else "data.train_source"
        faults.append(f"data.prepared already contains the training text; drop {given} or data.prepared")
    if data.prepared and text.tokenizer:
        faults.append("data.prepared has its own vocabulary; drop text.tokenizer")
    if text.unit != "subword" and (data.prepared or text.tokenizer):
        given = "data.prepared" if data.prepared else "text.tokenizer"
        faults.append(f'text.unit = "{text.unit}": {given} has its own vocabulary; drop one of the two')
    if train.cutoff and not train.consistency:
        faults.append(f"train.cutoff = {train.cutoff} needs the consistency loss; set train.consistency, such as 3")
    faults += _faults_of_trees(config)
    if train.cooldown_steps > train.max_steps:
        faults.append(
            f"train.cooldown_steps = {train.cooldown_steps}: must be at most train.max_steps = {train.max_steps}"
        )
    if train.sharded and train.precision == "float16":
        faults.append('train.sharded does not support train.precision = "float16"; use "bfloat16"')
    if train.keep_checkpoints < train.average_last:
        faults.append(
            f"train.keep_checkpoints = {train.keep_checkpoints}: must be at least "
            f"train.average_last = {train.average_last}"
        )
    if min(train.batch_tokens, train.micro_batch_tokens) < model.max_length + 1:
        faults.append(
            f"train.batch_tokens = {train.batch_tokens} and train.micro_batch_tokens = {train.micro_batch_tokens} "
            f"must fit the longest sentence and its end token: model.max_length + 1 = {model.max_length + 1}"
        )
    return faults


def _faults_of_kind(config: Config) -> list[str]:
    """Return a message for each setting that this kind of model does not use or cannot have."""
    model, default = config.model, ModelConfig()
    faults = [
        f"model.{key} = {getattr(model, key)!r}: a {model.kind} model has no such setting; drop it"
        for key in UNUSED_SETTINGS.get(model.kind, ())
        if getattr(model, key) != getattr(default, key)
    ]
    if model.kind == "recurrent" and model.d_model % 2:
        faults.append(
            f"model.d_model = {model.d_model}: the first layer of a recurrent model reads in two directions, each with "
            "half of the width; choose an even number"
        )
    if model.kind == "recurrent" and config.train.compile:
        faults.append("train.compile: torch.compile does not compile recurrent layers; set it to false")
    if model.kind == "recurrent" and config.train.precision != "float32":
        faults.append(
            f'train.precision = "{config.train.precision}": the cells of a recurrent model are computed in float32; '
            'set it to "float32"'
        )
    if model.kind == "convolutional" and model.kernel_width % 2 == 0:
        faults.append(
            f"model.kernel_width = {model.kernel_width}: the encoder reads as many positions before as after; choose "
            "an odd number"
        )
    return faults


def _faults_of_trees(config: Config) -> list[str]:
    """Return a message for each setting that does not go with parsing, or only with it."""
    text, data, train = config.text, config.data, config.train
    if text.trees == "none":
        faults = [
            f'data.{key} = {value!r} needs a parser; choose --preset parsing, or set text.trees, such as "in-order"'
            for key, value in (("train_trees", data.train_trees), ("valid_trees", data.valid_trees))
            if value
        ]
        if train.metric == "f1":
            faults.append('train.metric = "f1" is for trees; set text.trees, such as "in-order"')
        if config.model.kind == "follower":
            faults.append('model.kind = "follower" is for trees; set text.trees, such as "in-order"')
        return faults
    faults = [
        f"data.{key} is for translation, and text.trees = {text.trees!r} for parsing; give trees (data.train_trees, "
        "data.valid_trees; --trees, --valid-trees)"
        for key in ("train_source", "train", "prepared", "valid_source")
        if getattr(data, key)
    ]
    if train.metric not in ("f1", "perplexity"):
        faults.append(f'train.metric = "{train.metric}" is for translation; a parser has "f1" or "perplexity"')
    if train.noise:
        faults.append(f"train.noise = {train.noise}: typing noise would change the words of a tree; set it to 0")
    if train.cutoff and config.model.kind == "follower":
        faults.append(f"train.cutoff = {train.cutoff} hides words that the decoder follows; set it to 0")
    if text.unit != "subword":
        faults.append(f'text.unit = "{text.unit}": trees need "subword", which separates words')
    if config.decode.extra_length < 3:
        faults.append(f"decode.extra_length = {config.decode.extra_length}: a tree needs at least 3; 300 is common")
    return faults


def _faults_of_training_texts(data: DataConfig, text: TextConfig, has_vocabulary: bool, origin: str) -> list[str]:
    """Return a message for each entry of `data.train` that is incomplete, repeated, or wrong in weight or tag."""
    faults = []
    file = origin and f"{origin}: "
    if data.train and data.train_source:
        faults.append("data.train already names the training text; drop it or data.train_source (--source)")
    seen: dict[tuple[str, ...], int] = {}
    for number, entry in enumerate(data.train, 1):
        where = f"{file}data.train, entry {number}"
        if not entry.source:
            faults.append(f'{where}: has no source; add source = "FILE"')
            continue
        if not entry.has_translation:
            faults.append(
                f'{where}: {entry.source} has no translation; add target = "FILE", or name one .tsv file with source, '
                "tab, target on each line"
            )
        files = [os.path.realpath(path) if path else "" for path in (entry.source, entry.target)]
        first = seen.setdefault((*files, entry.tag), number)
        if first != number:
            faults.append(
                f"{where}: {entry.source} is the corpus of entry {first} again; give that one a higher weight"
            )
        if fault := _fault_of_number(entry.weight, *WEIGHT_BOUNDS):
            faults.append(f"{where}: weight = {_shown(entry.weight)}: {fault}")
        if entry.tag != "".join(entry.tag.split()):
            faults.append(f"{where}: tag = {entry.tag!r}: must be one word, without blanks")
        elif entry.tag and entry.tag not in text.symbols.split() and not has_vocabulary:
            symbols = " ".join([*text.symbols.split(), entry.tag])
            faults.append(f'{where}: tag = {entry.tag!r} would be split; add it: text.symbols = "{symbols}"')
    return faults


def _out_of_bounds(config: Config, name: str, least: float, most: float) -> str | None:
    section, key = name.split(".")
    value = getattr(getattr(config, section), key)
    fault = None if value is None else _fault_of_number(value, least, most)
    return fault and f"{name} = {_shown(value)}: {fault}"


def _fault_of_number(value: float, least: float, most: float) -> str | None:
    if least <= value <= most:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return "must be finite"
    return f"must be at least {_plain(least)}" if value < least else f"must be at most {_plain(most)}"


def _plain(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"


def _did_you_mean_key(section: str, key: str) -> str:
    """Suggest the nearest key of this section or, if none is near, of another."""
    keys = {f.name: [k.name for k in fields(getattr(Config(), f.name))] for f in fields(Config) if f.name != "preset"}
    for name, known in sorted(keys.items(), key=lambda item: item[0] != section):
        if near := difflib.get_close_matches(key, known, n=1):
            return f'; did you mean "{name}.{near[0]}"?'
    return ""
