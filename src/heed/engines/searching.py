"""Search texts in batches: what the engines with heed's own search have in common. It needs no torch."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from heed.config import DecodeConfig
from heed.data.batching import cut_by_budget
from heed.decode.beam import beam_search
from heed.decode.greedy import greedy_search
from heed.decode.prefix import ForcedPrefix
from heed.decode.required import Boundaries, RequiredPhrases
from heed.decode.sampling import sample
from heed.decode.search import Candidate, Constraint, Hypothesis, Ints, Requirement, Step, Task, Trace
from heed.errors import DecodeError
from heed.options import SearchOptions
from heed.run import RunFolder
from heed.text.tokenizer import Tokenizer
from heed.translation import Attention, SearchTrace, TracedCandidate, Translation, best_of

# The source tokens of a batch times its beam. Larger batches are slower: their scores do not fit a core's cache.
BATCH_TOKENS_TIMES_BEAM = 4096
# How many hypotheses there are if a translation must contain phrases: the beam, and one for each token of the phrases,
# rounded up, because texts of different widths do not share a batch.
_REQUIRED_WIDTHS = (8, 16, 32, 64)


class Engine(ABC):
    """A model, or an ensemble of one vocabulary, ready to translate."""

    _min_tokens = 1  # what a shorter text counts as, in a batch

    def __init__(self, tokenizer: Tokenizer, decode: DecodeConfig, weights: str) -> None:
        """`weights` names the checkpoints in messages."""
        self.tokenizer, self.decode = tokenizer, decode
        self._weights = weights

    @property
    @abstractmethod
    def limit(self) -> int:
        """The maximum length of a text in pieces; a longer one has to be cut into parts."""

    @property
    @abstractmethod
    def _max_positions(self) -> int | None:
        """The number of target positions that every model has; None: there is no limit."""

    @abstractmethod
    def _step(self, n_batches: int) -> Step[Any]:
        """Return the step function to search so many batches with."""

    @abstractmethod
    def _start(self, step: Any, sources: list[list[int]]) -> Any:
        """Return the state of a step function before the first token of these sources, which have their end tokens."""

    @property
    @abstractmethod
    def _n_threads(self) -> int:
        """The number of threads to search with."""

    @abstractmethod
    def _map_batches(
        self, work: Callable[[list[int]], list[Translation]], batches: Sequence[list[int]], n_threads: int
    ) -> Iterator[list[Translation]]:
        """Return `work` of each batch, in order."""

    @abstractmethod
    def attention(self, source: list[int], target: list[int]) -> Attention:
        """Return the attention weights of the first model for this pair of ids."""

    def _gradients_off(self) -> AbstractContextManager[Any]:
        """Return a context for the thread that searches."""
        return nullcontext()

    @property
    def is_hard_limit(self) -> bool:
        """Whether the model cannot read more than `limit` pieces at all; otherwise it only was not trained to."""
        return self._max_positions is not None

    def supports(self, options: SearchOptions) -> str | None:
        """Return why this engine does not support these options; None: it does."""
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
        """Translate texts within the limit, with supported options.

        `numbers[i]` identifies text i and its random stream. `on_done` is called with the numbers of the texts of each
        batch that is done.

        Raises:
            DecodeError: the weights are not finite, the deadline has passed, or the search was cancelled.
        """
        ids = self.tokenizer.encode_ids(texts)
        prefixes = None if options.prefix_ids is None else [list(one) for one in options.prefix_ids]
        if options.prefixes is not None:
            prefixes = self.tokenizer.encode_ids(options.prefixes)
        if prefixes is not None and options.whole:
            prefixes = [[*prefix, self.tokenizer.vocabulary.end] for prefix in prefixes]
        deadline = math.inf if options.seconds is None else time.monotonic() + options.seconds
        required = None
        if options.required is not None:
            required = [[self.tokenizer.encode_ids(chain) for chain in chains] for chains in options.required]
        request = _Request(ids, numbers, prefixes, required, options, deadline)
        n_threads = self._n_threads
        batches = self._batches(request, n_threads)
        step = self._step(len(batches))
        found: dict[int, Translation] = {}
        results = self._map_batches(partial(self._search, step, request), batches, n_threads)
        for rows, translations in zip(batches, results, strict=True):
            found.update(zip(rows, translations, strict=True))
            on_done([numbers[i] for i in rows])
        return [found[i] for i in range(len(texts))]

    def _batches(self, request: "_Request", n_threads: int) -> list[list[int]]:
        """Group texts of similar length into batches, the longest first, so that no thread ends up with a long one."""
        lengths = np.array([len(one) + 1 for one in request.ids], dtype=np.int64)
        counted = np.maximum(lengths, self._min_tokens)
        widths = np.array([request.width(i) for i in range(len(lengths))], dtype=np.int64)
        batches: list[list[int]] = []
        for width in sorted(set(widths.tolist())):
            rows = np.flatnonzero(widths == width)
            order = rows[np.argsort(lengths[rows], kind="stable")]
            budget = min(self.decode.batch_tokens, max(1, BATCH_TOKENS_TIMES_BEAM // width))
            bounds = _cut_evenly(counted[order], budget, n_threads)
            batches += [order[begin:end].tolist() for begin, end in zip(bounds, bounds[1:], strict=False)]
        return batches[::-1]

    def _search(self, step: Step[Any], request: "_Request", rows: list[int]) -> list[Translation]:
        """Translate one batch of texts, given by their indices."""
        options, prefixes, vocabulary = request.options, request.prefixes, self.tokenizer.vocabulary
        sources = [request.ids[i] for i in rows]
        forced = [[] for _ in rows] if prefixes is None else [prefixes[i] for i in rows]
        traces = [Trace() for _ in rows] if options.trace else None
        limits = [self.output_limit(len(s) + len(p)) for s, p in zip(sources, forced, strict=True)]
        constraint: Constraint | None = ForcedPrefix(forced) if prefixes is not None else request.constraint(rows)
        if request.required is not None:
            limits = [self.output_limit(len(request.ids[i]) + request.n_required(i)) for i in rows]
            barred = None if options.barred is None else [options.barred[i] for i in rows]
            chains = [request.required[i] for i in rows]
            constraint = RequiredPhrases(chains, limits, vocabulary.end, vocabulary.size, self._boundaries, barred)
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
        with self._gradients_off():  # a setting of the thread
            state = self._start(step, [[*ids, vocabulary.end] for ids in sources])
            if options.sampling is not None:
                numbers = [request.numbers[i] for i in rows]
                results = sample(step, state, task, options.sampling, options.n_best, numbers)
            elif any(map(request.n_required, rows)):
                # Each hypothesis pays for what is required. A length penalty would divide that price by the length, and
                # long hypotheses would win, whatever else they say. So search ranks them by probability alone.
                by_probability = replace(task, alpha=0.0)
                found = beam_search(step, state, by_probability, request.width(rows[0]), options.n_best)
                results = [
                    [
                        task.hypothesis(one.ids, one.log_probability, one.log_probabilities, one.finished)
                        for one in several
                    ]
                    for several in found
                ]
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


def _cut_evenly(sorted_lengths: Ints, budget: int, n_threads: int) -> Ints:
    """Cut lengths into batches of at most `budget` tokens, as `cut_by_budget` does, but so that all threads are busy.

    With several threads, their number may rise up to the next multiple of that of threads, and the largest batch is as
    small as that allows. It rises no further than that takes: 9 texts of one length for 4 threads are 3 batches of 3.
    """
    n_texts, n_batches = len(sorted_lengths), len(cut_by_budget(sorted_lengths, budget)) - 1
    if n_batches < n_texts and n_threads > 1:
        wanted = -(-n_batches // n_threads) * n_threads
        # The smallest budget that makes no more batches than wanted: at least an equal share of all tokens, and at most
        # what an equal share of the texts needs.
        smallest = -(-int(sorted_lengths.sum()) // wanted)
        budget = min(budget, -(-n_texts // wanted) * int(sorted_lengths[-1]))
        while smallest < budget:
            middle = (smallest + budget) // 2
            if len(cut_by_budget(sorted_lengths, middle)) - 1 > wanted:
                smallest = middle + 1
            else:
                budget = middle
    return cut_by_budget(sorted_lengths, budget)


@dataclass(frozen=True)
class _Request:
    """A call of `translate`: the ids of its texts, and its options."""

    ids: list[list[int]]
    numbers: Sequence[int]
    prefixes: list[list[int]] | None
    required: list[list[list[list[int]]]] | None  # the chains of phrases that each translation must contain
    options: SearchOptions
    deadline: float  # of time.monotonic()

    def width(self, i: int) -> int:
        """Return the number of hypotheses for a text."""
        if self.options.sampling is not None:
            return self.options.n_best
        if self.required is None:
            return self.options.beam
        wide = self.options.beam + self.n_required(i)
        return max(
            self.options.beam, next((width for width in _REQUIRED_WIDTHS if width >= wide), _REQUIRED_WIDTHS[-1])
        )

    def n_required(self, i: int) -> int:
        """Return how many tokens the phrases of a text have."""
        if self.required is None:
            return 0
        return sum(len(phrase) for chain in self.required[i] for phrase in chain)

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


def open_runs(folders: Sequence[Path]) -> list[RunFolder]:
    """Open run folders with the same vocabulary.

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
    return runs
