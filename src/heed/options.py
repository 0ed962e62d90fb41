"""Options of a search, for the command, Python and every engine. This module never imports torch."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

# Beyond these, in float32 one token has all the probability, or all tokens have the same.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.001, 1000.0


@dataclass(frozen=True)
class Sampling:
    """How to sample: with a temperature, from the `top_k` most probable tokens, from the most probable share `top_p`.

    Raises:
        ValueError: a value is out of range. The message begins with the field's name.
    """

    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not MIN_TEMPERATURE <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(
                f"temperature must be from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:,.0f}, not {self.temperature}"
            )
        if self.top_k < 0:
            raise ValueError(f"top_k must be at least 1, or 0 for all, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, not {self.seed}")


@dataclass(frozen=True)
class SearchOptions:
    """Configure a search."""

    beam: int = 4  # number of hypotheses; 1: greedy
    alpha: float = 0.6  # length penalty
    n_best: int = 1  # number of translations of each text to return
    sampling: Sampling | None = None  # draw at random instead of searching
    prefixes: Sequence[str] | None = None  # the forced beginning of each text's translation
    whole: bool = False  # set by `Translator`: the prefixes are whole translations, to be scored
    prefix_ids: Sequence[Sequence[int]] | None = None  # the same as ids of pieces; only the torch engine reads them
    constraint: Any = None  # a heed.decode.search.Constraint; its `start` is called with the index of a text
    glossary: Any = None  # a heed.text.glossary.Glossary: terms that the translations must contain
    copy: bool | None = None  # copy addresses, tags and so on; None: the run's `decode.copy`, where search can do it
    sentences: bool | None = None  # translate each sentence of a text by itself; None: `decode.sentences`, if it can be
    # Set by `Translator`: texts that each translation must contain, those of a list in this order; and tokens that it
    # may have only as parts of them.
    required: Sequence[Sequence[Sequence[str]]] | None = None
    barred: Sequence[Collection[int]] | None = None
    confidence: bool = False  # also return the chance that each translation, and each word, is good
    attention: bool = False  # also return the attention weights of every head
    trace: bool = False  # also return the candidates of each step
    first_number: int = 0  # number of the first text; the number of a text selects its random stream
    seconds: float | None = None  # a deadline for the whole call
    is_cancelled: Callable[[], bool] | None = None  # called before each step; True ends the search
