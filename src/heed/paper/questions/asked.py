"""What a question is asked about: a model and one sentence that runs through the page."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heed.demo.grammar import TYPED_BY_PEOPLE
from heed.errors import ConfigError
from heed.inside.forced import forced
from heed.inside.observe import NOTHING_OFF, Around, heads_gated
from heed.inside.walk import Arrays, record
from heed.loading import load
from heed.model.transformer import Transformer, as_transformer
from heed.translator import Translator

SENTENCE = "The cat chased its tail."
PLAIN = heads_gated({}, NOTHING_OFF)


@dataclass(frozen=True)
class Asked:
    """A model (None: the one in the box), and for trainings that resume, a folder and a scale."""

    run: str | None = None
    folder: Path = Path("paper")
    scale: str = "small"  # of saturation

    @cached_property
    def translator(self) -> Translator:
        return load() if self.run is None else load(self.run)

    @cached_property
    def model(self) -> Transformer:
        """Return the model.

        Raises:
            ConfigError: it is not a plain Transformer.
        """
        model = as_transformer(self.translator.models[0], "heed paper questions")
        if model.config.kind != "transformer":
            raise ConfigError(f'{self.run}: a model of model.kind = "{model.config.kind}"; give one that translates')
        return model.eval()

    @cached_property
    def name(self) -> str:
        """The model, as a note names it."""
        return "the model in the box" if self.run is None else os.path.basename(os.path.normpath(self.run))

    @cached_property
    def source(self) -> list[int]:
        """The ids of the sentence, without the end token."""
        return self.ids(SENTENCE)

    @cached_property
    def target(self) -> list[int]:
        """The ids of its translation by the model."""
        return self.ids(self.translator.translate([SENTENCE])[0].text)

    @cached_property
    def computed(self) -> Arrays:
        """All that the model computes for the sentence and its translation."""
        return record(self.model, self.source, self.target)

    @cached_property
    def pairs(self) -> list[tuple[list[int], list[int]]]:
        """Eight sentences that people typed, with their right translations: what a changed model is measured on."""
        return [(self.ids(pair.source), self.ids(pair.target)) for pair in TYPED_BY_PEOPLE]

    def ids(self, text: str) -> list[int]:
        return self.translator.tokenizer.encode_ids([text])[0]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of tokens, with a space where a word begins."""
        return [piece.replace("▁", " ").strip() or "␣" for piece in self.translator.tokenizer.pieces(ids)]

    def log_probability(self, model: Transformer | None = None, around: Around = PLAIN) -> float:
        """Return the mean log-probability of a token of `pairs`, given the right tokens before it."""
        found = [forced(model or self.model, [source], target, around)[0][0] for source, target in self.pairs]
        return float(np.concatenate(found).mean())


def gradient_norms(output: Tensor, given_LD: Tensor) -> list[float]:
    """Return how much an output depends on each row of an input: the norm of the gradient of its sum."""
    (gradient_LD,) = torch.autograd.grad(output.sum(), given_LD, retain_graph=True)
    norms: list[float] = gradient_LD.norm(dim=-1).tolist()
    return norms


def output_zero(module: nn.Module, given: Any, made: Tensor) -> Tensor:
    """Switch a module off: a forward hook that makes its output zero."""
    return torch.zeros_like(made)
