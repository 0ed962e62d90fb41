"""From texts to translations: order and count kept, whatever the texts."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heed.config import DecodeConfig
from heed.data.batch import batch_of_ids, pad
from heed.data.batching import cut_by_budget
from heed.data.shortlist import Shortlist
from heed.decode.ahead import ahead
from heed.decode.beam import beam_search
from heed.decode.draft import Draft, ModelDraft
from heed.decode.greedy import greedy_search
from heed.decode.lanes import n_lanes, side_by_side
from heed.decode.model_step import ModelState, model_step
from heed.decode.sampling import Sampling, sample
from heed.decode.step import EnsembleState, Hypothesis, Task, ensemble, forced_prefix
from heed.errors import DecodeError
from heed.model.incremental import IncrementalDecoder
from heed.model.int8 import Int8Product, check_int8, int8_encoder
from heed.model.transformer import AttentionWeights, Transformer
from heed.run import RunFolder
from heed.symbols import EOS, PAD, UNK
from heed.text.tokenizer import Tokenizer
from heed.translation import (
    Attention,
    Translation,
    beam_and_alpha,
    best_of,
    check_prefixes,
    joined,
    parts_that_fit,
    texts_of,
    whole_number,
)

# Source pieces of a batch, times its beam: larger batches are slower, their scores too large for the cores' own memory.
_PIECES = 4096
_SMALL = 256  # up to this width, one core is as quick as several for one sentence's steps


@dataclass(frozen=True)
class PairScore:
    """How probable the model finds a given translation."""

    log_probability: float
    n_tokens: int  # pieces and the end symbol


class Translator:
    """One model, or several of one vocabulary that vote together.

    `int8`: search with weights of 8 bits. `shortlist`: search among the symbols that are plausible for a batch only.
    """

    def __init__(
        self,
        models: Sequence[Transformer],
        tokenizer: Tokenizer,
        decode: DecodeConfig,
        int8: bool = False,
        shortlist: Shortlist | None = None,
        weights: str = "the model",
    ) -> None:
        """Take models that belong together. `weights`: where they are from.

        Raises:
            DecodeError: a model's vocabulary is not the tokenizer's.
        """
        for model in models:
            if model.vocab_size != len(tokenizer):
                raise DecodeError(
                    f"the model has a vocabulary of {model.vocab_size}, the tokenizer one of {len(tokenizer)}: "
                    "they do not belong together"
                )
        if int8:
            check_int8()
        self.models = list(models)
        self.tokenizer = tokenizer
        self.decode = decode
        self._int8 = int8
        self._shortlist = shortlist
        self._made_of: Sequence[tuple[object, ...]] = []  # the weights that `_decoders` were made of
        self._weights = weights

    def __repr__(self) -> str:
        config = self.models[0].config
        several = f"{len(self.models)} models" if len(self.models) > 1 else "1 model"
        ways = "".join([", int8" if self._int8 else "", ", shortlist" if self._shortlist is not None else ""])
        return (
            f"<Translator: {several}, {config.encoder_layers}+{config.decoder_layers} layers of width "
            f"{config.d_model}, vocabulary of {len(self.tokenizer):,}, {self.device}{ways}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the decoders, which point to this process's weights: whoever gets the copy makes its own.

        So does this one: PyTorch moves weights into shared memory when it hands them to another process.
        """
        self.__dict__.pop("_decoders", None)
        self._made_of = []
        return self.__dict__.copy()

    @cached_property
    def _decoders(self) -> list[IncrementalDecoder]:
        """Made when first needed: whoever only scores does without."""
        if self._int8:
            return [IncrementalDecoder(int8_encoder(model), Int8Product) for model in self.models]
        return [IncrementalDecoder(model) for model in self.models]

    def _current_decoders(self) -> list[IncrementalDecoder]:
        """The decoders; made again if weights have been changed, converted or replaced since they were made."""
        weights = (weight for model in self.models for weight in model.parameters())
        made_of = [(id(one), one.data_ptr(), one.dtype, one.is_inference() or one._version) for one in weights]
        if made_of != self._made_of:
            self.__dict__.pop("_decoders", None)
            self._made_of = made_of
        return self._decoders

    def as_draft_of(self, other: "Translator") -> Draft:
        """The (first) model, as who guesses ahead for another translator.

        Raises:
            DecodeError: they have different vocabularies.
        """
        if self.tokenizer.model != other.tokenizer.model:
            raise DecodeError(
                "the model that guesses ahead has another vocabulary than the one that translates; "
                "train it with the other's tokenizer.model (text.tokenizer)"
            )
        return ModelDraft(self._current_decoders()[0], (PAD, EOS, UNK))

    @property
    def device(self) -> torch.device:
        return self.models[0].embedding.weight.device

    @property
    def _limit(self) -> int:
        """The most pieces of a text that every model reads."""
        return min(model.config.max_length for model in self.models)

    @property
    def _last_position(self) -> int | None:
        """The number of positions every model has; None if there is no last one."""
        return min(
            (model.target_positions.limit for model in self.models if model.target_positions.limit), default=None
        )

    def fits(self, text: str) -> bool:
        """Is the text within the model's limit, so that it need not be translated in parts?"""
        return len(self.tokenizer.encode_ids(texts_of([text], "text"))[0]) <= self._limit

    @torch.inference_mode()
    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int | None = None,
        alpha: float | None = None,
        n_best: int = 1,
        sampling: Sampling | None = None,
        prefixes: Sequence[str] | None = None,
        attention: bool = False,
        draft: Draft | None = None,
        first_number: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Translation]:
        """Translate texts, one line each.

        Args:
            beam: hypotheses kept; 1 is greedy. Left out: the run's `decode.beam`.
            alpha: length penalty. Left out: the run's `decode.alpha`.
            n_best: how many translations of each text to return, in `alternatives`.
            sampling: draw at random instead of searching.
            prefixes: what each translation must begin with, piece by piece; "" for nothing.
            attention: also return every head's weights, of the first model.
            draft: who guesses ahead where one text is translated alone; it changes nothing but the time.
            first_number: number of the first text, which names its random stream.
            progress: called with how many texts are done and how many there are, after each batch.

        Raises:
            DecodeError: a request that cannot be carried out, or weights that are not finite.
            TypeError: an argument that is not what it should be.
        """
        texts = texts_of(texts, "texts")
        prefixes = None if prefixes is None else texts_of(prefixes, "prefixes")
        first_number = whole_number(first_number, "first_number")
        if sampling is not None and not isinstance(sampling, Sampling):
            raise TypeError(f"sampling must be a heed.Sampling, not {type(sampling).__name__}")
        if isinstance(draft, Translator):
            raise TypeError("draft must be what `as_draft_of` returns: draft=small.as_draft_of(large)")
        if prefixes is not None and len(prefixes) != len(texts):
            raise DecodeError(f"{len(texts)} texts, but {len(prefixes)} prefixes; give one for each, or none")
        if draft is not None and self._shortlist is not None:
            raise DecodeError("a draft guesses among all symbols, so it does not go with a shortlist; leave one out")
        beam, alpha = beam_and_alpha(self.decode, beam, alpha, n_best, drawing=sampling is not None)
        limit = self._limit
        parts = parts_that_fit(texts, self.tokenizer, limit, self._last_position is not None)
        if prefixes is not None and (long := next((i for i, p in enumerate(parts) if len(p) > 1), None)) is not None:
            raise DecodeError(
                f"text {first_number + long + 1} is longer than {limit} pieces, so it cannot have a prefix"
            )
        flat = [part.text for text_parts in parts for part in text_parts]
        numbers = [first_number + i for i, text_parts in enumerate(parts) for _ in text_parts]
        forced = None
        if prefixes is not None:
            ids = self.tokenizer.encode_ids(prefixes)
            check_prefixes(ids, limit, first_number)
            forced = [ids[number - first_number] for number in numbers]

        on_parts = _counting(numbers, len(texts), progress or (lambda done, total: None))
        found = self._translate_parts(flat, numbers, beam, alpha, n_best, sampling, forced, attention, draft, on_parts)
        return joined(parts, found)

    @torch.inference_mode()
    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[PairScore]:
        """Forced decoding: the log-probability of each given translation.

        Several models: that of the mean of their probabilities, symbol by symbol, as they search.

        Raises:
            DecodeError: unequal numbers, or a side longer than the model's limit.
            TypeError: not two lists of texts.
        """
        sources, targets = texts_of(sources, "sources"), texts_of(targets, "targets")
        if len(sources) != len(targets):
            raise DecodeError(f"{len(sources)} sources, but {len(targets)} targets")
        limit = self._limit
        ids = [self.tokenizer.encode_ids(side) for side in (sources, targets)]
        longer = np.array([max(len(source), len(target)) for source, target in zip(*ids, strict=True)], dtype=np.int64)
        if len(longer) and longer.max() > limit:
            raise DecodeError(
                f"pair {int(longer.argmax()) + 1} has {longer.max()} pieces on one side, the model's limit is {limit}; "
                "take it out or split it"
            )
        scores: list[PairScore | None] = [None] * len(longer)
        order = np.argsort(longer, kind="stable")
        bounds = cut_by_budget(longer[order] + 1, self.decode.batch_tokens)
        for begin, end in zip(bounds, bounds[1:], strict=False):
            rows = order[begin:end].tolist()
            batch = batch_of_ids([ids[0][i] for i in rows], [ids[1][i] for i in rows]).to(self.device)
            gold_BT1 = batch.tgt_out_BT.unsqueeze(-1)
            logprobs_BTN = torch.cat(
                [model(batch.src_BS, batch.tgt_in_BT).log_softmax(-1).gather(-1, gold_BT1) for model in self.models], -1
            )
            gold_BT = logprobs_BTN.logsumexp(-1) - math.log(len(self.models))
            real_BT = batch.tgt_out_BT.ne(PAD)
            totals = gold_BT.where(real_BT, 0.0).double().sum(1).tolist()
            for i, total, n_tokens in zip(rows, totals, real_BT.sum(1).tolist(), strict=True):
                scores[i] = PairScore(total, n_tokens)
        return [score for score in scores if score is not None]

    def _translate_parts(
        self,
        texts: list[str],
        numbers: list[int],
        beam: int,
        alpha: float,
        n_best: int,
        sampling: Sampling | None,
        forced: list[list[int]] | None,
        attention: bool,
        draft: Draft | None,
        on_parts: Callable[[list[int]], None],
    ) -> list[Translation]:
        """Texts that fit, sorted into batches of similar length and put back in order.

        `on_parts` is called after each batch with its texts' numbers.
        """
        ids = self.tokenizer.encode_ids(texts)
        lengths = np.array([len(one) + 1 for one in ids], dtype=np.int64)
        order = np.argsort(lengths, kind="stable")
        all_symbols, lanes = self._current_decoders(), n_lanes(self.device)
        a_share = -(-int(lengths.sum()) // lanes)
        width = beam if sampling is None else n_best
        budget = min(self.decode.batch_tokens, max(1, _PIECES // width), a_share)
        bounds = cut_by_budget(lengths[order], budget)

        def translate_batch(rows: list[int]) -> list[Translation]:
            src_BS = pad([[*ids[i], EOS] for i in rows]).to(self.device)
            limits = [self._output_limit(len(ids[i]) + (len(forced[i]) if forced else 0)) for i in rows]
            sources, begins = [ids[i] for i in rows], None if forced is None else [forced[i] for i in rows]
            decoders, listed = all_symbols, None
            if self._shortlist is not None:  # the search does not notice: to it, these are all symbols
                listed = self._shortlist.symbols(sources, begins or ())
                decoders = [one.restricted(torch.from_numpy(listed).to(self.device)) for one in decoders]
                begins = begins and [np.searchsorted(listed, begin).tolist() for begin in begins]
            vocab_size = len(self.tokenizer) if listed is None else len(listed)
            constraint = None if begins is None else forced_prefix(begins, vocab_size)
            task = Task(limits, PAD, EOS, alpha, constraint, (PAD, UNK), self.device)
            greedy = beam == 1 and sampling is None
            if draft is not None and sampling is None and len(rows) == 1:
                n_guesses = 3 if greedy else 2 * beam
                begun = [ahead(decoder, src_BS, draft, n_guesses, limits[0]) for decoder in decoders]
                step, state = ensemble([one for one, _ in begun]), EnsembleState([one for _, one in begun])
            else:
                step = ensemble([model_step(decoder) for decoder in decoders])
                state = EnsembleState([ModelState(decoder.start(src_BS)) for decoder in decoders])
            if sampling is not None:
                results = sample(step, state, task, sampling, n_best, [numbers[i] for i in rows])
            elif greedy:
                results = greedy_search(step, state, task)
            else:
                results = beam_search(step, state, task, beam, n_best)
            if listed is not None:
                results = [[replace(one, ids=listed[one.ids].tolist()) for one in several] for several in results]
            return [self._translation(ids[i], several, attention) for i, several in zip(rows, results, strict=True)]

        # The longest first: what is left to the end should be short, or one core works and the others wait.
        batches = [order[begin:end].tolist() for begin, end in zip(bounds, bounds[1:], strict=False)][::-1]
        small_steps = self.models[0].config.d_model <= _SMALL
        translated = iter(batches)
        several = side_by_side(
            *(translate_batch, batches, lanes, small_steps),
            on_result=lambda result: on_parts([numbers[i] for i in next(translated)]),
        )
        numbered = zip((i for rows in batches for i in rows), (one for those in several for one in those), strict=True)
        return [one for _, one in sorted(numbered, key=lambda item: item[0])]

    def _output_limit(self, n_source: int) -> int:
        """Section 6.1: at most input length + 50; and no further than there are learned positions."""
        limit = n_source + self.decode.extra_length
        return limit if self._last_position is None else min(limit, self._last_position)

    def _translation(self, source: list[int], hypotheses: list[Hypothesis], attention: bool) -> Translation:
        source_pieces = self.tokenizer.pieces(source)
        several = [
            Translation(
                self.tokenizer.decode(one.ids),
                one.score,
                one.log_probability,
                self.tokenizer.pieces(one.ids),
                source_pieces,
                one.finished,
                attention=self._attention(source, one.ids) if attention else None,
            )
            for one in hypotheses
        ]
        return best_of(several, self._weights)

    def _attention(self, source: list[int], target: list[int]) -> Attention:
        captured = AttentionWeights()
        batch = batch_of_ids([source], [target]).to(self.device)
        self.models[0](batch.src_BS, batch.tgt_in_BT, captured)
        encoder, decoder, cross = (
            torch.cat(layers).float().cpu().numpy() for layers in (captured.encoder, captured.decoder, captured.cross)
        )
        pieces = self.tokenizer.pieces
        return Attention(pieces([*source, EOS]), pieces([*target, EOS]), encoder, decoder, cross)


def _counting(numbers: list[int], n_texts: int, progress: Callable[[int, int], None]) -> Callable[[list[int]], None]:
    """Turn numbers of texts, one for each part that is translated, into calls of `progress`."""
    left = Counter(numbers)  # parts, of each text that is not blank
    n_done = n_texts - len(left)

    def on_parts(translated: list[int]) -> None:
        nonlocal n_done
        for number in translated:
            left[number] -= 1
            n_done += left[number] == 0
        progress(n_done, n_texts)

    return on_parts


def load(*paths: str | Path, checkpoint: str = "best", int8: bool = False, shortlist: bool = False) -> Translator:
    """The translator in a run folder; several folders of one vocabulary make an ensemble.

    Args:
        checkpoint: "best" (by validation), "last", or a folder below `checkpoints/`.
        int8: search with weights of 8 bits: quicker, a little less exact.
        shortlist: search among the symbols that are plausible for a sentence only, by what `heed shortlist` has
            written into the (first) folder: quicker, a little less exact.

    Raises:
        ConfigError: `int8` where there are no C kernels.
        CheckpointError: a folder is missing or damaged.
        DecodeError: the folders have different vocabularies.
        TypeError: an argument that is not what it should be.
    """
    if not paths:
        raise TypeError("load needs at least one run folder")
    for path in paths:
        if not isinstance(path, (str, PathLike)):
            raise TypeError(f'load takes folders one by one, as in load("runs/x", "runs/y"), not {path!r}')
    if not isinstance(checkpoint, str):
        raise TypeError(f'checkpoint must be "best", "last" or a name such as "step-00000500", not {checkpoint!r}')
    runs = [RunFolder.open(Path(path)) for path in paths]
    for run in runs[1:]:
        if run.tokenizer.model != runs[0].tokenizer.model:
            raise DecodeError(
                f"{runs[0].path} and {run.path} have different vocabularies and cannot vote together; "
                "train the second with the first's tokenizer.model (text.tokenizer)"
            )
    models = [run.load_model(checkpoint) for run in runs]
    listed = Shortlist.load(runs[0].shortlist_path, runs[0].tokenizer) if shortlist else None
    weights = ", ".join(str(run.checkpoint_path(checkpoint)) for run in runs)
    return Translator(models, runs[0].tokenizer, runs[0].config.decode, int8, listed, weights)
