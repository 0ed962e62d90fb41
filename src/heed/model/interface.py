"""What training, checkpoints, validation and search need of a model.

A model of another kind is one file beside `transformer.py` with a class like this, a line in `build.py`, and its name
in `ModelConfig.kind`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from heed.config import ModelConfig
from heed.vocabulary import Vocabulary


@dataclass(frozen=True)
class Block:
    """A part of a model that FSDP gathers by itself whenever it is called."""

    module: nn.Module
    methods: tuple[str, ...] = ()  # that call it, besides `forward`


class SequenceModel(nn.Module, ABC):
    """Source ids and target ids in, a hidden vector for each target position out; logits are hidden · weightᵀ.

    It has as many layers as its config says. What it says of a sentence depends on neither padding nor the other
    sentences of a batch.
    """

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.config, self.vocabulary = config, vocabulary

    @property
    @abstractmethod
    def output_weight(self) -> Tensor:
        """weight_VD, before the softmax."""

    @property
    def device(self) -> torch.device:
        return self.output_weight.device

    @property
    def target_limit(self) -> int | None:
        """The number of target positions there are; None: there is no last one."""
        return None

    # --- training -----------------------------------------------------------------------------------------

    @abstractmethod
    def hidden(self, src_BS: Tensor, tgt_in_BT: Tensor, real_BT: Tensor, seed_B: Tensor | None = None) -> Tensor:
        """Return hidden_ND of the real target positions.

        `tgt_in` is the target shifted right, beginning with the start token. `seed` is that of each pair's dropout
        (`dropout.py`); without it, PyTorch's generator makes some.
        """

    def blocks(self) -> Sequence[Block]:
        """Return the parts to keep in shards, one inside another before it; what is left is a part of its own."""
        return []

    def compile_layers(self) -> None:
        """Put every block through torch.compile."""
        for block in self.blocks():
            block.module.compile(dynamic=True)

    # --- scoring and search -------------------------------------------------------------------------------

    def forward(self, src_BS: Tensor, tgt_in_BT: Tensor) -> Tensor:
        """Return logits_BTV of a whole batch."""
        hidden_ND = self.hidden(src_BS, tgt_in_BT, torch.ones_like(tgt_in_BT, dtype=torch.bool))
        return F.linear(hidden_ND, self.output_weight).view(*tgt_in_BT.shape, -1)

    @abstractmethod
    def start(self, src_BS: Tensor) -> Any:
        """Encode source sentences for a search: return a state for `step`, of one hypothesis each.

        Its method `select(sentences_B, parents_BW)` returns the state of these sentences, hypothesis w continuing
        the old hypothesis `parents_BW[b, w]`. Neither `select` nor `step` may change a state: it may be used again.
        """

    @abstractmethod
    def step(self, ids_BW: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Return logits_BWV of what follows the newest token of each hypothesis, and the state after it."""

    # --- size, from the config alone ----------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def count_parameters(config: ModelConfig, vocabulary: Vocabulary) -> int:
        """Return how many trainable numbers such a model has, without building one."""

    @staticmethod
    @abstractmethod
    def kept_floats(config: ModelConfig, length: int) -> int:
        """Return how many numbers are kept for the backward pass: for one source position and one target position, in
        sentences of this length."""

    @staticmethod
    @abstractmethod
    def update_operations(
        config: ModelConfig, vocabulary: Vocabulary, sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> int:
        """Return how many multiplications and additions an update's matrix products take, for pairs of these lengths:
        forward once, and backward twice as many."""
