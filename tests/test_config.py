import dataclasses
import json
import math
from datetime import date
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import torch

from heed.config import (
    BOUNDS,
    Config,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    Setting,
    TrainConfig,
    TrainingText,
    all_settings,
)
from heed.durable import write_json
from heed.errors import ConfigError
from heed.model.dropout import Dropout
from heed.model.transformer import Transformer
from heed.presets import PRESETS, base, preset, tiny
from heed.settings import build_config, config_from_dict, parse_overrides, read_config
from heed.vocabulary import Vocabulary

ENTRY = {"source": "a.en", "target": "a.de"}


def faults_of(settings: dict[str, Any], base: Config | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        build_config(base or Config(), ("x.toml", settings))
    return str(caught.value).splitlines()


# --- presets: a name never changes its meaning ------------------------------------------------------------


def test_base_is_the_paper() -> None:
    config = preset("base")
    assert config == Config()
    model, train = config.model, config.train
    assert (model.encoder_layers, model.decoder_layers) == (6, 6)  # Table 3, base: N
    assert (model.d_model, model.d_ff, model.h) == (512, 2048, 8)
    assert (model.key_size, model.value_size) == (64, 64)
    assert model.dropout == 0.1
    assert (model.norm, model.positions) == ("post", "sinusoidal")
    assert (train.label_smoothing, train.max_steps, train.warmup_steps) == (0.1, 100_000, 4_000)
    assert (train.adam_beta1, train.adam_beta2, train.adam_epsilon) == (0.9, 0.98, 1e-9)  # section 5.3
    assert (train.batch_tokens, train.learning_rate_factor, train.average_last) == (25_000, 1.0, 5)
    assert config.text.vocab_size == 37_000  # section 5.1
    assert (config.decode.beam, config.decode.alpha, config.decode.extra_length) == (4, 0.6, 50)  # section 6.1


def test_big_is_the_paper() -> None:
    config = preset("big")
    model, train = config.model, config.train
    assert (model.encoder_layers, model.decoder_layers) == (6, 6)  # Table 3, big
    assert (model.d_model, model.d_ff, model.h, model.dropout) == (1024, 4096, 16, 0.3)
    assert (model.key_size, model.value_size) == (64, 64)
    assert (train.max_steps, train.average_last) == (300_000, 20)
    assert (train.label_smoothing, train.warmup_steps, train.batch_tokens) == (0.1, 4_000, 25_000)
    assert train.keep_checkpoints >= 20


def test_tiny_is_the_published_shape() -> None:
    model = preset("tiny").model
    assert (model.encoder_layers, model.decoder_layers) == (4, 4)
    assert (model.d_model, model.d_ff, model.h, model.dropout) == (128, 256, 4, 0.3)
    train = preset("tiny").train
    # A peak of 0.005 at step 2000, at most 8000 steps.
    assert (train.warmup_steps, train.max_steps) == (2_000, 8_000)
    assert train.learning_rate_factor * (128 * 2_000) ** -0.5 == pytest.approx(0.005, rel=0.02)


def test_swift_is_tiny_with_a_deep_encoder_and_a_shallow_decoder() -> None:
    swift, tiny = preset("swift"), preset("tiny")
    assert (swift.model.encoder_layers, swift.model.decoder_layers, swift.model.norm) == (6, 2, "pre")
    assert (swift.model.d_model, swift.model.d_ff, swift.train, swift.text) == (128, 256, tiny.train, tiny.text)


def test_small_lies_between_tiny_and_base() -> None:
    small = preset("small").model
    assert (small.encoder_layers, small.decoder_layers) == (6, 6)
    assert (small.d_model, small.d_ff, small.h, small.dropout) == (256, 1024, 4, 0.2)


def test_quick_is_swift_with_many_small_updates() -> None:
    quick, swift = preset("quick"), preset("swift")
    assert dataclasses.replace(quick.model, dropout=0.3) == swift.model and quick.model.dropout == 0.1
    assert (quick.train.max_steps, quick.train.batch_tokens, quick.text.vocab_size) == (700, 1_500, 3_000)
    # 1 * 128^-0.5 * 250^-0.5
    assert (quick.train.learning_rate_factor, quick.train.warmup_steps) == (1.0, 250)
    assert (quick.train.save_every, quick.train.average_last) == (25, 3)


@pytest.mark.parametrize("name", ["quick", "tiny", "swift", "small", "base", "big"])
def test_presets_are_whole_and_know_their_name(name: str) -> None:
    assert preset(name).preset == name
    assert build_config(preset(name)) == preset(name)  # without contradictions


def test_an_unknown_preset() -> None:
    with pytest.raises(
        ConfigError,
        match='unknown preset "tinny"; did you mean "tiny"\\?; choose from: quick, tiny, swift, small, base, big',
    ):
        preset("tinny")


@pytest.mark.parametrize("name", [5, ["tiny"], None])
def test_a_preset_that_is_no_text(name: Any) -> None:
    with pytest.raises(ConfigError, match="unknown preset"):
        preset(name)
    assert faults_of({"preset": name}) == [f"x.toml: preset = {name!r}: must be text"]


def test_configs_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        tiny().model.d_model = 5  # type: ignore[misc]


# --- files ------------------------------------------------------------------------------------------------


def test_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(
        'preset = "tiny"\n[train]\nadam_epsilon = 1e-9\nmax_steps = 1_000\n'
        '[model]\nd_k = 16\nnorm = "pre"\ndropout = 0\n[data]\ntrain_source = "no"\n',
        encoding="utf-8",
    )
    config = build_config(tiny(), (str(path), read_config(path)))
    assert config.train.adam_epsilon == 0.000000001
    assert config.train.max_steps == 1000
    assert config.model == dataclasses.replace(tiny().model, d_k=16, norm="pre", dropout=0.0)
    assert isinstance(config.model.dropout, float)
    assert config.data.train_source == "no"
    assert config.text == tiny().text


@pytest.mark.parametrize("name", ["quick", "tiny", "swift", "small", "base", "big"])
def test_there_and_back_through_json(tmp_path: Path, name: str) -> None:
    config = build_config(
        preset(name),
        ("a", {"model": {"d_k": 16, "d_v": None}, "data": {"train_source": "Grüße\u2028.en"}, "train": {"seed": 7}}),
    )
    path = tmp_path / "config.json"
    write_json(path, config.to_dict())  # as a run folder saves it
    assert config_from_dict(read_config(path), "config.json") == config
    assert config_from_dict(json.loads(json.dumps(config.to_dict())), "config.json") == config


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("x.toml", b"[train\n", r"x\.toml: cannot be read: .*line 1"),
        ("x.toml", b"[train]\nmax_steps = \n", r"x\.toml: cannot be read: .*line 2"),
        ("x.toml", b"# gr\xfc\xdfe", r"x\.toml: cannot be read: .*utf-8"),
        ("x.json", b"{", r"x\.json: line 1 is not JSON .*; correct that line"),
        ("x.json", b"[1, 2]", r"x\.json: has no settings"),
        ("x.json", b"5", r"x\.json: has no settings"),
        ("x.json", b"[" * 100_000, r"x\.json: cannot be read"),
        ("x.toml", b"[train]\nseed = " + b"9" * 5000, r"x\.toml: cannot be read"),
        ("x.toml", b"preset = tiny\n", r'x\.toml: line 1: text needs quotes; write preset = "tiny"$'),
        ("x.toml", b"[data]\ntrain_source = a/b.en\n", r'x\.toml: line 2: .*; write train_source = "a/b\.en"$'),
        ("a.en", b"A man rides.\n", r"a\.en: not TOML; pass text with --source"),
        ("a.en.gz", b"\x1f\x8b\x08\x00\xff", r"a\.en\.gz: not TOML; pass text with --source"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=complaint):
        read_config(tmp_path / name)


def test_a_toml_file_as_windows_saves_it(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b'\xef\xbb\xbfpreset = "tiny"\r\n')
    assert read_config(tmp_path / "x.toml") == {"preset": "tiny"}


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml: no such file"):
        read_config(tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match=rf"is a folder; to resume a run, use --resume {tmp_path}"):
        read_config(tmp_path)


# --- layers and faults ------------------------------------------------------------------------------------


def test_later_layers_win() -> None:
    config = build_config(
        tiny(), ("file", {"train": {"seed": 2, "max_steps": 10}}), ("--set", {"train": {"max_steps": 20}})
    )
    assert (config.train.seed, config.train.max_steps) == (2, 20)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"train": {"warmup_step": 1}}, 'unknown key "train.warmup_step"; did you mean "train.warmup_steps"?'),
        ({"model": {"dmodel": 1}}, 'unknown key "model.dmodel"; did you mean "model.d_model"?'),
        ({"model": {"xyzzy_qqq": 1}}, 'unknown key "model.xyzzy_qqq"'),
        ({"model": {"max_step": 1}}, 'unknown key "model.max_step"; did you mean "train.max_steps"?'),
        ({"decode": {"batch_token": 1}}, 'unknown key "decode.batch_token"; did you mean "decode.batch_tokens"?'),
        ({"trian": {"seed": 1}}, 'unknown section "trian"; did you mean "train"?'),
        ({"max_steps": 5}, 'unknown section "max_steps"; did you mean "train.max_steps"?'),
        ({"train": 5}, '"train" is a section; write [train] and its keys below'),
        ({"train": {"max_steps": 5.0}}, "train.max_steps = 5.0: must be a whole number"),
        ({"train": {"max_steps": "5"}}, "train.max_steps = '5': must be a whole number"),
        ({"train": {"max_steps": True}}, "train.max_steps = True: must be a whole number"),
        ({"train": {"max_steps": None}}, "train.max_steps = None: must be a whole number"),
        ({"train": {"adam_epsilon": "1e-9"}}, "train.adam_epsilon = '1e-9': must be a number"),
        ({"model": {"dropout": True}}, "model.dropout = True: must be a number"),
        ({"model": {"d_k": 1.5}}, "model.d_k = 1.5: must be a whole number"),
        ({"model": {"norm": "none"}}, "model.norm = 'none': must be one of 'post', 'pre'"),
        ({"model": {"norm": ["pre"]}}, "model.norm = ['pre']: must be one of 'post', 'pre'"),
        ({"data": {"train_source": 5}}, "data.train_source = 5: must be text"),
    ],
)
def test_a_fault_is_named_with_its_origin(settings: dict[str, Any], fault: str) -> None:
    assert faults_of(settings) == [f"x.toml: {fault}"]


