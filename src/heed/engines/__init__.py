"""What computes translations. Every engine takes the same requests and answers in the same way.

"torch" is the reference and the default: `pytorch.py`. "ctranslate2" is used only where it is asked for.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from heed.config import DecodeConfig
from heed.options import SearchOptions
from heed.text.tokenizer import Tokenizer
from heed.translation import Translation

NAMES = ("torch", "ctranslate2")


class Engine(Protocol):
    """A model, ready to translate."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def decode(self) -> DecodeConfig:
        """How to search unless told otherwise."""

    @property
    def limit(self) -> int:
        """The most pieces of a text; a longer one is to be cut into parts."""

    @property
    def has_last_position(self) -> bool:
        """Whether a text of more pieces than `limit` is impossible, and not only unwise."""

    def supports(self, options: SearchOptions) -> str | None:
        """Return why this engine cannot do what is asked; None: it can."""

    def translate(
        self, texts: Sequence[str], numbers: Sequence[int], options: SearchOptions, on_done: Callable[[list[int]], None]
    ) -> list[Translation]:
        """Translate texts that fit, of options that are supported.

        `numbers[i]` names the random stream of text i, and is what `on_done` is told when some texts are done.

        Raises:
            DecodeError: weights that are not finite, a deadline that has passed, or a search that was cancelled.
        """
