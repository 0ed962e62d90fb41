"""What a translation is, whoever computes it: its request checked, long texts cut into parts, the parts joined."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.config import DecodeConfig
from heed.errors import DecodeError
from heed.text.normalize import normalize
from heed.text.split import Part, split_to_fit
from heed.text.tokenizer import Tokenizer

START = "<s>"  # the label of the decoder's first input, which is no piece


@dataclass(frozen=True, eq=False)
class Attention:
    """Who looked at whom, one row per piece that looks: arrays of layers x heads x rows x columns.

    Both piece lists end in the end symbol. Row t of `decoder` and `cross` is the step that produced target
    piece t; column t of `decoder` is the input of that step, the piece before it: `target_inputs[t]`.
    """

    source_pieces: list[str]
    target_pieces: list[str]
    encoder: NDArray[np.float32] = field(repr=False)
    decoder: NDArray[np.float32] = field(repr=False)
    cross: NDArray[np.float32] = field(repr=False)

    @property
    def target_inputs(self) -> list[str]:
        """The labels of the columns of `decoder`: the start, then each target piece but the last."""
        return [START, *self.target_pieces[:-1]]


@dataclass(frozen=True)
class Translation:
    """One translation of one text."""

    text: str
    score: float  # log-probability divided by the length penalty
    log_probability: float = field(repr=False)
    pieces: list[str] = field(repr=False, hash=False)
    source_pieces: list[str] = field(repr=False, hash=False)
    finished: bool = True  # False: the length limit came before the model's own end
    cuts: tuple[str, ...] = ()  # where a text over the model's limit was cut, for instance ("sentence end",)
    # The n best, this one first, when more than one was asked for.
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    attention: Attention | None = field(default=None, repr=False, compare=False)


def texts_of(given: Iterable[str], name: str) -> list[str]:
    """Return the texts given as argument `name`.

    Raises:
        TypeError: this is not a list of strings.
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of texts (str), not {_described(given)}")
    texts = list(given)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{i}] must be a text (str), not {_described(text)}")
    return texts


def whole_number(given: Any, name: str) -> int:
    """Return the integer given as argument `name`.

    Raises:
        TypeError: this is not an integer.
    """
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be a whole number (int), not {_described(given)}")
    return operator.index(given)


def real_number(given: Any, name: str) -> float:
    """Return the number given as argument `name`.

    Raises:
        TypeError: this is not a number.
    """
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"{name} must be a number (float), not {_described(given)}")
    return float(given)


def _described(given: Any) -> str:
    """A wrong argument for a message, which must not become long."""
    shown = repr(given)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return "None" if given is None else f"{type(given).__name__}: {shown}"


def beam_and_alpha(
    decode: DecodeConfig, beam: int | None, alpha: float | None, n_best: int, drawing: bool = False
) -> tuple[int, float]:
    """What is asked for; what is not, from the run's settings. `drawing`: a sample has no beam.

    Raises:
        DecodeError: a request that contradicts itself.
    """
    beam = decode.beam if beam is None else whole_number(beam, "beam")
    alpha = decode.alpha if alpha is None else real_number(alpha, "alpha")
    n_best = whole_number(n_best, "n_best")
    if beam < 1 or alpha < 0:
        raise DecodeError(f"beam = {beam}, alpha = {alpha}: beam must be at least 1, alpha at least 0")
    if n_best < 1 or (n_best > beam and not drawing):
        raise DecodeError(f"the {n_best} best of a beam of {beam} cannot be had; make the beam at least as wide")
    return beam, alpha


def parts_that_fit(texts: Sequence[str], tokenizer: Tokenizer, limit: int) -> list[list[Part]]:
    """Each text's parts of at most `limit` pieces; of a blank text, none."""
    texts = [normalize(text) for text in texts]
    # Most texts fit, and counting the pieces of all at once is quick.
    return [
        split_to_fit(text, tokenizer, limit) if len(ids) > limit else [Part(text, "end")] if text else []
        for text, ids in zip(texts, tokenizer.encode_ids(texts), strict=True)
    ]


def best_of(several: list[Translation]) -> Translation:
    """The first of the n best, with all of them as its alternatives.

    Raises:
        DecodeError: the search found none, because no score was finite.
    """
    if not several:
        raise DecodeError("no translation has a finite score: the model's weights are damaged or have diverged")
    return replace(several[0], alternatives=tuple(several)) if len(several) > 1 else several[0]


def joined(parts: list[list[Part]], translations: Iterable[Translation]) -> list[Translation]:
    """One translation of each text, from those of all texts' parts in order."""
    left = iter(translations)
    return [_join(text_parts, [next(left) for _ in text_parts]) for text_parts in parts]


def _join(parts: list[Part], translations: list[Translation]) -> Translation:
    """The translations of a text's parts as one. A blank text has no part and stays blank."""
    if len(translations) == 1:
        return translations[0]
    if not translations:
        return Translation("", 0.0, 0.0, [], [])
    n_all = min(len(one.alternatives) for one in translations)
    ranked = [[one.alternatives[rank] for one in translations] for rank in range(n_all)]
    cuts = tuple(part.cut for part in parts[:-1])
    whole = _concatenate(translations, cuts)
    return replace(whole, alternatives=tuple(_concatenate(these, cuts) for these in ranked))


def _concatenate(parts: list[Translation], cuts: tuple[str, ...]) -> Translation:
    return Translation(
        " ".join(part.text for part in parts if part.text),
        sum(part.score for part in parts),
        sum(part.log_probability for part in parts),
        [piece for part in parts for piece in part.pieces],
        [piece for part in parts for piece in part.source_pieces],
        all(part.finished for part in parts),
        cuts,
    )
