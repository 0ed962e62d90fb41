"""Engines compute translations. They all take the same options and return the same results.

"native" is heed's own search without torch, the default on a CPU with a C compiler: `native.py`. "torch" is the
reference, and the default elsewhere: `pytorch.py`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from heed.config import DecodeConfig
from heed.options import SearchOptions
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation

NAMES = ("native", "torch")


class Engine(Protocol):
    """A model, ready to translate."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def decode(self) -> DecodeConfig:
        """The default settings of a search."""

    @property
    def limit(self) -> int:
        """The maximum length of a text in pieces; a longer one has to be cut into parts."""

    @property
    def is_hard_limit(self) -> bool:
        """Whether the model cannot read more than `limit` pieces at all; otherwise it only was not trained to."""

    def supports(self, options: SearchOptions) -> str | None:
        """Return why this engine does not support these options; None: it does."""

    def translate(
        self, texts: Sequence[str], numbers: Sequence[int], options: SearchOptions, on_done: Callable[[list[int]], None]
    ) -> list[Translation]:
        """Translate texts within the limit, with supported options.

        `numbers[i]` identifies text i and its random stream. `on_done` is called with the numbers of the texts of each
        batch that is done.

        Raises:
            DecodeError: the weights are not finite, the deadline has passed, or the search was cancelled.
        """
