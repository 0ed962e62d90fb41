"""Everything there is to see of one sentence, as one value."""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heed.data.batch import batch_of_ids
from heed.engines.pytorch import MAX_ONE_CORE_D_MODEL, PyTorchEngine
from heed.errors import DecodeError
from heed.inside.beam import BeamTree, beam_tree, drawn_path
from heed.inside.forced import logits_of
from heed.inside.heads import HeadsOff, switch_off_heads
from heed.inside.lens import Lens, lens
from heed.inside.observe import KINDS, NOTHING_OFF, Kind, Switches
from heed.inside.occlusion import Occlusion, leave_words_out
from heed.inside.roles import ROLES, Roles, Sample, measure_roles
from heed.inside.switched import SwitchedSearch, switched
from heed.inside.walk import Arrays, attention_of, record
from heed.inside.words import Side, side_of
from heed.model.interface import SequenceModel
from heed.model.transformer import Transformer
from heed.options import SearchOptions
from heed.parser import constraint_of, sentences_of
from heed.parsing.tokenizer import TreeTokenizer, sentence_text
from heed.parsing.trees import parse_tree
from heed.text.normalize import SPACE_MARK, normalize
from heed.translation import Translation, checked

FORMAT = "heed inspection 1"
# What the dimensions of each array are; the labels of pieces and words are those of `source` and `target`.
AXES: dict[str, tuple[str, ...]] = {
    "attention.encoder": ("layer", "head", "source piece", "source piece"),
    "attention.decoder": ("layer", "head", "target piece", "target input"),
    "attention.cross": ("layer", "head", "target piece", "source piece"),
    **{
        f"heads_off.{what}.{kind}": ("layer", "head", "target piece")
        for what in ("change", "first_choice")
        for kind in KINDS
    },
    **{f"roles.share.{kind}": ("layer", "head", "role") for kind in KINDS},
    **{f"roles.chance.{kind}": ("role",) for kind in KINDS},
    **{f"occlusion.{what}": ("source word", "target piece") for what in ("change", "first_choice")},
    **{f"lens.{what}": ("after layer", "target piece") for what in ("rank", "probability", "first_choice")},
}
TOP_WORDS = 10  # of the next-word distribution at each step
_STOPS = (".", "!", "?", "。", "！", "？", "۔", "।", "…", ",", ";", ":")


