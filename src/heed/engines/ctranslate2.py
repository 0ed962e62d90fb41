"""CTranslate2 as an engine.

Its search keeps the same hypotheses as ours: twice `beam` candidates a step; those that end among the best `beam` are
finished; `beam` finished ones are enough. How its results become ours:

**The length penalty.** It ranks by log P / length^e and returns the first `beam`. Here e is next to nothing, so that
log P decides, and the paper's penalty is applied afterwards. If more than `beam` have finished by the last step T, some
are dropped: each less probable than all that are returned, at least one of which has length T (before step T, fewer
than `beam` had finished). None is longer than that one, so none has a larger penalty to divide by: the best is never
dropped. One of the n best may be; where the scores leave that open, the sentence is searched again up to step T, with
room for all.

**The length limit.** It counts from the length of the source, and a batch has one limit: its longest source's. A
sentence whose hypotheses have all ended within its own limit was not affected; the others are searched again.

What remains different: padding and the unknown token are ruled out before the softmax and not after it, so the
others share their probability; and sums are rounded differently, which may decide between near equals.
"""

import os
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from heed.config import Config, DecodeConfig
from heed.decode.penalty import length_penalty
from heed.errors import CheckpointError
from heed.options import SearchOptions
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation, best_of

_NO_PENALTY = 1e-9  # 0 is taken for leave to stop at the first finished hypothesis
_SENTENCES = 32  # in a batch: enough for the matrix products, and short waits for the longest translation


class _Hypothesis(NamedTuple):
    pieces: list[str]  # with the end symbol, if it has one
    log_probability: float
    score: float
    finished: bool


def unsupported(options: SearchOptions) -> str | None:
    """Return why CTranslate2 cannot do what is asked; None: it can. Nothing has to be loaded to know."""
    unable = {
        "it would draw other samples": options.sampling is not None,
        "it does not force prefixes piece by piece": options.prefixes is not None,
        "it takes no constraint": options.constraint is not None,
        "it does not tell its attention": options.attention,
        "it does not tell what it considered": options.trace,
        "it has no deadlines": options.seconds is not None,
        "it cannot be cancelled": options.is_cancelled is not None,
    }
    reason = next((reason for reason, holds in unable.items() if holds), None)
    return reason and f"engine ctranslate2 cannot do this: {reason}; use engine torch, the default"


