"""Define every setting of heed, on one page.

A `Config` with five frozen sections describes a run. Values come from a preset, then from a TOML (or JSON) file, then
from `--set section.key=value` (`settings.py`). The run folder saves the resolved config as `config.json`, and
`heed train config.json` repeats the run.
"""

import inspect
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_type_hints


@dataclass(frozen=True)
class ModelConfig:
    """Set the shape of the model. The defaults are the paper's base model (section 3, Table 3)."""

    encoder_layers: int = 6  # N of the encoder
    decoder_layers: int = 6  # N of the decoder
    d_model: int = 512  # width of every layer's input and output
    d_ff: int = 2048  # inner width of the feed-forward layers
    h: int = 8  # attention heads
    d_k: int | None = None  # width of a key in one head; if unset: d_model / h
    d_v: int | None = None  # width of a value in one head; if unset: d_model / h
    dropout: float = 0.1  # P_drop, on each sub-layer's output and on embeddings + positions
    norm: Literal["post", "pre"] = "post"  # LayerNorm after the residual sum as published, or before the sub-layer
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"  # section 3.5; "learned" is Table 3 row (E)
    max_length: int = 256  # longest sentence in tokens; longer ones are skipped in training, and translated in parts
    kind: Literal["transformer", "follower", "recurrent", "convolutional"] = "transformer"  # architecture
    cell: Literal["lstm", "gru"] = "lstm"  # of a recurrent model
    kernel_width: int = 3  # of a convolutional model: neighbouring positions that a layer reads, an odd number
    dilated: bool = False  # a convolutional layer's neighbours are 1, 2, 4, 8, 16, 1, ... positions apart (ByteNet)
    attention_window: int = 0  # how many positions a position attends to (r of section 4); 0: all

    @property
    def key_size(self) -> int:
        """Return the width of a key in one head."""
        return self.d_k if self.d_k is not None else self.d_model // self.h

    @property
    def value_size(self) -> int:
        """Return the width of a value in one head."""
        return self.d_v if self.d_v is not None else self.d_model // self.h


# The settings that a kind of model does not use. They must have their defaults, so that none is ignored in silence.
_OF_CONVOLUTIONS = ("kernel_width", "dilated")
_OF_TRANSFORMERS = ("d_ff", "h", "d_k", "d_v", "norm", "positions", "attention_window")
UNUSED_SETTINGS: dict[str, tuple[str, ...]] = {
    "transformer": ("cell", *_OF_CONVOLUTIONS),
    "follower": ("cell", *_OF_CONVOLUTIONS),
    "recurrent": (*_OF_TRANSFORMERS, *_OF_CONVOLUTIONS),
    "convolutional": (*_OF_TRANSFORMERS, "cell"),
}


@dataclass(frozen=True)
class TextConfig:
    """Set the joint vocabulary of both languages (section 5.1)."""

    unit: Literal["subword", "character"] = "subword"  # what a token is; characters suit spelling and inflection
    vocab_size: int = 37_000  # tokens, at most; a small corpus may yield fewer
    character_coverage: float = 0.9999  # share of characters (0.98 to 1) with their own token; others become bytes
    bpe_dropout: float = 0.0  # chance to skip each merge of tokens in training, drawn anew each epoch; try 0.1
    symbols: str = ""  # words that stay one token each, such as tags, separated by spaces
    tokenizer: str = ""  # a sentencepiece model to use instead of learning one, such as another run's tokenizer.model
    learn_lines: int = 2_000_000  # lines of each file to learn from, evenly spaced, if there are more
    trees: Literal["none", "brackets", "top-down", "in-order"] = "none"  # for parsing: how trees are written
    tags: bool = True  # trees have the words' part-of-speech tags


@dataclass(frozen=True)
class TrainingText:
    """Describe one of several corpora to train on: an entry of `data.train`."""

    source: str = ""  # text to translate from
    target: str = ""  # its translation, line by line
    weight: float = 1.0  # how often an epoch has each pair; 0.5: half of the pairs, in turn
    tag: str = ""  # a word to put before each source line, such as `<bt>`; it must be one of text.symbols

    @property
    def has_translation(self) -> bool:
        """Return whether there is a target file, or the source has both sides."""
        return bool(self.target) or self.source.removesuffix(".gz").endswith(".tsv")