@dataclass(frozen=True, eq=False)
class Look:
    """What a model computed for one sentence and its translation: one search and one forward pass.

    Attention weights are those of the formula (`model/attention.py`); a fused kernel's differ in the last bits. A model
    that is not a Transformer has neither heads nor layers to look into: its search and its logits are there, and what
    its decoder reads of the source, if it attends to it.
    """

    model: SequenceModel = field(repr=False)  # without the layers and positions that are switched off
    name: str  # of the model
    switches: Switches = field(repr=False)
    n_forced: int  # pieces of the translation that were given
    translation: Translation
    source: Side
    target: Side
    alpha: float
    attention: dict[Kind, NDArray[np.float32]] = field(repr=False)  # layers × heads × rows × columns, of what there is
    walk: Arrays = field(repr=False)  # `walk.record` lists the names; of any model at least "logits"
    beam: BeamTree = field(repr=False)
    lens: Lens | None = field(repr=False)  # None: the model is not a Transformer
    roles: Roles | None = field(repr=False)  # None: there was no sample
    top_ids: NDArray[np.int64] = field(repr=False)  # T × TOP_WORDS: the most probable next tokens
    piece: Callable[[int], str] = field(repr=False)  # of an id
    blank: tuple[int, ...] = field(repr=False)  # ids that take the place of a word left out; a translator has none

    @property
    def n_heads(self) -> int:
        """How many heads an attention has; one that is not divided into heads counts as one."""
        return next((one.shape[1] for one in self.attention.values()), self.model.config.h)

    @property
    def log_partition(self) -> NDArray[np.float64]:
        """log Σ exp(logit) of each step: log-probability = logit − this."""
        logits = self.walk["logits"].astype(np.float64)
        most = logits.max(-1)
        total: NDArray[np.float64] = most + np.log(np.exp(logits - most[:, None]).sum(-1))
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name: attention.encoder, walk.encoder.0.self.q, occlusion.change and so on."""
        found: dict[str, NDArray[Any]] = {f"attention.{kind}": array for kind, array in self.attention.items()}
        found |= {f"walk.{name}": array for name, array in self.walk.items()}
        if self.roles is not None:
            found |= {f"roles.share.{kind}": array for kind, array in self.roles.share.items()}
            found |= {f"roles.chance.{kind}": array for kind, array in self.roles.chance.items()}
        if self.lens is not None:
            found |= {f"lens.{name}": array for name, array in asdict(self.lens).items()}
        return found

    def summary(self) -> dict[str, Any]:
        """Return everything but the arrays, as JSON can hold it."""
        config = self.model.config
        partition = self.log_partition
        logits = self.walk["logits"]
        return {
            "format": FORMAT,
            "model": {
                **asdict(config),
                "name": self.name,
                "h": self.n_heads,
                "d_k": config.key_size,
                "d_v": config.value_size,
                "vocabulary": self.model.vocabulary.size,
                "parameters": sum(one.numel() for one in self.model.parameters()),
            },
            "source": asdict(self.source),
            "target": {**asdict(self.target), "input_labels": self.target.input_labels},
            "translation": {
                "text": self.translation.text,
                "score": self.translation.score,
                "log_probability": self.translation.log_probability,
                "log_probabilities": list(self.translation.log_probabilities),
                "finished": self.translation.finished,
            },
            "forced": self.n_forced,
            "off": {
                "heads": sorted(self.switches.heads),
                "layers": sorted(self.switches.layers),
                "causal": not self.switches.causal,
                "positions": not self.switches.positions,
            },
            "beam": asdict(self.beam),
            "roles": None
            if self.roles is None
            else {
                "roles": ROLES,
                "names": {
                    kind: [
                        [self.roles.name(kind, layer, head) for head in range(config.h)]
                        for layer in range(len(self.attention[kind]))
                    ]
                    for kind in KINDS
                },
                "pairs": self.roles.n_pairs,
                "sample": self.roles.sample,
            },
            "next_words": [
                {
                    "log_partition": float(partition[t]),
                    "pieces": [self.piece(int(one)) for one in ids],
                    "ids": ids.tolist(),
                    "logits": [float(logits[t, one]) for one in ids],
                }
                for t, ids in enumerate(self.top_ids)
            ],
            "pieces": self._pieces(),
            "axes": AXES,
        }

    def _chosen(self) -> list[NDArray[np.int64]]:
        """Return the arrays that name tokens."""
        return [] if self.lens is None else [self.lens.first_choice]

    def _pieces(self) -> dict[str, str]:
        """Return the pieces of all ids that arrays name."""
        ids = {int(one) for array in self._chosen() for one in np.unique(array)}
        return {str(one): self.piece(one) for one in sorted(ids)}


@dataclass(frozen=True, eq=False)
class Inspection(Look):
    """The same, and what each head and each source word is worth: a forward pass for each."""

    heads_off: HeadsOff = field(repr=False)  # without entries: the model has no heads
    occlusion: Occlusion = field(repr=False)

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = super().arrays()
        found |= {f"heads_off.change.{kind}": array for kind, array in self.heads_off.change.items()}
        found |= {f"heads_off.first_choice.{kind}": array for kind, array in self.heads_off.first_choice.items()}
        return found | {
            "occlusion.change": self.occlusion.change,
            "occlusion.first_choice": self.occlusion.first_choice,
        }

    def _chosen(self) -> list[NDArray[np.int64]]:
        return [*super()._chosen(), self.occlusion.first_choice, *self.heads_off.first_choice.values()]

    def to_json(self) -> str:
        """Return it as JSON, arrays as lists; those of the walk are too many and in `to_npz` only."""
        arrays = {name: array.tolist() for name, array in self.arrays().items() if not name.startswith("walk.")}
        return json.dumps({**self.summary(), "arrays": arrays}, ensure_ascii=False)

    def to_npz(self) -> bytes:
        """Return all arrays as an .npz file; its entry `summary` is the rest as JSON in UTF-8 bytes."""
        summary = np.frombuffer(json.dumps(self.summary(), ensure_ascii=False).encode(), dtype=np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **{**self.arrays(), "summary": summary})
        return buffer.getvalue()


def inspect_text(
    engine: PyTorchEngine,
    text: str,
    *,
    beam: int | None = None,
    alpha: float | None = None,
    sample: Sequence[tuple[str, str]] = (),
    sample_name: str = "the pairs given",
    name: str = "the model",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Inspection:
    """Translate or parse a text, and record and measure all there is to see of it.

    `progress` is called with how many sentences have been computed and how many there are: one for each head that is
    switched off, each source word that is left out, and each pair of the sample.

    Raises:
        DecodeError: a blank text, one longer than the model's limit, several models, or one in 8 bits.
    """
    options = SearchOptions(
        beam=engine.decode.beam if beam is None else beam,
        alpha=engine.decode.alpha if alpha is None else alpha,
    )
    seen = look(engine, text, options, name=name)
    pairs = pairs_that_fit(engine, sample) if has_heads(seen.model) else []
    tell = _Counter(progress, n_forward_passes(seen) + len(pairs))
    if pairs:
        seen = replace(seen, roles=roles_of(engine, pairs, sample_name, tell))
    return measured(seen, tell)


def look(
    engine: PyTorchEngine,
    text: str,
    options: SearchOptions,
    *,
    switches: Switches = NOTHING_OFF,
    prefix: Sequence[int] = (),
    roles: Roles | None = None,
    name: str = "the model",
) -> Look:
    """Translate a text and record what the model computes, with parts of it switched off.

    `prefix`: the tokens that the translation begins with.

    Raises:
        DecodeError: a blank text, one longer than the model's limit, an option out of range, or switches for a model
            that is not a Transformer.
    """
    model, tokenizer = one_model(engine), engine.tokenizer
    if not normalize(text):
        raise DecodeError("the text is blank; give a sentence to inspect")
    sentence = sentences_of(tokenizer, [text])[0] if isinstance(tokenizer, TreeTokenizer) else None
    text = normalize(text) if sentence is None else sentence_text(sentence.words)
    (source,) = tokenizer.encode_ids([text])
    if len(source) > engine.limit:
        raise DecodeError(
            f"the text has {len(source):,} pieces, the model's limit is {engine.limit:,} (model.max_length); "
            "inspect one sentence of it"
        )
    if switches != NOTHING_OFF:
        changed = switched(one_transformer(engine), switches)
        model, engine = changed, engine.searching_with(SwitchedSearch(changed, switches))
    options = checked(replace(options, trace=options.sampling is None, prefix_ids=[prefix] if prefix else None))
    symbols: frozenset[str] = frozenset()
    blank: tuple[int, ...] = ()
    if isinstance(tokenizer, TreeTokenizer) and sentence is not None:
        constraint = constraint_of(engine, tokenizer, [text], {0: len(sentence.words)})
        (translation,) = engine.translate([text], [0], replace(options, constraint=constraint), lambda done: None)
        translation = replace(translation, text=str(tokenizer.restore(translation.pieces, sentence.words)))
        symbols, blank = tokenizer.symbols, tuple(tokenizer.ids([SPACE_MARK]))
    else:
        (translation,) = engine.translate([text], [0], options, lambda done: None)
    target = tokenizer.ids(translation.pieces)
    sides = side_of(tokenizer, source), side_of(tokenizer, target, symbols)
    if isinstance(model, Transformer):
        walk = record(model, source, target, switches)
        attention, layers = attention_of(walk, n_layers_of(model)), lens(model, walk, sides[1].ids, switches)
    else:
        walk, layers = {"logits": logits_of(model, [source], target)[0].cpu().numpy()}, None
        cross = cross_attention(model, source, target)
        attention = {} if cross is None else {"cross": cross}
    if translation.trace is None:
        beam = drawn_path(translation.pieces, translation.log_probabilities, translation.finished, options.alpha)
    else:
        beam = beam_tree(translation.trace, translation.pieces, translation.finished, options.beam, options.alpha)
    return Look(
        model=model,
        name=name,
        switches=switches,
        n_forced=min(len(prefix), len(target)),
        translation=replace(translation, attention=None),
        source=sides[0],
        target=sides[1],
        alpha=options.alpha,
        attention=attention,
        walk=walk,
        beam=beam,
        lens=layers,
        blank=blank,
        roles=roles,
        top_ids=np.argsort(-walk["logits"], axis=-1, kind="stable")[:, :TOP_WORDS],
        piece=lambda one: tokenizer.pieces([one])[0],
    )


def measured(seen: Look, tell: Callable[[int], None] = lambda n: None) -> Inspection:
    """Measure what each head and each source word is worth to the translation. `tell` hears of each forward pass."""
    source, target = seen.source.ids[:-1], seen.target.ids[:-1]
    model, switches = seen.model, seen.switches
    heads_off = HeadsOff({}, {})
    if isinstance(model, Transformer):
        heads_off = switch_off_heads(model, source, target, n_layers_of(model), model.config.h, tell, switches)
    return Inspection(
        **{one.name: getattr(seen, one.name) for one in fields(Look)},
        heads_off=heads_off,
        occlusion=leave_words_out(model, source, target, seen.source.words[:-1], tell, switches, seen.blank),
    )


def n_forward_passes(seen: Look) -> int:
    """Return how many forward passes `measured` tells of."""
    n_heads = sum(map(len, seen.attention.values())) * seen.n_heads if has_heads(seen.model) else 0
    return n_heads + len(seen.source.words) - 1


def roles_of(
    engine: PyTorchEngine, pairs: Sequence[tuple[list[int], list[int]]], name: str, tell: Callable[[int], None]
) -> Roles:
    """Measure what each head does on pairs of ids. `tell` hears of each number of pairs."""
    model = one_transformer(engine)
    pieces = engine.tokenizer.pieces(range(len(engine.tokenizer)))
    stops = frozenset(i for i, piece in enumerate(pieces) if piece.lstrip(SPACE_MARK) in _STOPS)
    return measure_roles(model, Sample(pairs, name), stops, n_layers_of(model), model.config.h, tell)


def n_layers_of(model: Transformer) -> dict[Kind, int]:
    """Return the number of layers that have each kind of attention."""
    return {"encoder": len(model.encoder), "decoder": len(model.decoder), "cross": len(model.decoder)}


def pairs_that_fit(engine: PyTorchEngine, sample: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
    """Return the pairs of a sample as ids: those that the model can read. A parser's pairs are sentences and trees."""
    tokenizer = engine.tokenizer
    if isinstance(tokenizer, TreeTokenizer):
        sources, targets = tokenizer.encode_pairs(parse_tree(tree) for _, tree in sample)
    else:
        sources, targets = (tokenizer.encode_ids([pair[side] for pair in sample]) for side in (0, 1))
    pairs = zip(sources, targets, strict=True)
    return [(a, b) for a, b in pairs if 0 < len(a) <= engine.limit and 0 < len(b) <= engine.limit]


