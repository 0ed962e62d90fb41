"""Translations, whichever engine computes them: checking options, cutting long texts into parts, joining the parts."""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.config import BOUNDS
from heed.errors import DecodeError
from heed.options import SearchOptions
from heed.text.capitals import calmed, raised
from heed.text.glossary import Entry
from heed.text.normalize import normalize
from heed.text.sentences import sentences_of
from heed.text.split import Part, split_to_fit
from heed.text.tokenizer import Tokenizer

SENTENCE = "sentence"  # the cut between two sentences that are translated one by one, whatever their length
START = "<s>"  # the label of the decoder's first input, which is not a piece
_BEAM, _ALPHA = BOUNDS["decode.beam"], BOUNDS["decode.alpha"]


@dataclass(frozen=True, eq=False)
class Attention:
    """Attention weights, as arrays of layers x heads x rows x columns: a row attends to the columns.

    Both lists of pieces end with the end token. Row t of `decoder` and `cross` is the step that produced target piece
    t. Column t of `decoder` is the input of that step, which is the piece before it: `target_inputs[t]`.
    """

    source_pieces: list[str]
    target_pieces: list[str]
    encoder: NDArray[np.float32] = field(repr=False)
    decoder: NDArray[np.float32] = field(repr=False)
    cross: NDArray[np.float32] = field(repr=False)

    @property
    def target_inputs(self) -> list[str]:
        """The labels of the columns of `decoder`: the start, then each target piece except the last."""
        return [START, *self.target_pieces[:-1]]


@dataclass(frozen=True)
class Word:
    """A word of a translation, and the chance that a reference has it."""

    text: str
    confidence: float


@dataclass(frozen=True)
class Translation:
    """One translation of one text."""

    text: str
    score: float  # log-probability divided by the length penalty
    log_probability: float = field(repr=False)
    pieces: list[str] = field(repr=False, hash=False)
    source_pieces: list[str] = field(repr=False, hash=False)
    finished: bool = True  # False: the length limit came before the end token
    cuts: tuple[str, ...] = ()  # where a text over the model's limit was cut, ("sentence end",); between sentences
    # The n best, starting with this one, if more than one was asked for.
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    # Of each piece and, if finished, the end token.
    log_probabilities: tuple[float, ...] = field(default=(), repr=False)
    terms: tuple[Entry, ...] = field(default=(), repr=False)  # the glossary's entries that apply to the text
    forced: tuple[str, ...] = field(default=(), repr=False)  # target terms and copied spans that search had to include
    missing: tuple[str, ...] = field(default=(), repr=False)  # those that are missing all the same
    confidence: float | None = field(default=None, repr=False)  # the chance that it is good, if asked for
    words: tuple[Word, ...] = field(default=(), repr=False)  # with a confidence each, if asked for
    attention: Attention | None = field(default=None, repr=False, compare=False)
    trace: "SearchTrace | None" = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class TracedCandidate:
    """A continuation that a step of beam search considered.

    It is `decode.search.Candidate` with the text of the token: search knows only ids, and users only pieces.
    """

    parent: int  # index among the kept candidates of the previous step
    piece: str
    log_probability: float  # of the whole sequence up to this piece
    score: float  # divided by the length penalty, if the sequence ended here
    fate: str  # "kept", "finished", or why it was dropped


@dataclass(frozen=True)
class SearchTrace:
    """The candidates of each step of beam search for one text, best first."""

    steps: tuple[tuple[TracedCandidate, ...], ...]


@dataclass(frozen=True)
class PairScore:
    """The probability of a given translation under the model."""

    log_probability: float
    n_tokens: int  # including the end token


def certain(text: str) -> tuple[Word, ...]:
    """Return the words of a text that no model wrote."""
    return tuple(Word(word, 1.0) for word in text.split())


def texts_of(given: Iterable[str], name: str) -> list[str]:
    """Return the texts given as argument `name`.

    Raises:
        TypeError: it is not a list of strings.
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
        TypeError: it is not an integer.
    """
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be a whole number (int), not {_described(given)}")
    return operator.index(given)


def real_number(given: Any, name: str) -> float:
    """Return the number given as argument `name`.

    Raises:
        TypeError: it is not a number.
    """
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"{name} must be a number (float), not {_described(given)}")
    return float(given)


def _described(given: Any) -> str:
    """Return the type and a short form of a wrong argument, for a message."""
    shown = repr(given)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return "None" if given is None else f"{type(given).__name__}: {shown}"


