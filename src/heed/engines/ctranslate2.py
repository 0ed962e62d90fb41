"""The CTranslate2 engine.

Its search keeps the same hypotheses as ours: 2 x `beam` candidates per step; those that end among the best `beam` are
finished; `beam` finished ones are enough. Two things have to be made equal:

**The length penalty.** CTranslate2 ranks by log P / length^e and returns the first `beam`. We set e to almost zero, so
that it ranks by log P, and apply the paper's penalty afterwards. If more than `beam` hypotheses have finished by the
last step T, some are dropped. Each of them is less probable than all that are returned, and at least one of those has
length T, because before step T fewer than `beam` had finished. No dropped one is longer, so none has a larger penalty
to divide by: the best is never dropped. One of the n best may be. Where the scores leave that possible, the sentence is
searched again up to step T, keeping all.

**The length limit.** Ours depends on the length of each source, but a batch has one limit, that of its longest source.
A sentence whose hypotheses all ended within its own limit was not affected; the others are searched again.

Two differences remain: padding and the unknown token are excluded before the softmax instead of after it, so the other
tokens share their probability; and sums are rounded differently, which may decide between near ties.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from heed.config import Config, DecodeConfig
from heed.decode.penalty import length_penalty
from heed.engines.threads import available_threads
from heed.errors import CheckpointError
from heed.options import SearchOptions
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation, best_of

_NO_PENALTY = 1e-9  # with 0, CTranslate2 stops at the first finished hypothesis
_MAX_BATCH_SENTENCES = 32  # enough for the matrix products; more would wait longer for the longest translation


class _Hypothesis(NamedTuple):
    pieces: list[str]  # including the end token, if it is finished
    log_probability: float
    score: float
    finished: bool


def unsupported(options: SearchOptions) -> str | None:
    """Return why CTranslate2 does not support these options; None: it does. Nothing has to be loaded for this."""
    unable = {
        "its random samples differ from torch's": options.sampling is not None,
        "it does not force prefixes piece by piece": options.prefixes is not None,
        "it does not support constraints": options.constraint is not None,
        "it does not support glossaries": options.glossary is not None,
        "it cannot force what must be copied": options.copy is True or options.required is not None,
        "it does not return the log-probabilities that confidence needs": options.confidence,
        "it does not return attention weights": options.attention,
        "it does not return traces": options.trace,
        "it does not support deadlines": options.seconds is not None,
        "it cannot be cancelled": options.is_cancelled is not None,
    }
    reason = next((reason for reason, holds in unable.items() if holds), None)
    return reason and f"engine ctranslate2 cannot do this: {reason}; use heed's own search, the default"


class CTranslate2Engine:
    """A folder written by `write_ctranslate2`, opened with CTranslate2."""

    def __init__(
        self, folder: Path, config: Config, tokenizer: Tokenizer, int8: bool = False, weights: str = "the model"
    ) -> None:
        """Open the folder. `weights` names the checkpoint in messages."""
        import ctranslate2

        self.config, self.tokenizer, self._folder = config, tokenizer, folder
        self._int8, self._weights = int8, weights
        # One thread per batch, and as many batches in parallel as there are cores. Several threads per batch are
        # slower, even for a single batch: the matrix products of one step are too small to share.
        self._workers = available_threads()
        with self._naming_the_folder():
            self._translator = ctranslate2.Translator(
                str(folder),
                device="cpu",
                compute_type="int8" if int8 else "float32",
                inter_threads=self._workers,
                intra_threads=1,
            )
        self._pieces = tokenizer.pieces(range(len(tokenizer)))
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}

    @property
    def decode(self) -> DecodeConfig:
        return self.config.decode

    @property
    def limit(self) -> int:
        return self.config.model.max_length

    @property
    def is_hard_limit(self) -> bool:
        return self.config.model.positions == "learned"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path of the folder, which a copy opens: CTranslate2's objects cannot be pickled."""
        return CTranslate2Engine, (self._folder, self.config, self.tokenizer, self._int8, self._weights)

    def __repr__(self) -> str:
        return f"ctranslate2, vocabulary of {len(self.tokenizer):,}{', int8' if self._int8 else ''}"

    def supports(self, options: SearchOptions) -> str | None:
        return unsupported(options)

    def translate(
        self, texts: Sequence[str], numbers: Sequence[int], options: SearchOptions, on_done: Callable[[list[int]], None]
    ) -> list[Translation]:
        ids = self.tokenizer.encode_ids(texts)
        sources = [[self._pieces[i] for i in text_ids] for text_ids in ids]
        with self._naming_the_folder():
            return self._translate_pieces(sources, options, lambda i: on_done([numbers[i]]))

    @contextmanager
    def _naming_the_folder(self) -> Iterator[None]:
        """Turn CTranslate2's exceptions into an error that names the folder: it is not what we wrote.

        Raises:
            CheckpointError: CTranslate2 cannot load the folder, or returns impossible results.
        """
        try:
            yield
        except (RuntimeError, ValueError, LookupError, TypeError, OverflowError, MemoryError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise CheckpointError(
                f"{self._folder}: CTranslate2 cannot use it ({why}); delete the folder: it will be exported again"
            ) from error

    def _translate_pieces(
        self, sources: list[list[str]], options: SearchOptions, on_done: Callable[[int], None]
    ) -> list[Translation]:
        beam, alpha, n_best = options.beam, options.alpha, options.n_best
        found: dict[int, list[_Hypothesis]] = {}
        again: dict[int, list[int]] = defaultdict(list)  # limit -> the sentences to search again up to it
        batches = [(rows, self._limit(sources[rows[0]])) for rows in self._batches(range(len(sources)), sources)]
        for i, hypotheses in self._search(batches, sources, beam, alpha, patience=1):
            own_limit, longest = self._limit(sources[i]), max(len(one.pieces) for one in hypotheses)
            if longest > own_limit or (beam > 1 and not all(one.finished for one in hypotheses)):
                again[own_limit].append(i)
            elif n_best > 1 and _dropped_may_be_n_best(hypotheses, longest, alpha, n_best):
                again[longest].append(i)
            else:
                found[i] = hypotheses
                on_done(i)
        # Fewer than `beam` finish before the last step, and at most `beam` more at it: 2 x `beam` holds all of them.
        batches = [(rows, limit) for limit, retried in again.items() for rows in self._batches(retried, sources)]
        for i, hypotheses in self._search(batches, sources, beam, alpha, patience=2):
            found[i] = hypotheses
            on_done(i)
        return [self._translation(source, found[i], n_best) for i, source in enumerate(sources)]

    def _batches(self, rows: Iterable[int], sources: list[list[str]]) -> Iterator[list[int]]:
        """Yield batches of sentences of similar length, the longest first, enough for all workers."""
        order = sorted(rows, key=lambda i: -len(sources[i]))
        max_count = max(1, min(_MAX_BATCH_SENTENCES, -(-len(order) // self._workers)))
        begin = 0
        while begin < len(order):
            count = max(1, min(max_count, self.decode.batch_tokens // (len(sources[order[begin]]) + 1)))
            yield order[begin : begin + count]
            begin += count

    def _search(
        self, batches: Iterable[tuple[list[int], int]], sources: list[list[str]], beam: int, alpha: float, patience: int
    ) -> Iterator[tuple[int, list[_Hypothesis]]]:
        """Yield each sentence of the batches, given with their limits, and its up to `patience` x beam hypotheses."""
        # Few batches at a time: CTranslate2 computes all that it has queued, even if the results are no longer needed.
        queued: deque[tuple[list[int], list[Any]]] = deque()
        for rows, limit in batches:
            queued.append((rows, self._submit([sources[i] for i in rows], limit, beam, patience if beam > 1 else 1)))
            if len(queued) > 3 * self._workers:
                yield from self._results(*queued.popleft(), alpha)
        while queued:
            yield from self._results(*queued.popleft(), alpha)

    def _submit(self, batch: list[list[str]], limit: int, beam: int, patience: int) -> list[Any]:
        futures: list[Any] = self._translator.translate_batch(
            batch,
            asynchronous=True,
            beam_size=beam,
            patience=patience,
            num_hypotheses=beam * patience,
            length_penalty=_NO_PENALTY,
            min_decoding_length=0,
            max_decoding_length=limit,
            max_input_length=0,  # the default would cut long texts
            return_scores=True,
            return_end_token=True,
            disable_unk=True,
            suppress_sequences=[[self._pieces[self.tokenizer.vocabulary.pad]]],
        )
        return futures

    def _results(self, rows: list[int], futures: list[Any], alpha: float) -> Iterator[tuple[int, list[_Hypothesis]]]:
        for i, future in zip(rows, futures, strict=True):
            result = future.result()
            yield (
                i,
                [
                    _Hypothesis(
                        pieces,
                        log_probability,
                        log_probability / length_penalty(len(pieces), alpha),
                        pieces[-1] == self._pieces[self.tokenizer.vocabulary.end],
                    )
                    for pieces, log_probability in zip(result.hypotheses, result.scores, strict=True)
                ],
            )

    def _limit(self, source: list[str]) -> int:
        """Return the maximum length of section 6.1, input length + 50, or the number of learned positions if less."""
        model, limit = self.config.model, len(source) + self.decode.extra_length
        return limit if model.positions == "sinusoidal" else min(limit, model.max_length + 1)

    def _translation(self, source: list[str], hypotheses: list[_Hypothesis], n_best: int) -> Translation:
        """Return the `n_best` as a translation; unfinished hypotheses count only if finished ones are too few."""
        best = sorted(hypotheses, key=lambda one: (not one.finished, -one.score))[:n_best]
        translations = []
        for pieces, log_probability, score, finished in sorted(best, key=lambda one: -one.score):
            pieces = pieces[:-1] if finished else pieces
            text = self.tokenizer.decode([self._ids[piece] for piece in pieces])
            translations.append(Translation(text, score, log_probability, pieces, source, finished))
        return best_of(translations, self._weights)


def _dropped_may_be_n_best(hypotheses: list[_Hypothesis], longest: int, alpha: float, n_best: int) -> bool:
    """Return whether one less probable than all these, and no longer, could be among the n best."""
    best_possible = min(one.log_probability for one in hypotheses) / length_penalty(longest, alpha)
    return best_possible > sorted((one.score for one in hypotheses), reverse=True)[n_best - 1]
