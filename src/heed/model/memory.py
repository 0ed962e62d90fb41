"""What goes from the encoder to the decoder."""

from dataclasses import dataclass

from torch import Tensor


@dataclass
class Memory:
    """The encoder's output as keys and values of each decoder layer, computed once per sentence."""

    keys_values: list[tuple[Tensor, Tensor]]
    may_attend_B11S: Tensor | None
