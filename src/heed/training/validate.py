"""Validation: unsmoothed perplexity, BLEU with beam search, and a few translations to look at."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from heed.config import DecodeConfig
from heed.evaluate import Bleu, score
from heed.model.transformer import Transformer
from heed.text.tokenizer import Tokenizer
from heed.training.stop import Interrupted
from heed.translator import Translator

_AT_ONCE = 200  # sentences between two looks at whether to stop


@dataclass(frozen=True)
class Sample:
    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validation:
    perplexity: float  # per piece, without smoothing
    bleu: float
    samples: tuple[Sample, ...]

    def better_than(self, other: "Validation | None") -> bool:
        """By BLEU; perplexity decides between equals, as between the zeros of the first steps."""
        return other is None or (self.bleu, -self.perplexity) > (other.bleu, -other.perplexity)


def validate(
    model: Transformer,
    tokenizer: Tokenizer,
    pairs: list[tuple[str, str]],
    decode: DecodeConfig,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Validation:
    """Score a model on held-out pairs.

    Raises:
        Interrupted: `stop_asked` said so.
    """
    was_training = model.training
    model.eval()
    try:
        translator = Translator([model], tokenizer, decode)
        log_probability, n_tokens, translations = 0.0, 0, []
        for begin in range(0, len(pairs), _AT_ONCE):
            if stop_asked():
                raise Interrupted
            sources, references = map(list, zip(*pairs[begin : begin + _AT_ONCE], strict=True))
            for pair in translator.score(sources, references):
                log_probability += pair.log_probability
                n_tokens += pair.n_tokens
            translations += [one.text for one in translator.translate(sources)]
    finally:
        model.train(was_training)
    bleu = score(Bleu(), translations, [target for _, target in pairs], resamples=0).value
    every = max(1, len(pairs) // 3)
    samples = tuple(
        Sample(*pair, translation) for pair, translation in list(zip(pairs, translations, strict=True))[::every][:3]
    )
    return Validation(math.exp(min(-log_probability / n_tokens, 700.0)), bleu, samples)
