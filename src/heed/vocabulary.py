"""The vocabulary of a model, as a value: how many tokens there are, and which ids are special."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Vocabulary:
    """Token ids from 0 to `size - 1`. Model, batches and search take the special ones from here.

    By default decoding starts from `pad`, which embeds to the zero vector, as in the authors' code. `unknown` exists
    because sentencepiece insists on it; with bytes to fall back on, nothing is ever unknown.
    """

    size: int  # of the target side
    source_size: int | None = None  # None: source and target share one vocabulary and one embedding
    pad: int = 0
    end: int = 1
    unknown: int = 2
    start: int = 0
    # For a decoder that follows the source word by word (`model/follower.py`):
    begins_word: frozenset[int] = field(default=frozenset(), repr=False)  # source tokens that begin a word
    writes_word: frozenset[int] = field(default=frozenset(), repr=False)  # target tokens that stand for the next word

    @property
    def is_shared(self) -> bool:
        return self.source_size is None

    @property
    def never_output(self) -> tuple[int, ...]:
        """Tokens that no output contains."""
        return tuple(sorted({self.pad, self.unknown, self.start} - {self.end}))