def checked(options: SearchOptions) -> SearchOptions:
    """Return the options if they are valid.

    Raises:
        DecodeError: a value is out of range, or two contradict each other. The message begins with a field's name.
    """
    for name, value, (minimum, maximum) in (
        ("beam", options.beam, _BEAM),
        ("alpha", options.alpha, _ALPHA),
        ("n_best", options.n_best, _BEAM),
    ):
        if not minimum <= value <= maximum:
            raise DecodeError(f"{name} must be from {minimum} to {maximum:,}, not {value}")
    if options.prefixes is not None and options.constraint is not None:
        raise DecodeError("prefixes cannot be combined with a constraint; give only one of them")
    if options.sentences and (other := needs_whole_texts(options)):
        raise DecodeError(f"sentences cannot be combined with {other}; give only one of them")
    if options.trace and options.sampling is not None:
        raise DecodeError("trace is for beam search, but sampling draws at random; give only one of them")
    if options.seconds is not None and not options.seconds >= 0:
        raise DecodeError(f"seconds must be at least 0, not {options.seconds}")
    if options.n_best > options.beam and options.sampling is None:
        raise DecodeError(f"n_best {options.n_best} needs a beam of at least {options.n_best} (beam is {options.beam})")
    return options


def are_split(options: SearchOptions, default: bool) -> bool:
    """Return whether a search translates the sentences of a text one by one; `default` is the run's setting."""
    return default and needs_whole_texts(options) is None if options.sentences is None else options.sentences


def needs_whole_texts(options: SearchOptions) -> str | None:
    """Return which option belongs to a text as a whole, if one does."""
    given = {
        "prefixes": options.prefixes is not None,
        "a constraint": options.constraint is not None,
        "attention": options.attention,
        "trace": options.trace,
    }
    return next((name for name, is_given in given.items() if is_given), None)


def parts_by_sentence(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    limit: int,
    is_hard_limit: bool = False,
    copy: bool = False,
    is_calmed: Callable[[str], bool] = lambda text: False,
) -> list[list[Part]]:
    """Cut each text into its sentences, and those as `parts_that_fit` does.

    Raises:
        DecodeError: as `parts_that_fit`.
    """
    sentences = [sentences_of(normalize(text)) for text in texts]
    flat = [one for of_text in sentences for one in of_text]
    cut = iter(parts_that_fit(flat, tokenizer, limit, is_hard_limit, copy, is_calmed))
    parts = []
    for of_text in sentences:
        *others, last = [next(cut) for _ in of_text]
        ended = [[*one[:-1], replace(one[-1], cut=SENTENCE)] for one in others]
        parts.append([part for one in (*ended, last) for part in one])
    return parts


def parts_that_fit(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    limit: int,
    is_hard_limit: bool = False,
    copy: bool = False,
    is_calmed: Callable[[str], bool] = lambda text: False,
) -> list[list[Part]]:
    """Cut each text into parts of at most `limit` pieces; a blank text has no parts.

    With `copy`, a part may be text to copy that has more pieces than `limit`. Otherwise only a single character may;
    with `is_hard_limit`, the model cannot read it. Texts for which `is_calmed` is true are put in small letters.

    Raises:
        DecodeError: there is such a character, and the limit is hard.
    """
    texts = [normalize(text) for text in texts]
    are_calmed = [is_calmed(text) for text in texts]
    texts = [calmed(text) if is_loud else text for text, is_loud in zip(texts, are_calmed, strict=True)]
    # Most texts fit, and encoding all of them at once is fast. A text that cannot fit is not encoded.
    max_characters = limit * tokenizer.longest_piece
    counted = tokenizer.encode_ids([text if len(text) <= max_characters else "" for text in texts])
    parts = []
    for text, ids, was_in_capitals in zip(texts, counted, are_calmed, strict=True):
        fits = len(text) <= max_characters and len(ids) <= limit
        whole = [Part(text, "end")] if text else []
        several = whole if fits else split_to_fit(text, tokenizer, limit, copy)
        parts.append([replace(part, was_in_capitals=was_in_capitals) for part in several])
    if is_hard_limit:
        all_parts = [part for text_parts in parts for part in text_parts if not part.is_copied]
        lone = [part.text for part in all_parts if len(part.text) == 1]
        for character, ids in zip(lone, tokenizer.encode_ids(lone), strict=True):
            if len(ids) > limit:
                raise DecodeError(
                    f'"{character}" is encoded as {len(ids)} pieces, but the model has learned positions for {limit} '
                    "only (model.max_length); leave the character out"
                )
    return parts