@dataclass(frozen=True)
class DataConfig:
    """Set where the text is. A `.tsv` source without a target has both, separated by a tab; `.gz` files work too."""

    train_source: str = ""  # text to translate from
    train_target: str = ""  # its translation, line by line
    train: tuple[TrainingText, ...] = ()  # several corpora with weights, instead of the two above: [[data.train]]
    prepared: str = ""  # a folder created by `heed prepare`, instead of the above
    valid_source: str = ""  # held-out text; if unset, there is no validation and no early stopping
    valid_target: str = ""  # its translation, line by line
    train_trees: str = ""  # a treebank to learn parsing from, instead of text and translation (text.trees)
    valid_trees: str = ""  # held-out trees

    def __post_init__(self) -> None:
        if not isinstance(self.train, tuple) or not all(isinstance(text, TrainingText) for text in self.train):
            raise TypeError(f"DataConfig(train=...) must be a tuple of TrainingText, not {self.train!r}")

    @property
    def training_texts(self) -> tuple[TrainingText, ...]:
        """Return the corpora to train on, one or several; none if the text was prepared elsewhere."""
        return self.train or ((TrainingText(self.train_source, self.train_target),) if self.train_source else ())


@dataclass(frozen=True)
class TrainConfig:
    """Set how to train. Every default that affects a step is the paper's (section 5); the rest is bookkeeping."""

    max_steps: int = 100_000  # updates of the weights
    batch_tokens: int = 25_000  # tokens per step, on the longer side, padding included
    micro_batch_tokens: int = 4_096  # most tokens computed at a time; larger batches use gradient accumulation
    lanes: int = 0  # threads that share a micro-batch, each with its share of the cores; 0: one per core, if worth it
    warmup_steps: int = 4_000  # steps with a rising learning rate, equation (3)
    learning_rate_factor: float = 1.0  # multiplies equation (3)
    cooldown_steps: int = 0  # last steps, in which the learning rate falls linearly to 0; 0: none, as in the paper
    adam_beta1: float = 0.9  # decay of Adam's average of gradients (section 5.3)
    adam_beta2: float = 0.98  # decay of Adam's average of squared gradients
    adam_epsilon: float = 1e-9  # added to Adam's denominator
    skip_bad_batches: int = 3  # steps in a row to skip for a non-finite loss or gradient before giving up
    label_smoothing: float = 0.1  # epsilon_ls
    consistency: float = 0.0  # weight of a penalty for predicting two views of a pair differently; 3 is common
    cutoff: float = 0.0  # share of tokens hidden in the second view; 0: the views differ by dropout alone (R-Drop)
    head_diversity: float = 0.0  # weight of a penalty on attention heads of a layer whose outputs are alike
    noise: float = 0.0  # share of pairs with typing noise, drawn anew each epoch: typos, capitals, no final stop, ...
    init_from: str = ""  # a run, or a model in the box, whose weights and vocabulary to start from; same model shape
    seed: int = 1  # for initialisation, batches and dropout
    log_every: int = 50  # steps between two log lines
    validate_every: int = 1_000  # steps between two validations
    save_every: int = 1_000  # steps between two checkpoints
    metric: Literal["auto", "bleu", "chrf", "exact", "cer", "wer", "perplexity", "f1"] = "auto"  # ranks checkpoints
    patience: int = 10  # validations without improvement before stopping early; 0: never stop early
    keep_checkpoints: int = 5  # newest checkpoints to keep, at least 2
    average_last: int = 5  # checkpoints to average at the end (section 6.1); 1: none
    ema_decay: float = 0.0  # decay of a running average of the weights, such as 0.999, tried at the end; 0: none
    precision: Literal["float32", "bfloat16", "float16"] = "float32"  # of matrix products, if the device supports it
    compile: bool = False  # compile the layers with torch.compile: minutes of warm-up, faster on a GPU
    sharded: bool = False  # with several processes: shard model and optimizer among them (FSDP2)
    tensorboard: bool = False  # also write events for TensorBoard to the run folder