def test_all_faults_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        build_config(
            Config(),
            ("x.toml", {"trian": {}, "train": {"warmup_step": 1, "seed": "one"}, "model": {"dropout": 2.0}}),
            ("--set", {"model": {"headz": 1}}),
        )
    message = str(caught.value)
    for part in ("trian", "warmup_step", "train.seed", "model.headz", "model.dropout = 2.0"):
        assert part in message
    assert len(message.splitlines()) == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": {"d_model": 100, "h": 8}}, ["d_model = 100 is not a multiple of model.h = 8", "d_k and d_v"]),
        ({"model": {"d_model": 101, "h": 1}}, ["d_model = 101", "even width"]),
        ({"model": {"d_model": 0}}, ["model.d_model = 0: must be at least 1"]),
        ({"model": {"h": 0}}, ["model.h = 0: must be at least 1"]),
        ({"model": {"attention_window": -1}}, ["model.attention_window = -1: must be at least 0"]),
        ({"model": {"d_k": 0}}, ["model.d_k = 0: must be at least 1"]),
        ({"model": {"encoder_layers": -1}}, ["model.encoder_layers = -1"]),
        ({"model": {"dropout": 1.0}}, ["model.dropout = 1.0: must be at most 0.99"]),
        ({"model": {"dropout": float("nan")}}, ["model.dropout = nan: must be finite"]),
        ({"train": {"label_smoothing": -0.1}}, ["train.label_smoothing = -0.1"]),
        ({"train": {"head_diversity": -1.0}}, ["train.head_diversity = -1.0: must be at least 0"]),
        ({"train": {"head_diversity": 0.3}, "model": {"h": 1}}, ["head_diversity = 0.3 compares two", "model.h = 1"]),
        ({"train": {"adam_beta2": 1.0}}, ["train.adam_beta2 = 1.0"]),
        ({"train": {"adam_epsilon": 0.0}}, ["train.adam_epsilon = 0.0: must be at least 1e-30"]),
        ({"train": {"learning_rate_factor": -1.0}}, ["train.learning_rate_factor = -1.0: must be at least 1e-12"]),
        ({"train": {"learning_rate_factor": float("inf")}}, ["train.learning_rate_factor = inf: must be finite"]),
        ({"train": {"learning_rate_factor": float("nan")}}, ["train.learning_rate_factor = nan: must be finite"]),
        ({"train": {"max_steps": 0}}, ["train.max_steps = 0: must be at least 1"]),
        ({"train": {"warmup_steps": 0}}, ["train.warmup_steps = 0"]),
        ({"train": {"cooldown_steps": 9, "max_steps": 8}}, ["cooldown_steps = 9: must be at most train.max_steps = 8"]),
        ({"train": {"seed": -1}}, ["train.seed = -1: must be at least 0"]),
        ({"train": {"seed": 2**63}}, [f"train.seed = {2**63}"]),
        ({"train": {"average_last": 0}}, ["train.average_last"]),
        ({"train": {"patience": -1}}, ["train.patience"]),
        ({"train": {"average_last": 6}}, ["keep_checkpoints = 5", "average_last = 6"]),
        ({"train": {"average_last": 1, "keep_checkpoints": 1}}, ["keep_checkpoints = 1"]),
        ({"model": {"max_length": 4096}}, ["micro_batch_tokens = 4096", "max_length + 1 = 4097"]),
        ({"train": {"batch_tokens": 256}}, ["batch_tokens = 256", "max_length + 1 = 257"]),
        ({"text": {"vocab_size": 0}}, ["text.vocab_size = 0"]),
        ({"text": {"vocab_size": 10**19}}, [f"text.vocab_size = {10**19}: must be at most 1,000,000"]),
        ({"text": {"character_coverage": 0.0}}, ["text.character_coverage = 0.0"]),
        ({"text": {"character_coverage": 0.97}}, ["text.character_coverage = 0.97: must be at least 0.98"]),
        ({"text": {"character_coverage": 1.1}}, ["text.character_coverage = 1.1"]),
        ({"text": {"unit": "character", "tokenizer": "t.model"}}, ['text.unit = "character"', "text.tokenizer"]),
        ({"text": {"unit": "character"}, "data": {"prepared": "p"}}, ['text.unit = "character"', "data.prepared"]),
        ({"text": {"unit": "letter"}}, ["text.unit = 'letter': must be one of 'subword', 'character'"]),
        ({"decode": {"beam": 0}}, ["decode.beam = 0"]),
        ({"decode": {"beam": 10**12}}, ["decode.beam = 1000000000000: must be at most 1,000"]),
        ({"decode": {"alpha": -0.5}}, ["decode.alpha = -0.5: must be at least 0"]),
        ({"decode": {"extra_length": -1}}, ["decode.extra_length = -1: must be at least 0"]),
        ({"data": {"valid_target": "v.de"}}, ["data.valid_target = 'v.de'", "data.valid_source, is missing"]),
        ({"data": {"train_target": "t.de"}}, ["data.train_target = 't.de'", "data.train_source, is missing"]),
        ({"data": {"train": [ENTRY, {"target": "a"}]}}, ["data.train, entry 2: has no source"]),
        ({"data": {"train": [ENTRY | {"weight": 0}]}}, ["data.train, entry 1: weight = 0.0: must be at least 0.001"]),
        ({"data": {"train": [ENTRY | {"weight": -2}]}}, ["entry 1: weight = -2.0: must be at least 0.001"]),
        ({"data": {"train": [ENTRY | {"weight": math.nan}]}}, ["entry 1: weight = nan: must be finite"]),
        ({"data": {"train": [ENTRY | {"weight": math.inf}]}}, ["entry 1: weight = inf: must be finite"]),
        ({"data": {"train": [ENTRY | {"weight": 1001}]}}, ["entry 1: weight = 1001.0: must be at most 1,000"]),
        (
            {"data": {"train": [ENTRY, ENTRY | {"source": "./a.en"}]}},
            ["entry 2: ./a.en is the corpus of entry 1 again"],
        ),
        ({"data": {"train": [ENTRY], "train_source": "b.tsv"}}, ["data.train already names the training text"]),
        ({"data": {"train": [ENTRY], "prepared": "p"}}, ["drop data.train or data.prepared"]),
        ({"data": {"train": [ENTRY | {"tag": "a b"}]}}, ["entry 1: tag = 'a b': must be one word"]),
        (
            {"data": {"train": [ENTRY | {"tag": "<bt>"}]}, "text": {"symbols": "<x>"}},
            ["entry 1: tag = '<bt>' would be split", 'text.symbols = "<x> <bt>"'],
        ),
    ],
)
def test_values_that_cannot_be(settings: dict[str, Any], words: list[str]) -> None:
    (fault,) = faults_of(settings)
    for word in words:
        assert word in fault


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("a.en", "x: data.train = 'a.en': must be a list of tables; write [[data.train]]"),
        (["a.en"], "x: data.train = ['a.en']: must be a list of tables"),
        ({"source": "a"}, "x: data.train = {'source': 'a'}: must be a list of tables"),
        ([{"source": "a", "wieght": 2}], 'x: data.train, entry 1: unknown key "wieght"; did you mean "weight"?'),
        ([{"source": "a"}, {"source": 5}], "x: data.train, entry 2: source = 5: must be text"),
        ([{"source": "a", "weight": "2"}], "x: data.train, entry 1: weight = '2': must be a number"),
        ([ENTRY | {"weight": 1001}], "x: data.train, entry 1: weight = 1001.0: must be at most 1,000"),
        ([ENTRY, {"source": "a"}], 'x: data.train, entry 2: a has no translation; add target = "FILE"'),
    ],
)
def test_entries_of_the_wrong_kind(value: Any, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        build_config(base(), ("x", {"data": {"train": value}}))
    assert str(raised.value).startswith(complaint)


def test_the_file_that_lists_the_corpora_is_named_though_options_follow() -> None:
    layers: list[tuple[str, dict[str, Any]]] = [("my.toml", {"data": {"train": [ENTRY | {"weight": 0}]}})]
    with pytest.raises(ConfigError, match=r"^my\.toml: data\.train, entry 1: weight = 0\.0"):
        build_config(base(), *layers, ("command line", {"data": {"valid_source": "v.tsv"}}), ("--set", {}))


def test_corpora_of_another_type_are_refused_in_python() -> None:
    for wrong in ([TrainingText("a.tsv")], ({"source": "a.tsv"},), "a.tsv"):
        with pytest.raises(TypeError, match=r"DataConfig\(train=\.\.\.\) must be a tuple of TrainingText, not "):
            DataConfig(train=wrong)  # type: ignore[arg-type]


def test_corpora_from_a_file_and_back(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        '[text]\nsymbols = "<bt>"\n[[data.train]]\nsource = "a.en"\ntarget = "a.de"\nweight = 2\n'
        '[[data.train]]\nsource = "b.tsv"\ntag = "<bt>"\n'
    )
    config = build_config(base(), ("x.toml", read_config(tmp_path / "x.toml")))
    assert config.data.train == (TrainingText("a.en", "a.de", 2.0), TrainingText("b.tsv", tag="<bt>"))
    assert config.data.training_texts == config.data.train
    write_json(tmp_path / "config.json", config.to_dict())
    assert config_from_dict(read_config(tmp_path / "config.json"), "config.json") == config
    one = build_config(base(), ("x", {"data": {"train_source": "a.en", "train_target": "a.de"}}))
    assert one.data.training_texts == (TrainingText("a.en", "a.de"),)


NUMBERS = [
    f"{section}.{key}"
    for section, kind in get_type_hints(Config).items()
    if section != "preset"
    for key, type_ in get_type_hints(kind).items()
    if {int, float} & {type_, *get_args(type_)}
]


def test_every_number_has_bounds_and_its_default_is_within() -> None:
    assert set(BOUNDS) == set(NUMBERS)
    for name in PRESETS:
        build_config(preset(name))


@pytest.mark.parametrize("setting", all_settings(), ids=lambda one: f"{one.section}.{one.key}")
def test_no_value_is_too_extreme_for_an_answer(setting: Setting) -> None:
    """Every value is refused by name, or gives a config whose model can be built."""
    numbers = [0, -1, 1, 10**18, -(10**18), 10**400, 16**5000, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-308]
    texts = ["", "x", "\0", "nan", "5"]
    for value in [*numbers, 0.9999999999, 0.5, *texts, None, True, [], [1], {}, {"a": 1}, date(2026, 1, 1)]:
        try:
            config = build_config(tiny(), ("x.toml", {setting.section: {setting.key: value}}))
        except ConfigError as error:
            assert f"{setting.section}." in str(error) and len(str(error)) < 500
            continue
        if setting.section == "model":
            with torch.device("meta"):
                Transformer(config.model, Vocabulary(300))
        if setting.key == "dropout":
            assert torch.isfinite(Dropout(config.model.dropout)(torch.ones(1, 8), torch.tensor([5]))).all()


@pytest.mark.parametrize(
    "text", ["9" * 5000, "0x" + "f" * 5000, "[" * 5000, "1\nmodel = 2", "1e400", "2026-01-01", "{"]
)
def test_no_override_is_too_strange_for_an_answer(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--set: train\.seed = .{1,60}: must be a whole number|must be at most"):
        build_config(tiny(), ("--set", parse_overrides([f"train.seed={text}"])))


def test_values_at_the_edge_are_fine() -> None:
    config = build_config(
        Config(),
        ("x", {"model": {"dropout": 0, "max_length": 256, "d_model": 100, "h": 8, "d_k": 7, "d_v": 9}}),
        ("y", {"train": {"batch_tokens": 257, "micro_batch_tokens": 257, "patience": 0, "seed": 0}}),
        ("z", {"decode": {"alpha": 0, "extra_length": 0, "beam": 1}, "text": {"character_coverage": 1}}),
    )
    assert (config.model.key_size, config.model.value_size) == (7, 9)
    assert config.decode == DecodeConfig(beam=1, alpha=0.0, extra_length=0)
    assert isinstance(config.decode.alpha, float)


def test_key_and_value_sizes_are_separate() -> None:
    model = ModelConfig(d_model=512, h=8, d_k=16)  # Table 3, row (B)
    assert (model.key_size, model.value_size) == (16, 64)


# --- --set ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.max_steps=600", {"train": {"max_steps": 600}}),
        ("train.max_steps=10_000", {"train": {"max_steps": 10_000}}),
        ("train.adam_epsilon=1e-9", {"train": {"adam_epsilon": 1e-9}}),
        (" model.norm = pre ", {"model": {"norm": "pre"}}),
        ('model.norm="pre"', {"model": {"norm": "pre"}}),
        ("data.train_source=runs/a=b.en", {"data": {"train_source": "runs/a=b.en"}}),
        ("text.tokenizer=", {"text": {"tokenizer": ""}}),
        ("text.tokenizer=no", {"text": {"tokenizer": "no"}}),
    ],
)
def test_overrides(override: str, expected: dict[str, Any]) -> None:
    assert parse_overrides([override]) == expected


