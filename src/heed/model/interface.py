"""The interface between models and the rest: training, checkpoints, validation and search.

A new kind of model is a subclass of `SequenceModel` in a file of this package, a line in `build.py`, and a name in
`ModelConfig.kind`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.config import ModelConfig
from heed.vocabulary import Vocabulary


@dataclass(frozen=True)
class Block:
    """A part of a model that FSDP gathers whenever it is called."""

    module: nn.Module
    methods: tuple[str, ...] = ()  # its entry points besides `forward`


class SearchState(Protocol):
    """The state of a search: B sentences with W hypotheses each.

    Neither `select` nor a model's `step` may change a state: the search may use it again.
    """

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> Self:
        """Return the state of these sentences, where hypothesis w continues the old hypothesis `parents_BW[b, w]`."""


class Searchable(ABC):
    """A model that decodes one token of each hypothesis at a time."""

    @abstractmethod
    def start(self, src_BS: Tensor) -> SearchState:
        """Encode source sentences for a search, and return a state with one hypothesis each."""

    @abstractmethod
    def step(self, ids_BW: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Return logits_BWV of what follows the newest token of each hypothesis, and the state after that token."""


class SequenceModel(nn.Module, Searchable):
    """A model that computes a hidden vector for each target position; logits are hidden · weightᵀ.

    It has as many layers as its config says. Its output for a sentence depends neither on padding nor on the other
    sentences of the batch.
    """

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.config, self.vocabulary = config, vocabulary

    @property
    @abstractmethod
    def output_weight(self) -> Tensor:
        """weight_VD of the projection before the softmax."""

    @property
    def device(self) -> torch.device:
        return self.output_weight.device

    @property
    def target_limit(self) -> int | None:
        """The maximum number of target positions; None: there is no maximum."""
        return None

    # --- training -----------------------------------------------------------------------------------------

    @abstractmethod
    def hidden(self, src_BS: Tensor, tgt_in_BT: Tensor, real_BT: Tensor, seed_B: Tensor | None = None) -> Tensor:
        """Return hidden_ND of the real target positions.

        `tgt_in` is the target shifted right, beginning with the start token. `seed_B` are the dropout seeds of the
        pairs (`dropout.py`); without them, PyTorch's generator draws some.
        """

    def blocks(self) -> Sequence[Block]:
        """Return the parts that FSDP shards separately, inner parts before outer ones; the rest is one more part."""
        return []

    def compile_layers(self) -> None:
        """Compile every block with torch.compile."""
        for block in self.blocks():
            block.module.compile(dynamic=True)

    # --- scoring ------------------------------------------------------------------------------------------

    def forward(self, src_BS: Tensor, tgt_in_BT: Tensor) -> Tensor:
        """Return logits_BTV of a whole batch."""
        hidden_ND = self.hidden(src_BS, tgt_in_BT, torch.ones_like(tgt_in_BT, dtype=torch.bool))
        return F.linear(hidden_ND, self.output_weight).view(*tgt_in_BT.shape, -1)

    has_cross_attention = False  # whether `cross_attention` is implemented

    def cross_attention(self, src_BS: Tensor, tgt_in_BT: Tensor) -> list[Tensor]:
        """Return weights_BHTS of the attention to the source, one tensor for each layer that has it."""
        raise NotImplementedError(f"a {type(self).__name__} has no attention to the source")

    # --- size, from the config alone ----------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        """Return the number of parameters of such a model, without building it."""

    @staticmethod
    @abstractmethod
    def kept_floats(config: ModelConfig, length: int) -> int:
        """Return how many floats are kept for the backward pass per source and target position, in sentences of this
        length."""

    @staticmethod
    @abstractmethod
    def update_operations(
        config: ModelConfig, vocabulary: Vocabulary, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> int:
        """Return the multiplications and additions in the matrix products of an update, for pairs of these lengths:
        those of the forward pass, and twice as many backward."""
