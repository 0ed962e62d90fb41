"""Define the options of a search, for the command, Python and every engine; never imports torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# Beyond these, float32 probabilities are all the same or all zero but one.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.001, 1000.0


@dataclass(frozen=True)
class Sampling:
    """Configure sampling: temperature, top-k (the k most probable tokens) and top-p (the most probable share p).

    Raises:
        ValueError: a value out of range. The message starts with the field's name.
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

    beam: int = 4  # hypotheses kept; 1: greedy
    alpha: float = 0.6  # length penalty
    n_best: int = 1  # translations of each text to return
    sampling: Sampling | None = None  # draw at random instead of searching
    prefixes: Sequence[str] | None = None  # what the translation of each text must start with
    constraint: Any = None  # a heed.decode.search.Constraint; its `start` is called for text 0, 1, ...
    attention: bool = False  # also return every head's weights
    trace: bool = False  # also return what each step of the search considered
    first_number: int = 0  # number of the first text, which names its random stream
    seconds: float | None = None  # a deadline for the whole call
    is_cancelled: Callable[[], bool] | None = None  # called between two steps