def check_prefixes(prefixes: Sequence[Sequence[int]], unknown: int, limit: int, first_number: int) -> None:
    """Check that translations can begin with these prefixes, given as ids.

    Raises:
        DecodeError: a prefix is longer than `limit`, or has a character that is not in the vocabulary.
    """
    for number, ids in enumerate(prefixes, first_number + 1):
        if len(ids) > limit:
            raise DecodeError(
                f"the prefix of text {number} has {len(ids):,} pieces, but the model's limit is {limit:,}; shorten it"
            )
        if unknown in ids:
            raise DecodeError(
                f"the prefix of text {number} has a character that is not in the vocabulary; leave that character out"
            )


def best_of(n_best: list[Translation], weights: str) -> Translation:
    """Return the first of the n best, with all of them as alternatives. `weights` names the checkpoint in messages.

    Raises:
        DecodeError: there is none, or a score is not finite.
    """
    if not n_best or not all(math.isfinite(one.log_probability) for one in n_best):
        raise not_finite(weights)
    return replace(n_best[0], alternatives=tuple(n_best)) if len(n_best) > 1 else n_best[0]


def not_finite(weights: str) -> DecodeError:
    """Return the error for weights that give no finite scores."""
    return DecodeError(
        f"no finite score: the weights of {weights} are not finite, or too large to compute with; "
        "the training has diverged: use an earlier checkpoint, or train again with a lower learning rate"
    )


def in_capitals_again(translation: Translation) -> Translation:
    """Return the translation of a sentence that was in capitals: its text in capitals, its pieces as they are."""
    text = raised(translation.text)
    words = text.split()
    if len(words) != len(translation.words):  # a word may be spelt with pieces that spaces divide
        words = [raised(word.text) for word in translation.words]
    return replace(
        translation,
        text=text,
        words=tuple(replace(old, text=new) for old, new in zip(translation.words, words, strict=True)),
        alternatives=tuple(map(in_capitals_again, translation.alternatives)),
    )


def joined(parts: list[list[Part]], translations: Iterable[Translation]) -> list[Translation]:
    """Return one translation per text, given the translations of all parts in order, except those to copy."""
    remaining = iter(translations)
    found = [[None if part.is_copied else next(remaining) for part in text_parts] for text_parts in parts]
    return [_join(text_parts, several) for text_parts, several in zip(parts, found, strict=True)]


def _join(parts: list[Part], found: Sequence[Translation | None]) -> Translation:
    """Join the translations of a text's parts. A blank text has no parts, and its translation is blank."""
    n_best = max((len(one.alternatives) for one in found if one is not None), default=0)
    with_words = any(one is not None and one.confidence is not None for one in found)
    translations = [one or _copied(part.text, n_best, with_words) for part, one in zip(parts, found, strict=True)]
    if len(translations) == 1:
        return translations[0]
    if not translations:
        return Translation("", 0.0, 0.0, [], [])
    n_all = min(len(one.alternatives) for one in translations)
    ranked = [[one.alternatives[rank] for one in translations] for rank in range(n_all)]
    cuts = tuple(part.cut for part in parts[:-1])
    whole = _concatenate(translations, cuts)
    return replace(whole, alternatives=tuple(_concatenate(translations, cuts) for translations in ranked))


def _copied(text: str, n_best: int, with_words: bool) -> Translation:
    """Return a text as its own translation, which no model wrote."""
    words = certain(text) if with_words else ()
    one = Translation(text, 0.0, 0.0, [], [], words=words)
    return replace(one, alternatives=(one,) * n_best)


def _concatenate(parts: list[Translation], cuts: tuple[str, ...]) -> Translation:
    """Join translations. The whole is as confident as its least confident part."""
    confidences = [part.confidence for part in parts if part.confidence is not None]
    return Translation(
        " ".join(part.text for part in parts if part.text),
        sum(part.score for part in parts),
        sum(part.log_probability for part in parts),
        [piece for part in parts for piece in part.pieces],
        [piece for part in parts for piece in part.source_pieces],
        all(part.finished for part in parts),
        cuts,
        log_probabilities=tuple(one for part in parts for one in part.log_probabilities),
        terms=tuple(entry for part in parts for entry in part.terms),
        forced=tuple(text for part in parts for text in part.forced),
        missing=tuple(text for part in parts for text in part.missing),
        confidence=min(confidences, default=None),
        words=tuple(word for part in parts for word in part.words),
    )