def test_overrides_of_one_section_are_gathered_and_the_last_wins() -> None:
    found = parse_overrides(["train.seed=1", "model.h=2", "train.max_steps=5", "train.seed=3"])
    assert found == {"train": {"seed": 3, "max_steps": 5}, "model": {"h": 2}}
    assert build_config(Config(), ("--set", found)).train == TrainConfig(seed=3, max_steps=5)


@pytest.mark.parametrize("override", ["train.max_steps", "max_steps=5", "=5", ".x=5", "train.=5", ""])
def test_overrides_that_are_none(override: str) -> None:
    with pytest.raises(ConfigError, match=r"write it as section\.key=value, such as train\.max_steps=600"):
        parse_overrides([override])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"train": {"max_steps": 5}},
            "Config(train=...) must be a TrainConfig, not {'max_steps': 5}; "
            "change one with replace(config.train, key=value)",
        ),
        ({"model": None}, "Config(model=...) must be a ModelConfig, not None"),
        ({"decode": TrainConfig}, "Config(decode=...) must be a DecodeConfig, not <class 'heed.config.TrainConfig'>"),
        ({"preset": 3}, "Config(preset=...) must be a str, not 3"),
    ],
)
def test_a_config_is_made_of_its_sections(wrong, message):
    with pytest.raises(TypeError) as caught:
        Config(**wrong)
    assert str(caught.value) == message


def test_an_unknown_section_beside_a_preset() -> None:
    with pytest.raises(ConfigError, match='x: unknown section "trian"; did you mean "train"'):
        config_from_dict({"preset": "tiny", "trian": {}}, "x")