class _Counter:
    """Adds up what is done, and tells."""

    def __init__(self, progress: Callable[[int, int], None], total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def __call__(self, n: int) -> None:
        self._done += n
        self._progress(self._done, self._total)


def has_heads(model: SequenceModel | type[SequenceModel]) -> bool:
    """Return whether a model, or all models of a class, have attention heads to look at and to switch off."""
    return issubclass(model if isinstance(model, type) else type(model), Transformer)


def cross_attention(model: SequenceModel, source: Sequence[int], target: Sequence[int]) -> NDArray[np.float32] | None:
    """Return the attention to the source, layers × heads × T × S, of a model that is made to write a translation; None:
    it has none."""
    if isinstance(model, Transformer):
        return attention_of(record(model, source, target), n_layers_of(model))["cross"]
    if not model.has_cross_attention:
        return None
    batch = batch_of_ids([source], [target], model.vocabulary).to(model.device)
    with torch.inference_mode():
        weights: NDArray[np.float32] = torch.cat(model.cross_attention(batch.src_BS, batch.tgt_in_BT)).cpu().numpy()
    return weights


def one_core_if_small(model: SequenceModel) -> None:
    """Let PyTorch use one core for a small model: one sentence is too little work to share.

    On a machine that is busy with other work, threads that wait for each other take many times as long.
    """
    if model.config.d_model <= MAX_ONE_CORE_D_MODEL:
        torch.set_num_threads(1)


def one_model(engine: PyTorchEngine) -> SequenceModel:
    """Return the model to look into.

    Raises:
        DecodeError: there are several, or it is in 8 bits.
    """
    if len(engine.models) > 1:
        raise DecodeError(f"inspect looks into one model, and these are {len(engine.models)}; load one of them")
    if engine.int8:
        raise DecodeError("inspect shows the model's own weights, not their 8-bit form; load it without int8")
    return engine.models[0]


def one_transformer(engine: PyTorchEngine) -> Transformer:
    """Return the model whose heads to look at.

    Raises:
        DecodeError: it has no heads, there are several, or it is in 8 bits.
    """
    model = one_model(engine)
    if not isinstance(model, Transformer):
        raise DecodeError(
            f'a model of model.kind = "{model.config.kind}" has no attention heads; what can be shown of it are its '
            "attention to the source, its search, its next words and what each source word is worth: heed inspect"
        )
    return model
