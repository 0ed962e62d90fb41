"""What the lab computes: a look at a sentence, and why one word and not another. The worker calls this."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from heed.engines.pytorch import PyTorchEngine
from heed.errors import DecodeError
from heed.inside.document import Document, document
from heed.inside.forced import forced
from heed.inside.inspection import look, measured, one_model, one_transformer
from heed.inside.observe import NOTHING_OFF, Switches, heads_gated
from heed.inside.occlusion import leave_words_out
from heed.inside.switched import switched
from heed.inside.words import shown, side_of
from heed.lab.asked import MAX_PIECES, Asked, AskedWhy
from heed.lab.models import Models
from heed.lab.worker import StaleError
from heed.options import SearchOptions
from heed.text.normalize import SPACE_MARK, normalize

_MAX_WORD_PIECES = 24
_SECONDS = 60.0  # for one search
_PAGE_BYTES = 4_000_000

IsStale = Callable[[], bool]


def inspected(models: Models, ask: Asked, is_stale: IsStale) -> bytes:
    """Return a look at a sentence as one message: the length of the JSON in four bytes, the JSON, the arrays.

    Raises:
        HeedError: it cannot be computed; the message says why.
        StaleError: a newer request has come.
    """
    began = time.monotonic()
    opened = models.open(ask.model, ask.checkpoint)
    engine = opened.engine
    _check(engine, ask.text, ask.switches)
    options = SearchOptions(
        beam=engine.decode.beam if ask.beam is None else ask.beam,
        alpha=engine.decode.alpha if ask.alpha is None else ask.alpha,
        sampling=ask.sampling,
        seconds=_SECONDS,
        is_cancelled=is_stale,
    )
    prefix = _prefix(engine, ask)
    seen = look(
        engine,
        ask.text,
        options,
        switches=ask.switches,
        prefix=prefix,
        roles=opened.roles,
        name=opened.name,
    )
    as_trained = None
    if ask.switches != NOTHING_OFF:
        with_prefix = replace(options, prefix_ids=[prefix] if prefix else None)
        (whole,) = engine.translate([normalize(ask.text)], [0], with_prefix, lambda done: None)
        as_trained = {"text": whole.text, "log_probability": whole.log_probability}

    def tell(n: int) -> None:
        if is_stale():
            raise StaleError

    found = document(measured(seen, tell) if "measures" in ask.parts else seen, _PAGE_BYTES, "walk" in ask.parts)
    found.summary["lab"] = {
        "checkpoint": opened.checkpoint,
        "as_trained": as_trained,
        "is_drawn": ask.sampling is not None,
        "milliseconds": round(1000 * (time.monotonic() - began)),
    }
    return _message(found)


def _message(found: Document) -> bytes:
    content = found.json().encode()
    content += b" " * (-len(content) % 4)  # arrays of four bytes must begin at a multiple of four
    return len(content).to_bytes(4, "little") + content + found.data


@dataclass(frozen=True)
class Word:
    """A word that may come next."""

    labels: list[str]
    log_probability: float


@dataclass(frozen=True)
class Why:
    """Why one word and not another: the difference of two log-probabilities, attributed to the source words.

    A source word's part is the difference with it minus the difference without it (occlusion). The parts need not add
    up to the difference: words act together.
    """

    this: Word
    that: Word
    difference: float
    words: list[str]  # of the source
    parts: list[float]


def why(models: Models, ask: Asked, question: AskedWhy, is_stale: IsStale) -> dict[str, Any]:
    """Return a `Why` as JSON can hold it.

    Raises:
        HeedError: it cannot be computed; the message says why.
        StaleError: a newer request has come.
    """
    engine = models.open(ask.model, ask.checkpoint).engine
    _check(engine, ask.text, ask.switches)
    tokenizer, model = engine.tokenizer, one_model(engine)
    if ask.switches != NOTHING_OFF:
        model = switched(one_transformer(engine), ask.switches)
    (source,) = tokenizer.encode_ids([ask.text])
    before, this = (_known(engine, ids) for ids in (question.before, question.this))
    that = _other(engine, this, question.that)
    if that == this:
        raise DecodeError("the two words are the same; choose another one")
    side = side_of(tokenizer, source)
    found = []
    for word in (this, that):
        target = [*before, *word]

        def tell(n: int) -> None:
            if is_stale():
                raise StaleError

        own = slice(len(before), len(target))
        whole = forced(model, [source], target, heads_gated({}, ask.switches))[0][0, own].sum()
        occlusion = leave_words_out(model, source, target, side.words[:-1], tell, ask.switches)
        labels = [shown(piece) for piece in tokenizer.pieces(word)]
        found.append((Word(labels, float(whole)), occlusion.change[:, own].sum(1)))
    (this_word, this_change), (that_word, that_change) = found
    return asdict(
        Why(
            this_word,
            that_word,
            this_word.log_probability - that_word.log_probability,
            side.word_labels[:-1],
            (that_change - this_change).tolist(),
        )
    )


def _check(engine: PyTorchEngine, text: str, switches: Switches) -> None:
    """Refuse what the lab does not show, before anything is computed.

    Raises:
        DecodeError: a text that is blank or too long, or a switch that the model does not have.
    """
    config = (one_model if switches == NOTHING_OFF else one_transformer)(engine).config
    if not normalize(text):
        raise DecodeError("type a sentence")
    (ids,) = engine.tokenizer.encode_ids([text])
    limit = min(engine.limit, MAX_PIECES)
    if len(ids) > limit:
        longer = f"{engine.limit} (model.max_length)" if limit == engine.limit else f"{limit} in the lab"
        raise DecodeError(f"the text has {len(ids):,} pieces, the limit is {longer}; take one sentence of it")
    n_layers = {"encoder": config.encoder_layers, "decoder": config.decoder_layers, "cross": config.decoder_layers}
    places = [(kind, layer, head) for kind, layer, head in switches.heads] + [(*one, 0) for one in switches.layers]
    for name, layer, head in places:
        if layer >= n_layers[name] or head >= config.h:
            raise DecodeError(
                f"switches: there is no layer {layer + 1}, head {head + 1} in the {name} of this model, which has "
                f"{n_layers[name]} layers of {config.h} heads"
            )


def _prefix(engine: PyTorchEngine, ask: Asked) -> list[int]:
    """Return the tokens that the translation must begin with.

    Raises:
        DecodeError: they are too many, or unknown.
    """
    if isinstance(ask.prefix, str):
        (ids,) = engine.tokenizer.encode_ids([ask.prefix])
    else:
        ids = list(ask.prefix)
    ids = _known(engine, ids)
    limit = min(engine.limit, MAX_PIECES)
    if len(ids) > limit:
        raise DecodeError(f"the translation begins with {len(ids)} pieces, the limit is {limit}; shorten it")
    return ids


def _known(engine: PyTorchEngine, ids: list[int] | tuple[int, ...]) -> list[int]:
    """Return ids that a translation may have.

    Raises:
        DecodeError: there are others.
    """
    vocabulary = engine.tokenizer.vocabulary
    for one in ids:
        if one >= vocabulary.size or one == vocabulary.end or one in vocabulary.never_output:
            raise DecodeError(f"the translation cannot have the piece {one}; choose another word")
    return list(ids)


def _other(engine: PyTorchEngine, this: list[int], that: str | tuple[int, ...]) -> list[int]:
    """Return the other word's ids; one that follows without a space is written without one."""
    tokenizer = engine.tokenizer
    if not isinstance(that, str):
        return _known(engine, that)
    (ids,) = tokenizer.encode_ids([that])
    pieces = tokenizer.pieces(ids)
    begins_word = tokenizer.pieces(this[:1])[0].startswith(SPACE_MARK)
    if not begins_word and pieces[0] == SPACE_MARK:
        ids = ids[1:]
    if not 0 < len(ids) <= _MAX_WORD_PIECES:
        raise DecodeError(f"the other word has {len(ids)} pieces; give from 1 to {_MAX_WORD_PIECES}")
    return _known(engine, ids)


def as_json(value: object) -> bytes:
    """Return a value as JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
