"""Validate a model: compute its unsmoothed perplexity, and the scores of its translations of held-out text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heed.config import DecodeConfig
from heed.engines.pytorch import PyTorchEngine
from heed.errors import DecodeError
from heed.evaluate import Criterion, score
from heed.evaluate.criterion import BLEU
from heed.model.interface import SequenceModel
from heed.text.tokenizer import Tokenizer
from heed.training.collapse import signs_of_collapse
from heed.training.stop import Interrupted
from heed.training.workers import Workers
from heed.translator import Translator

_CHUNK_PAIRS = 100  # between two checks for a stop request
_MAX_LOG_PERPLEXITY = 700.0  # exp() of more overflows


@dataclass(frozen=True)
class Sample:
    """Show one validation pair with its translation."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validation:
    """Hold the result of a validation."""

    scores: dict[str, float]  # perplexity (per token, unsmoothed), BLEU, and the run's metric, by key
    samples: tuple[Sample, ...] = ()
    collapse: tuple[str, ...] = ()  # signs that the model has collapsed, one sentence each

    def better_than(self, other: "Validation | None", by: Criterion) -> bool:
        """Compare by one criterion; perplexity breaks ties, such as between the zero scores of the first steps."""
        if not math.isfinite(self.scores["perplexity"]):  # the weights are not finite
            return False
        return other is None or by.key not in other.scores or self._rank(by) > other._rank(by)

    def _rank(self, by: Criterion) -> tuple[float, float]:
        value = self.scores[by.key]
        return -value if by.lower_is_better else value, -self.scores["perplexity"]


def validate(
    model: SequenceModel,
    tokenizer: Tokenizer,
    pairs: list[tuple[str, str]],
    decode: DecodeConfig,
    by: Criterion,
    workers: Workers,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Validation:
    """Score a model on held-out pairs by perplexity, BLEU and this criterion; each process takes a share of them.

    Raises:
        Interrupted: `stop_asked` returned True in one of the processes.
    """
    was_training = model.training
    model.eval()
    share, translations = workers.share(pairs), []
    log_probability, n_tokens = 0.0, 0
    try:
        translator = Translator(PyTorchEngine([model], tokenizer, decode))
        # The same number of chunks in every process: `workers.any` needs all of them.
        for begin in range(0, -(-len(pairs) // workers.size), _CHUNK_PAIRS):
            if workers.any(stop_asked())[0]:
                raise Interrupted
            sources, references = ([pair[side] for pair in share[begin : begin + _CHUNK_PAIRS]] for side in (0, 1))
            for pair in translator.score(sources, references):
                log_probability += pair.log_probability
                n_tokens += pair.n_tokens
            try:
                translations += [one.text for one in translator.translate(sources, copy=False)]
            except DecodeError:  # no finite score: the weights overflowed
                log_probability = -math.inf
                translations += [""] * len(sources)
    finally:
        model.train(was_training)
    total, n_total = workers.sum(log_probability, n_tokens)
    shares = workers.gather(translations)
    translations = [shares[i % workers.size][i // workers.size] for i in range(len(pairs))]
    if not math.isfinite(total):  # translations of a broken model must not score
        translations = [""] * len(pairs)
    references = [target for _, target in pairs]
    scores = {"perplexity": perplexity_of(total, n_total)}
    for criterion in (BLEU, by):
        if criterion.metric is not None and criterion.key not in scores:
            scores[criterion.key] = score(criterion.metric, translations, references, resamples=0).value
    signs = signs_of_collapse(scores["perplexity"], len(tokenizer), references, translations)
    return Validation(scores, samples_of(pairs, translations), tuple(signs))


def perplexity_of(log_probability: float, n_tokens: float) -> float:
    """Return the perplexity per token, given the log-probability of all tokens."""
    mean = -log_probability / n_tokens if n_tokens else math.inf  # may be NaN
    return math.exp(mean) if mean < _MAX_LOG_PERPLEXITY else math.inf


def samples_of(pairs: Sequence[tuple[str, str]], outputs: Sequence[str]) -> tuple[Sample, ...]:
    """Return three validation pairs with what the model makes of them, evenly spaced."""
    every = max(1, len(pairs) // 3)
    return tuple(Sample(*pair, output) for pair, output in list(zip(pairs, outputs, strict=True))[::every][:3])