@dataclass(frozen=True)
class DecodeConfig:
    """Set how to translate by default: the paper's settings (section 6.1)."""

    beam: int = 4  # hypotheses kept; 1: greedy
    alpha: float = 0.6  # length penalty
    extra_length: int = 50  # a translation has at most as many tokens as its input, plus this many
    batch_tokens: int = 4_096  # source tokens translated together, padding included; native counts at least 32 per text
    copy: bool = True  # translate again, and force them, where addresses, tags, emoji, numbers, ... were lost
    sentences: bool = False  # translate each sentence of a line by itself; for models that learnt from single sentences
    capitals: bool = False  # translate a sentence in capitals in small letters, and write its translation in capitals


@dataclass(frozen=True)
class Config:
    """Describe one run completely."""

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
        """Return the config as nested dictionaries, as config.json has it."""
        found = asdict(self)
        found["data"]["train"] = list(found["data"]["train"])
        return found


# The smallest and the largest value of each number. Others cannot work, so they are refused before any work starts.
_MANY = 10**9  # more steps, tokens or lines than any training has
BOUNDS: dict[str, tuple[float, float]] = {
    "model.encoder_layers": (1, 1_000),
    "model.decoder_layers": (1, 1_000),
    "model.d_model": (1, 65_536),
    "model.d_ff": (1, 1_048_576),
    "model.h": (1, 1_024),
    "model.d_k": (1, 65_536),
    "model.d_v": (1, 65_536),
    "model.dropout": (0, 0.99),  # values that are not dropped are scaled by 1 / (1 - dropout)
    "model.max_length": (1, 100_000),
    "model.attention_window": (0, 100_000),
    "model.kernel_width": (1, 1_001),
    "text.vocab_size": (260, 1_000_000),  # 3 special tokens, 256 bytes, and one more
    "text.character_coverage": (0.98, 1),  # the range that sentencepiece accepts
    "text.learn_lines": (1, _MANY),
    "train.max_steps": (1, 99_999_999),  # names of checkpoints have 8 digits
    "train.batch_tokens": (1, _MANY),
    "train.micro_batch_tokens": (1, _MANY),
    "train.lanes": (0, 256),
    "train.warmup_steps": (1, _MANY),
    "train.learning_rate_factor": (1e-12, 1e38),
    "train.cooldown_steps": (0, _MANY),
    "train.adam_beta1": (0, 0.999999),
    "train.adam_beta2": (0, 0.999999),
    "train.adam_epsilon": (1e-30, 1),  # less would underflow to 0 in float32, and 0 / 0 is NaN
    "train.skip_bad_batches": (0, _MANY),
    "train.label_smoothing": (0, 0.99),
    "train.consistency": (0, 100),
    "train.cutoff": (0, 0.9),
    "train.head_diversity": (0, 100),
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
    "decode.beam": (1, 1_000),  # with a vocabulary of 37,000, that is 150 MB of scores per step
    "decode.alpha": (0, 10),  # the length penalty overflows for no text
    "decode.extra_length": (0, 10_000),
    "decode.batch_tokens": (1, _MANY),
}

WEIGHT_BOUNDS = (0.001, 1_000)  # of each entry of data.train


@dataclass(frozen=True)
class Setting:
    """Describe one key of the config, as its line above does."""

    section: str
    key: str
    type: str
    default: str
    meaning: str


_FIELD = re.compile(r"^    (\w+): (.+?) = (.+?)(?:  # (.*))?$")


def all_settings() -> list[Setting]:
    """Return every key with its type, default and meaning, read from the source of the classes above."""
    types = {name: kind for name, kind in get_type_hints(Config).items() if name != "preset"}
    return [setting for section, kind in types.items() for setting in settings_of(section, kind)]


def settings_of(section: str, kind: type) -> list[Setting]:
    """Return the keys of one of the classes above."""
    return [
        Setting(section, match[1], match[2], match[3], match[4] or "")
        for line in inspect.getsource(kind).splitlines()
        if (match := _FIELD.match(line))
    ]