class CTranslate2Engine:
    """A folder made by `write_ctranslate2`, ready to translate."""

    def __init__(
        self, folder: Path, config: Config, tokenizer: Tokenizer, int8: bool = False, weights: str = "the model"
    ) -> None:
        """Open the folder. `weights`: where they are from."""
        import ctranslate2

        self.config, self.tokenizer, self._folder = config, tokenizer, folder
        self._int8, self._weights = int8, weights
        # A thread for each batch, and as many batches at once as there are cores. Several threads for one batch are
        # slower even if the batch is all there is: the products of one step are too small to share.
        self._workers = _available_threads()
        with self._failures_named():
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
    def has_last_position(self) -> bool:
        return self.config.model.positions == "learned"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies open the folder themselves: CTranslate2's own objects cannot be pickled."""
        return CTranslate2Engine, (self._folder, self.config, self.tokenizer, self._int8, self._weights)

    def __repr__(self) -> str:
        return f"ctranslate2, vocabulary of {len(self.tokenizer):,}{', int8' if self._int8 else ''}"

    def supports(self, options: SearchOptions) -> str | None:
        return unsupported(options)

    def translate(
        self, texts: Sequence[str], numbers: Sequence[int], options: SearchOptions, on_done: Callable[[list[int]], None]
    ) -> list[Translation]:
        ids = self.tokenizer.encode_ids(texts)
        sources = [[self._pieces[i] for i in one] for one in ids]
        with self._failures_named():
            return self._translate_pieces(sources, options, lambda i: on_done([numbers[i]]))

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        """Name the folder when CTranslate2 cannot load it, or answers what cannot be: it is not what we wrote.

        Raises:
            CheckpointError: with the way to a new folder.
        """
        try:
            yield
        except (RuntimeError, ValueError, LookupError, TypeError, OverflowError, MemoryError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise CheckpointError(
                f"{self._folder}: CTranslate2 cannot use it ({why}); delete the folder, and it will be made anew"
            ) from error

    def _translate_pieces(
        self, sources: list[list[str]], options: SearchOptions, on_done: Callable[[int], None]
    ) -> list[Translation]:
        beam, alpha, n_best = options.beam, options.alpha, options.n_best
        found: dict[int, list[_Hypothesis]] = {}
        again: dict[int, list[int]] = defaultdict(list)  # limit -> the sentences to search up to it
        batches = [(rows, self._limit(sources[rows[0]])) for rows in self._batches(range(len(sources)), sources)]
        for i, hypotheses in self._search(batches, sources, beam, alpha, room=1):
            own_limit, longest = self._limit(sources[i]), max(len(one.pieces) for one in hypotheses)
            if longest > own_limit or (beam > 1 and not all(one.finished for one in hypotheses)):
                again[own_limit].append(i)
            elif n_best > 1 and _dropped_may_count(hypotheses, longest, alpha, n_best):
                again[longest].append(i)
            else:
                found[i] = hypotheses
                on_done(i)
        # Up to the limit, fewer than `beam` finish before the last step, and `beam` hypotheses come with it.
        batches = [(rows, limit) for limit, some in again.items() for rows in self._batches(some, sources)]
        for i, hypotheses in self._search(batches, sources, beam, alpha, room=2):
            found[i] = hypotheses
            on_done(i)
        return [self._translation(source, found[i], n_best) for i, source in enumerate(sources)]

    def _batches(self, rows: Iterable[int], sources: list[list[str]]) -> Iterator[list[int]]:
        """Sentences of similar length, the longest first, for as many workers as there are."""
        order = sorted(rows, key=lambda i: -len(sources[i]))
        most = max(1, min(_SENTENCES, -(-len(order) // self._workers)))
        begin = 0
        while begin < len(order):
            count = max(1, min(most, self.decode.batch_tokens // (len(sources[order[begin]]) + 1)))
            yield order[begin : begin + count]
            begin += count

    def _search(
        self, batches: Iterable[tuple[list[int], int]], sources: list[list[str]], beam: int, alpha: float, room: int
    ) -> Iterator[tuple[int, list[_Hypothesis]]]:
        """Each sentence of some batches, given with their limits, and its hypotheses: room for `room` x beam."""
        # Not all batches wait in CTranslate2's queue: it empties it even if nobody waits for the results any more.
        asked: deque[tuple[list[int], list[Any]]] = deque()
        for rows, limit in batches:
            asked.append((rows, self._ask([sources[i] for i in rows], limit, beam, room if beam > 1 else 1)))
            if len(asked) > 3 * self._workers:
                yield from self._answers(*asked.popleft(), alpha)
        while asked:
            yield from self._answers(*asked.popleft(), alpha)

    def _ask(self, batch: list[list[str]], limit: int, beam: int, room: int) -> list[Any]:
        promises: list[Any] = self._translator.translate_batch(
            batch,
            asynchronous=True,
            beam_size=beam,
            patience=room,
            num_hypotheses=beam * room,
            length_penalty=_NO_PENALTY,
            min_decoding_length=0,
            max_decoding_length=limit,
            max_input_length=0,  # by default it cuts
            return_scores=True,
            return_end_token=True,
            disable_unk=True,
            suppress_sequences=[[self._pieces[self.tokenizer.vocabulary.pad]]],
        )
        return promises

    def _answers(self, rows: list[int], promises: list[Any], alpha: float) -> Iterator[tuple[int, list[_Hypothesis]]]:
        for i, promise in zip(rows, promises, strict=True):
            result = promise.result()
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
        """Section 6.1: at most input length + 50; and no further than there are learned positions."""
        model, limit = self.config.model, len(source) + self.decode.extra_length
        return limit if model.positions == "sinusoidal" else min(limit, model.max_length + 1)

    def _translation(self, source: list[str], hypotheses: list[_Hypothesis], n_best: int) -> Translation:
        """The `n_best`; unfinished ones fill the places that no finished one took."""
        best = sorted(hypotheses, key=lambda one: (not one.finished, -one.score))[:n_best]
        several = []
        for pieces, log_probability, score, finished in sorted(best, key=lambda one: -one.score):
            pieces = pieces[:-1] if finished else pieces
            text = self.tokenizer.decode([self._ids[piece] for piece in pieces])
            several.append(Translation(text, score, log_probability, pieces, source, finished))
        return best_of(several, self._weights)


def _dropped_may_count(hypotheses: list[_Hypothesis], longest: int, alpha: float, n_best: int) -> bool:
    """Could a hypothesis be among the n best that is less probable than all these, and no longer?"""
    most = min(one.log_probability for one in hypotheses) / length_penalty(longest, alpha)
    return most > sorted((one.score for one in hypotheses), reverse=True)[n_best - 1]


def _available_threads() -> int:
    """What OMP_NUM_THREADS says, as to torch; else the cores this process may use."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
