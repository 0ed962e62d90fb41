"""The torch engine: heed's own search with PyTorch models, the reference and the default."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heed.config import DecodeConfig
from heed.data.batch import batch_of_ids, padded
from heed.data.batching import cut_by_budget
from heed.decode.beam import beam_search
from heed.decode.greedy import greedy_search
from heed.decode.model_step import ModelStep
from heed.decode.prefix import ForcedPrefix
from heed.decode.required import Boundaries, RequiredPhrases
from heed.decode.sampling import sample
from heed.decode.search import Candidate, Constraint, Hypothesis, Requirement, Task, Trace
from heed.engines.threads import map_batches
from heed.errors import DecodeError
from heed.model.compiled import Snapshot, compiled, reason_not_compiled
from heed.model.int8 import check_int8, quantized
from heed.model.interface import Searchable, SequenceModel
from heed.model.transformer import AttentionWeights, Transformer
from heed.options import SearchOptions
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from heed.translation import Attention, PairScore, SearchTrace, TracedCandidate, Translation, best_of

# The source tokens of a batch times its beam. Larger batches are slower: their scores do not fit a core's cache.
_BATCH_TOKENS_TIMES_BEAM = 4096
# How many hypotheses there are if a translation must contain phrases: the beam, and one for each token of the phrases,
# rounded up, because texts of different widths do not share a batch.
_REQUIRED_WIDTHS = (8, 16, 32, 64)
MAX_ONE_CORE_D_MODEL = 256  # up to this d_model, one core is as fast as several for the steps of a single batch


class PyTorchEngine:
    """One model, or an ensemble with one vocabulary whose probabilities are averaged, optionally with 8-bit weights."""

    def __init__(
        self,
        models: Sequence[SequenceModel],
        tokenizer: Tokenizer,
        decode: DecodeConfig,
        int8: bool = False,
        weights: str = "the model",
    ) -> None:
        """Make an engine of models that share a tokenizer. `weights` names their checkpoints in messages.

        Raises:
            ConfigError: `int8` without C kernels, or for a model that is not a Transformer.
            DecodeError: a model has another vocabulary size than the tokenizer.
        """
        for model in models:
            if model.vocabulary != tokenizer.vocabulary:
                raise DecodeError(
                    f"the model has {model.vocabulary}, the tokenizer {tokenizer.vocabulary}: "
                    "they do not belong together; take the tokenizer the model was trained with"
                )
        if int8:
            check_int8(models)
        self.models, self.tokenizer, self.decode, self.int8 = list(models), tokenizer, decode, int8
        self._weights = weights
        self._searchers: tuple[list[Snapshot], list[Searchable]] | None = None
        self._own_searcher: Searchable | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the compiled decoders: they hold pointers, so a copy makes its own."""
        return {**self.__dict__, "_searchers": None}

    def __repr__(self) -> str:
        config = self.models[0].config
        models = f"{len(self.models)} models" if len(self.models) > 1 else "1 model"
        return (
            f"torch, {models}, {config.encoder_layers}+{config.decoder_layers} layers of width {config.d_model}, "
            f"vocabulary of {len(self.tokenizer):,}, {self.device}{', int8' if self.int8 else ''}"
        )

    @property
    def device(self) -> torch.device:
        return self.models[0].device

    @property
    def limit(self) -> int:
        return min(model.config.max_length for model in self.models)

    @property
    def is_hard_limit(self) -> bool:
        return self._max_positions is not None

    @property
    def _max_positions(self) -> int | None:
        """The number of target positions that every model has; None: there is no limit."""
        return min((model.target_limit for model in self.models if model.target_limit), default=None)

    def supports(self, options: SearchOptions) -> str | None:
        if options.attention and not self.models[0].has_cross_attention:
            return f'attention: a model of model.kind = "{self.models[0].config.kind}" has no attention weights'
        if options.glossary is not None or options.copy or options.required is not None:
            what = "a glossary" if options.glossary is not None else "copying"
            for other, is_given in (
                ("sampling, which draws at random instead of searching", options.sampling is not None),
                ("prefixes", options.prefixes is not None),
                ("a constraint", options.constraint is not None),
            ):
                if is_given:
                    return f"{what} cannot be combined with {other}; give only one of them"
        return None

    def translate(
        self, texts: Sequence[str], numbers: Sequence[int], options: SearchOptions, on_done: Callable[[list[int]], None]
    ) -> list[Translation]:
        ids = self.tokenizer.encode_ids(texts)
        prefixes = None if options.prefix_ids is None else [list(one) for one in options.prefix_ids]
        if options.prefixes is not None:
            prefixes = self.tokenizer.encode_ids(options.prefixes)
        if prefixes is not None and options.whole:
            prefixes = [[*prefix, self.tokenizer.vocabulary.end] for prefix in prefixes]
        deadline = math.inf if options.seconds is None else time.monotonic() + options.seconds
        required = None if options.required is None else list(map(self.tokenizer.encode_ids, options.required))
        request = _Request(ids, numbers, prefixes, required, options, deadline)
        step = ModelStep(self._current_searchers(), self.device)
        n_threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        batches = self._batches(request, n_threads)
        found: dict[int, Translation] = {}
        results = map_batches(
            *(partial(self._search, step, request), batches, n_threads),
            all_cores_if_single=self.models[0].config.d_model > MAX_ONE_CORE_D_MODEL,
        )
        for rows, translations in zip(batches, results, strict=True):
            found.update(zip(rows, translations, strict=True))
            on_done([numbers[i] for i in rows])
        return [found[i] for i in range(len(texts))]

    def _batches(self, request: "_Request", n_threads: int) -> list[list[int]]:
        """Group texts of similar length into batches, the longest first, so that no thread ends up with a long one."""
        lengths = np.array([len(one) + 1 for one in request.ids], dtype=np.int64)
        widths = np.array([request.width(i) for i in range(len(lengths))], dtype=np.int64)
        tokens_per_thread = -(-int(lengths.sum()) // n_threads)
        batches: list[list[int]] = []
        for width in np.unique(widths).tolist():
            rows = np.flatnonzero(widths == width)
            order = rows[np.argsort(lengths[rows], kind="stable")]
            budget = min(self.decode.batch_tokens, max(1, _BATCH_TOKENS_TIMES_BEAM // width), tokens_per_thread)
            bounds = cut_by_budget(lengths[order], budget)
            batches += [order[begin:end].tolist() for begin, end in zip(bounds, bounds[1:], strict=False)]
        return batches[::-1]

    def _search(self, step: ModelStep, request: "_Request", rows: list[int]) -> list[Translation]:
        """Translate one batch of texts, given by their indices."""
        options, prefixes, vocabulary = request.options, request.prefixes, self.tokenizer.vocabulary
        sources = [request.ids[i] for i in rows]
        forced = [[] for _ in rows] if prefixes is None else [prefixes[i] for i in rows]
        traces = [Trace() for _ in rows] if options.trace else None
        limits = [self.output_limit(len(s) + len(p)) for s, p in zip(sources, forced, strict=True)]
        constraint: Constraint | None = ForcedPrefix(forced) if prefixes is not None else request.constraint(rows)
        if request.required is not None:
            phrases = [request.required[i] for i in rows]
            limits = [self.output_limit(len(s) + sum(map(len, p))) for s, p in zip(sources, phrases, strict=True)]
            constraint = RequiredPhrases(phrases, limits, vocabulary.end, vocabulary.size, self._boundaries)
        task = Task(
            limits=limits,
            start=vocabulary.start,
            end=vocabulary.end,
            alpha=options.alpha,
            constraint=constraint,
            never=vocabulary.never_output,
            traces=traces,
            deadline=request.deadline,
            is_cancelled=options.is_cancelled or (lambda: False),
        )
        with torch.inference_mode():  # it is a setting of the thread
            state = step.start(padded([[*ids, vocabulary.end] for ids in sources], vocabulary.pad).to(self.device))
            if options.sampling is not None:
                numbers = [request.numbers[i] for i in rows]
                results = sample(step, state, task, options.sampling, options.n_best, numbers)
            elif request.width(rows[0]) == 1 and not options.trace:
                results = greedy_search(step, state, task)
            else:
                results = beam_search(step, state, task, request.width(rows[0]), options.n_best)
            return [
                self._translation(source, hypotheses, options, None if traces is None else traces[b])
                for b, (source, hypotheses) in enumerate(zip(sources, results, strict=True))
            ]

    @cached_property
    def _boundaries(self) -> Boundaries:
        return Boundaries.of(self.tokenizer.pieces(range(len(self.tokenizer))))

    def output_limit(self, n_source: int) -> int:
        """Return the maximum length of section 6.1, input length + 50, or the number of learned positions if less."""
        limit = n_source + self.decode.extra_length
        return limit if self._max_positions is None else min(limit, self._max_positions)

    def _translation(
        self, source: list[int], hypotheses: list[Hypothesis], options: SearchOptions, trace: Trace | None
    ) -> Translation:
        """Turn the hypotheses of one text into a translation with its alternatives."""
        source_pieces, traced = self.tokenizer.pieces(source), None
        if trace is not None:
            traced = SearchTrace(tuple(tuple(map(self._traced, step)) for step in trace.steps))
        translations = [
            Translation(
                self.tokenizer.decode(one.ids),
                one.score,
                one.log_probability,
                self.tokenizer.pieces(one.ids),
                source_pieces,
                one.finished,
                log_probabilities=tuple(one.log_probabilities),
                attention=self.attention(source, one.ids) if options.attention else None,
                trace=traced,
            )
            for one in hypotheses
        ]
        return best_of(translations, self._weights)

    def _traced(self, given: Candidate) -> TracedCandidate:
        (piece,) = self.tokenizer.pieces([given.token])
        return TracedCandidate(given.parent, piece, given.log_probability, given.score, given.fate)

    @torch.inference_mode()
    def attention(self, source: list[int], target: list[int]) -> Attention:
        """Return the attention weights of the first model for this pair of ids.

        A model without self-attention has no layers in `encoder` and `decoder`.
        """
        captured, model = AttentionWeights(), self.models[0]
        batch = batch_of_ids([source], [target], self.tokenizer.vocabulary).to(self.device)
        if isinstance(model, Transformer):
            model(batch.src_BS, batch.tgt_in_BT, captured)
        else:
            captured.encoder, captured.decoder = [torch.empty(0, 1, 0, 0)], [torch.empty(0, 1, 0, 0)]
            captured.cross = model.cross_attention(batch.src_BS, batch.tgt_in_BT)
        encoder, decoder, cross = (
            torch.cat(layers).float().cpu().numpy() for layers in (captured.encoder, captured.decoder, captured.cross)
        )
        pieces = self.tokenizer.pieces
        end = self.tokenizer.vocabulary.end
        return Attention(pieces([*source, end]), pieces([*target, end]), encoder, decoder, cross)

    @torch.inference_mode()
    def score(self, ids: list[list[list[int]]]) -> list[PairScore]:
        """Score given translations by forced decoding. `ids` are those of the sources and those of the targets.

        An ensemble averages the probabilities of each token, as it does in search.
        """
        longer = np.array([max(len(source), len(target)) for source, target in zip(*ids, strict=True)], dtype=np.int64)
        scores: list[PairScore | None] = [None] * len(longer)
        order = np.argsort(longer, kind="stable")
        bounds = cut_by_budget(longer[order] + 1, self.decode.batch_tokens)
        for begin, end in zip(bounds, bounds[1:], strict=False):
            rows = order[begin:end].tolist()
            sources, targets = ([side[i] for i in rows] for side in ids)
            batch = batch_of_ids(sources, targets, self.tokenizer.vocabulary).to(self.device)
            gold_BT1 = batch.tgt_out_BT.unsqueeze(-1)
            logprobs_BTN = torch.cat(
                [model(batch.src_BS, batch.tgt_in_BT).log_softmax(-1).gather(-1, gold_BT1) for model in self.models], -1
            )
            gold_BT = logprobs_BTN.logsumexp(-1) - math.log(len(self.models))
            real_BT = batch.tgt_out_BT.ne(batch.pad)
            totals = gold_BT.where(real_BT, 0.0).double().sum(1).tolist()
            for i, total, n_tokens in zip(rows, totals, real_BT.sum(1).tolist(), strict=True):
                scores[i] = PairScore(total, n_tokens)
        return [score for score in scores if score is not None]

    def searching_with(self, searcher: Searchable) -> "PyTorchEngine":
        """Return an engine like this one that searches with `searcher`."""
        engine = copy.copy(self)
        engine._own_searcher = searcher
        return engine

    def _current_searchers(self) -> list[Searchable]:
        """Return the models to search with, those that C implements as `CompiledTransformer`.

        They are rebuilt if a model has been changed, converted or replaced.
        """
        if self._own_searcher is not None:
            return [self._own_searcher]
        current = self._searchers  # a local name, as another thread may replace it
        if current is None or not _match(current[0], self.models):
            snapshots = [Snapshot(model) for model in self.models]
            searchers: list[Searchable] = []
            for model in self.models:
                searched = quantized(model) if self.int8 else model
                is_compiled = reason_not_compiled(searched) is None
                searchers.append(compiled(searched) if is_compiled else searched)
            self._searchers = current = snapshots, searchers
        return current[1]


def _match(snapshots: list[Snapshot], models: list[SequenceModel]) -> bool:
    return len(snapshots) == len(models) and all(map(Snapshot.matches, snapshots, models))


@dataclass(frozen=True)
class _Request:
    """A call of `translate`: the ids of its texts, and its options."""

    ids: list[list[int]]
    numbers: Sequence[int]
    prefixes: list[list[int]] | None
    required: list[list[list[int]]] | None  # the phrases that each translation must contain
    options: SearchOptions
    deadline: float  # of time.monotonic()

    def width(self, i: int) -> int:
        """Return the number of hypotheses for a text."""
        if self.options.sampling is not None:
            return self.options.n_best
        if self.required is None:
            return self.options.beam
        wide = self.options.beam + sum(map(len, self.required[i]))
        return max(
            self.options.beam, next((width for width in _REQUIRED_WIDTHS if width >= wide), _REQUIRED_WIDTHS[-1])
        )

    def constraint(self, rows: list[int]) -> "_Renumbered | None":
        """Return the constraint for a batch of these texts."""
        given, first = self.options.constraint, self.options.first_number
        return None if given is None else _Renumbered(given, [self.numbers[i] - first for i in rows])


class _Renumbered:
    """A constraint on all texts, as seen by a batch that numbers its texts from 0."""

    def __init__(self, inner: Constraint, texts: list[int]) -> None:
        self._inner, self._texts = inner, texts
        self.allowed, self.advance = inner.allowed, inner.advance
        if isinstance(inner, Requirement):
            self.wanted, self.n_needed = inner.wanted, inner.n_needed

    def start(self, sentence: int) -> Any:
        return self._inner.start(self._texts[sentence])


def open_pytorch(folders: Sequence[Path], checkpoint: str, int8: bool) -> PyTorchEngine:
    """Load the models of run folders with the same vocabulary.

    Raises:
        CheckpointError: a folder is missing or damaged.
        DecodeError: the folders have different vocabularies.
    """
    runs = [RunFolder.open(folder) for folder in folders]
    for run in runs[1:]:
        if run.tokenizer.model != runs[0].tokenizer.model:
            raise DecodeError(
                f"{runs[0].path} and {run.path} have different vocabularies and cannot be an ensemble; "
                "train the second with the first's tokenizer.model (text.tokenizer)"
            )
    models = [run.load_model(checkpoint) for run in runs]
    weights = ", ".join(str(run.checkpoint_path(checkpoint)) for run in runs)
    return PyTorchEngine(models, runs[0].tokenizer, runs[0].config.decode, int8, weights)
