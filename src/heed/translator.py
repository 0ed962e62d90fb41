"""Translate texts with any engine: one translation per text, in the same order."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from heed.engines.searching import Engine
from heed.errors import ConfigError, DecodeError
from heed.options import Sampling, SearchOptions
from heed.parsing.tokenizer import TreeTokenizer
from heed.retranslate import with_required
from heed.text.capitals import calmed, in_capitals
from heed.text.glossary import Glossary
from heed.text.tokenizer import Tokenizer
from heed.translation import (
    PairScore,
    Translation,
    are_split,
    certain,
    check_prefixes,
    checked,
    in_capitals_again,
    joined,
    needs_whole_texts,
    parts_by_sentence,
    parts_that_fit,
    real_number,
    texts_of,
    whole_number,
)
from heed.wording import TORCH_IS_MISSING

if TYPE_CHECKING:
    import torch

    from heed.confidence.calibration import Calibration
    from heed.config import DecodeConfig
    from heed.engines.pytorch import PyTorchEngine
    from heed.inside.inspection import Inspection
    from heed.model.interface import SequenceModel
    from heed.parser import Parse


class Translator:
    """A model or an ensemble, ready to translate with an engine.

    It may be used from several threads at once.
    """

    def __init__(self, engine: Engine, read_calibration: "Callable[[], Calibration] | None" = None) -> None:
        """Translate with an engine. `read_calibration` is called when a confidence is first asked for."""
        self.engine = engine
        self._read_calibration = read_calibration
        self._calibration: Calibration | None = None
        self._reference: PyTorchEngine | None = None  # of a native engine, once it is needed

    def __repr__(self) -> str:
        return f"<Translator: {self.engine!r}>"

    @property
    def tokenizer(self) -> Tokenizer:
        return self.engine.tokenizer

    @property
    def decode(self) -> "DecodeConfig":
        return self.engine.decode

    @property
    def models(self) -> "list[SequenceModel]":
        """The models with torch. From then on the translator uses them: they may be changed, converted or moved."""
        self.engine = engine = self._pytorch()
        return engine.models

    @property
    def device(self) -> "torch.device":
        return self._pytorch().device

    @property
    def calibration(self) -> "Calibration":
        """Return how confident to be in translations, as `heed confidence` fitted it for the model.

        Raises:
            CheckpointError: the model is not calibrated, or the file is damaged or belongs to other weights.
            DecodeError: there is no run folder, or more than one.
        """
        if self._calibration is None:
            if self._read_calibration is None:
                raise DecodeError("confidence needs one model in a run folder; load it with heed.load(folder)")
            self._calibration = self._read_calibration()
        return self._calibration

    def _pytorch(self) -> "PyTorchEngine":
        """Return the torch engine, for what only it can do; a native engine's models are loaded again with torch."""
        from heed.engines.native import NativeEngine

        if isinstance(self.engine, NativeEngine):
            if self._reference is None:
                if find_spec("torch") is None:
                    raise ConfigError(TORCH_IS_MISSING)
                self._reference = self.engine.open_reference()
            return self._reference
        from heed.engines.pytorch import PyTorchEngine

        assert isinstance(self.engine, PyTorchEngine)  # there is no third engine
        return self.engine

    def fits(self, text: str) -> bool:
        """Return whether the text is within the model's limit, so that it is not translated in parts."""
        return len(self.tokenizer.encode_ids(texts_of([text], "text"))[0]) <= self.engine.limit

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        alpha: float | None = None,
        n_best: int = 1,
        sampling: Sampling | None = None,
        prefixes: Sequence[str] | None = None,
        constraint: Any = None,
        glossary: Glossary | Mapping[str, str] | None = None,
        copy: bool | None = None,
        sentences: bool | None = None,
        confidence: bool = False,
        attention: bool = False,
        trace: bool = False,
        first_number: int = 0,
        seconds: float | None = None,
        is_cancelled: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Translation]:
        """Translate texts, one line each.

        Args:
            beam: number of hypotheses; 1 is greedy. Default: the run's `decode.beam`.
            alpha: length penalty. Default: the run's `decode.alpha`.
            n_best: number of translations of each text to return, in `alternatives`.
            sampling: draw at random instead of searching.
            prefixes: the beginning of each translation, forced piece by piece; "" for none.
            constraint: a `heed.decode.search.Constraint` on the tokens of the translations.
            glossary: target terms by source term; a translation has the target terms of all source terms in its text.
            copy: translate again where tags, addresses, placeholders, emoji or numbers were lost, and force them.
                Default: the run's `decode.copy`, except with sampling, prefixes or a constraint, or an engine that
                cannot do it.
            sentences: translate each sentence of a text by itself. Default: the run's `decode.sentences`, except with
                prefixes, a constraint, attention or a trace.
            confidence: also return the chance that each translation is good, and that each word is: see
                docs/confidence.md. The run must be calibrated (`heed confidence`).
            attention: also return the attention weights of every head of the first model.
            trace: also return the candidates that each step of beam search considered, kept and pruned.
            first_number: number of the first text; the number of a text selects its random stream.
            seconds: a deadline for the whole call.
            is_cancelled: called before each step of a search; True ends it.
            progress: called after each batch, with the number of texts done and the number of all texts.

        Raises:
            CheckpointError: confidence is asked for, but the run is not calibrated, or its confidence.json is damaged.
            DataError: the glossary has an empty or contradictory entry, or one that is too long.
            DecodeError: the options contradict each other or are not supported, the weights are not finite, the
                deadline has passed, or the search was cancelled.
            TypeError: an argument has the wrong type.
        """
        texts = texts_of(texts, "texts")
        prefixes = None if prefixes is None else texts_of(prefixes, "prefixes")
        if sampling is not None and not isinstance(sampling, Sampling):
            raise TypeError(f"sampling must be a heed.Sampling, not {type(sampling).__name__}")
        if glossary is not None and not isinstance(glossary, (Glossary, Mapping)):
            raise TypeError(f"glossary must be a heed.Glossary or a dict, not {type(glossary).__name__}")
        if is_cancelled is not None and not callable(is_cancelled):
            raise TypeError(f"is_cancelled must be a function, not {type(is_cancelled).__name__}")
        if sampling is not None and beam is not None:
            raise DecodeError(f"beam {beam} is for beam search, but sampling draws at random; give only one of them")
        options = SearchOptions(
            beam=self.decode.beam if beam is None else whole_number(beam, "beam"),
            alpha=self.decode.alpha if alpha is None else real_number(alpha, "alpha"),
            n_best=whole_number(n_best, "n_best"),
            sampling=sampling,
            prefixes=prefixes,
            constraint=constraint,
            glossary=Glossary(glossary) if isinstance(glossary, Mapping) else glossary,
            copy=copy,
            sentences=sentences,
            confidence=confidence,
            attention=attention,
            trace=trace,
            first_number=whole_number(first_number, "first_number"),
            seconds=None if seconds is None else real_number(seconds, "seconds"),
            is_cancelled=is_cancelled,
        )
        return self.run(texts, options, progress)

    def run(
        self, texts: Sequence[str], options: SearchOptions, progress: Callable[[int, int], None] | None = None
    ) -> list[Translation]:
        """Translate texts with these options; see `translate`."""
        options = checked(options)
        self._refuse_parser()
        if (reason := self.engine.supports(options)) is not None:
            raise DecodeError(reason)
        calibration = self.calibration if options.confidence else None
        if options.copy is None:
            can_copy = self.engine.supports(replace(options, copy=True)) is None
            options = replace(options, copy=self.decode.copy and can_copy)
        first, limit, prefixes = options.first_number, self.engine.limit, options.prefixes
        if prefixes is not None and len(prefixes) != len(texts):
            raise DecodeError(
                f"{len(texts)} texts, but {len(prefixes)} prefixes; give one for each text, or none at all"
            )
        cut = parts_by_sentence if are_split(options, self.decode.sentences) else parts_that_fit
        is_calmed = partial(_is_calmed, options) if self.decode.capitals else lambda text: False
        parts = cut(texts, self.tokenizer, limit, self.engine.is_hard_limit, bool(options.copy), is_calmed)
        translated = [(first + i, part) for i, several in enumerate(parts) for part in several if not part.is_copied]
        numbers, flat = [number for number, _ in translated], [part.text for _, part in translated]
        if prefixes is not None or options.constraint is not None:
            what = "a constraint" if prefixes is None else "a prefix"
            if (long := next((i for i, p in enumerate(parts) if len(p) > 1), None)) is not None:
                raise DecodeError(
                    f"text {first + long + 1} is longer than {limit} pieces, so it is translated in parts and cannot "
                    f"have {what}; shorten the text, or leave out {what}"
                )
        if prefixes is not None:
            check_prefixes(self.tokenizer.encode_ids(prefixes), self.tokenizer.vocabulary.unknown, limit, first)
            options = replace(options, prefixes=[prefixes[number - first] for number in numbers])
        on_done = _counting(numbers, len(texts), progress or (lambda done, total: None))
        deadline = None if options.seconds is None else time.monotonic() + options.seconds
        found = self.engine.translate(flat, numbers, options, on_done)
        found = with_required(self.engine, flat, numbers, found, options, deadline)
        if calibration is not None:
            found = calibration.annotated(found)
        found = [
            in_capitals_again(one) if part.was_in_capitals else one
            for one, (_, part) in zip(found, translated, strict=True)
        ]
        whole = joined(parts, found)
        if calibration is None:
            return whole
        unread = [one.confidence is None for one in whole]  # blank, or copied as a whole
        return [
            replace(one, confidence=1.0, words=certain(one.text)) if is_unread else one
            for one, is_unread in zip(whole, unread, strict=True)
        ]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[PairScore]:
        """Return the log-probability of each given translation, by forced decoding.

        An ensemble averages the probabilities of each token, as it does in search.

        Raises:
            DecodeError: the numbers of texts differ, or a text is longer than the model's limit.
            TypeError: an argument is not a list of texts.
        """
        self._refuse_parser()
        sources, targets = texts_of(sources, "sources"), texts_of(targets, "targets")
        if len(sources) != len(targets):
            raise DecodeError(f"{len(sources)} sources, but {len(targets)} targets; give as many of each")
        ids = [self.tokenizer.encode_ids(side) for side in (sources, targets)]
        for number, pair in enumerate(zip(*ids, strict=True), 1):
            if (longer := max(map(len, pair))) > self.engine.limit:
                raise DecodeError(
                    f"pair {number} has {longer} pieces on one side, but the model's limit is {self.engine.limit}; "
                    "leave it out or split it"
                )
        from heed.engines.native import NativeEngine

        if isinstance(self.engine, NativeEngine) and self.engine.precision == "float32":
            return self.engine.score(ids)
        return self._pytorch().score(ids)  # with whole weights, even if the search rounds them

    def parse(
        self,
        sentences: "Sequence[str | Sequence[str]]",
        *,
        beam: int | None = None,
        alpha: float | None = None,
        n_best: int = 1,
        split_hyphens: bool | None = None,
        constrained: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> "list[Parse]":
        """Return the tree of each sentence, with a model that was trained on trees; a blank sentence has none.

        Args:
            sentences: raw text, which is split into words as in the Penn treebank, or lists of words.
            beam: number of hypotheses; 1 is greedy. Default: the run's `decode.beam`.
            alpha: length penalty. Default: the run's `decode.alpha`.
            n_best: number of trees of each sentence to return, in `alternatives`.
            split_hyphens: split raw text at hyphens. Default: as the treebank does.
            constrained: every output is a tree over exactly the words. If False, the model may write anything, and
                `tree` is None where that is no tree.
            progress: called after each batch, with the number of sentences done and the number of all.

        Raises:
            DataError: a word is blank.
            DecodeError: the model translates, a sentence is too long, or the weights are not finite.
            TypeError: an argument has the wrong type.
        """
        engine = self._pytorch()
        from heed.parser import parse_sentences

        if isinstance(sentences, str):
            raise TypeError(f"sentences must be a list of texts or of lists of words, not a text: {sentences!r:.60}")
        sentences = [
            sentence if isinstance(sentence, str) else texts_of(sentence, f"sentences[{number}]")
            for number, sentence in enumerate(sentences)
        ]
        options = SearchOptions(
            beam=self.decode.beam if beam is None else whole_number(beam, "beam"),
            alpha=self.decode.alpha if alpha is None else real_number(alpha, "alpha"),
            n_best=whole_number(n_best, "n_best"),
        )
        return parse_sentences(
            engine,
            sentences,
            checked(options),
            split_hyphens=split_hyphens,
            constrained=constrained,
            progress=progress or (lambda done, total: None),
        )

    def _refuse_parser(self) -> None:
        """
        Raises:
            DecodeError: the model parses.
        """
        if isinstance(self.tokenizer, TreeTokenizer):
            raise DecodeError("this model parses and cannot translate; use `heed parse`, or parse() in Python")

    def inspect(
        self,
        text: str,
        *,
        beam: int | None = None,
        alpha: float | None = None,
        sample: Sequence[tuple[str, str]] = (),
        sample_name: str = "the pairs given",
        name: str = "the model",
        progress: Callable[[int, int], None] | None = None,
    ) -> "Inspection":
        """Translate one sentence, and return all that the model computed for it.

        Args:
            beam: hypotheses kept. Left out: the run's `decode.beam`.
            alpha: length penalty. Left out: the run's `decode.alpha`.
            sample: pairs of sentences and translations to measure on what each head does; none: not measured.
            sample_name: where they are from, for the page.
            name: of the model, for the page.
            progress: called with how many sentences are computed and how many there are to compute.

        Raises:
            DecodeError: a blank text, one longer than the model's limit, several models, or one in 8 bits.
            TypeError: an argument that is not what it should be.
        """
        engine = self._pytorch()
        from heed.inside.inspection import inspect_text

        (text,) = texts_of([text], "text")
        return inspect_text(
            engine,
            text,
            beam=None if beam is None else whole_number(beam, "beam"),
            alpha=None if alpha is None else real_number(alpha, "alpha"),
            sample=sample,
            sample_name=sample_name,
            name=name,
            progress=progress or (lambda done, total: None),
        )


def _is_calmed(options: SearchOptions, text: str) -> bool:
    """Return whether a sentence is translated in small letters. A glossary's terms keep theirs, on both sides."""
    if needs_whole_texts(options) is not None or not in_capitals(text):
        return False
    return options.glossary is None or not (options.glossary.find(text) or options.glossary.find(calmed(text)))


def _counting(numbers: list[int], n_texts: int, progress: Callable[[int, int], None]) -> Callable[[list[int]], None]:
    """Return an `on_done` for the parts of texts that calls `progress` with the number of whole texts done."""
    left = Counter(numbers)  # the parts still to do of each text that is not blank
    n_done = n_texts - len(left)

    def on_done(translated: list[int]) -> None:
        nonlocal n_done
        for number in translated:
            left[number] -= 1
            n_done += left[number] == 0
        progress(n_done, n_texts)

    return on_done
