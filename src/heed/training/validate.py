"""Validation: unsmoothed perplexity, scores of translations by beam search, and a few of them to look at."""

import math
from collections.abc import Callable
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

_AT_ONCE = 100  # sentences between two looks at whether to stop
_LARGEST_LOG_PERPLEXITY = 700.0  # above, its exponential overflows


@dataclass(frozen=True)
class Sample:
    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validation:
    scores: dict[str, float]  # perplexity (per piece, not smoothed), BLEU, and what the run goes by, under their keys
    samples: tuple[Sample, ...] = ()
    collapse: tuple[str, ...] = ()  # signs that the model has collapsed, one sentence each

    def better_than(self, other: "Validation | None", by: Criterion) -> bool:
        """By one criterion; perplexity decides between equals, as between the zeros of the first steps."""
        if not math.isfinite(self.scores["perplexity"]):  # weights that are no numbers
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
    """Score a model on held-out pairs by perplexity, BLEU and this criterion, each process its share of them.

    Raises:
        Interrupted: `stop_asked` said so in one of the processes.
    """
    was_training = model.training
    model.eval()
    share, translations = workers.share(pairs), []
    log_probability, n_tokens = 0.0, 0
    try:
        translator = Translator(PyTorchEngine([model], tokenizer, decode))
        # As many portions in every process: all must come to the question whether to stop.
        for begin in range(0, -(-len(pairs) // workers.size), _AT_ONCE):
            if workers.any(stop_asked())[0]:
                raise Interrupted
            sources, references = ([pair[side] for pair in share[begin : begin + _AT_ONCE]] for side in (0, 1))
            for pair in translator.score(sources, references):
                log_probability += pair.log_probability
                n_tokens += pair.n_tokens
            try:
                translations += [one.text for one in translator.translate(sources)]
            except DecodeError:  # no finite score: the weights have overflowed
                log_probability = -math.inf
                translations += [""] * len(sources)
    finally:
        model.train(was_training)
    total, n_total = workers.sum(log_probability, n_tokens)
    shares = workers.gather(translations)
    translations = [shares[i % workers.size][i // workers.size] for i in range(len(pairs))]
    if not math.isfinite(total):  # what such a model says is worth nothing, whatever it is
        translations = [""] * len(pairs)
    mean = -total / n_total  # maybe NaN
    references = [target for _, target in pairs]
    scores = {"perplexity": math.exp(mean) if mean < _LARGEST_LOG_PERPLEXITY else math.inf}
    for criterion in (BLEU, by):
        if criterion.metric is not None and criterion.key not in scores:
            scores[criterion.key] = score(criterion.metric, translations, references, resamples=0).value
    every = max(1, len(pairs) // 3)
    samples = tuple(
        Sample(*pair, translation) for pair, translation in list(zip(pairs, translations, strict=True))[::every][:3]
    )
    signs = signs_of_collapse(scores["perplexity"], len(tokenizer), references, translations)
    return Validation(scores, samples, tuple(signs))
