"""PyTorch models as a step function on arrays; scores stay tensors until the best tokens are chosen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from heed.decode.candidates import best_continuations
from heed.decode.search import Allowed, Floats, Ints
from heed.model.interface import Searchable, SearchState

_NO_TOKENS = np.array([], dtype=np.int64)


@dataclass(frozen=True)
class ModelStates:
    """The search states of the models of an ensemble."""

    states: Sequence[SearchState]
    device: torch.device

    def select(self, sentences_B: Ints, parents_BW: Ints) -> "ModelStates":
        chosen = (torch.from_numpy(array).to(self.device) for array in (sentences_B, parents_BW))
        sentences, parents = chosen
        return ModelStates([state.select(sentences, parents) for state in self.states], self.device)


@dataclass(frozen=True)
class TensorScores:
    """Scores as logits_BWV. Log-probabilities are logits, too: they are already normalised."""

    logits_BWV: Tensor

    def best(
        self, n: int, live_BW: Floats, never: tuple[int, ...], allowed: Allowed | None
    ) -> tuple[Floats, Ints, Ints]:
        live = torch.from_numpy(live_BW).to(self.logits_BWV)
        mask = None if allowed is None else _mask(allowed, self.logits_BWV)
        totals, parents, tokens = best_continuations(live, self.logits_BWV, n, never, mask)
        return _array(totals), _array(parents), _array(tokens)

    def logprobs(self) -> Floats:
        return _array(self.logits_BWV.log_softmax(-1))


class ModelStep:
    """One model, or an ensemble whose probabilities are averaged, as a step function of search."""

    def __init__(self, models: Sequence[Searchable], device: torch.device) -> None:
        self._models, self._device = models, device

    def start(self, src_BS: Tensor) -> ModelStates:
        """Return the state before the first token of these source sentences."""
        return ModelStates([model.start(src_BS) for model in self._models], self._device)

    def __call__(self, ids_BW: Ints, state: ModelStates) -> tuple[TensorScores, ModelStates]:
        ids = torch.from_numpy(np.ascontiguousarray(ids_BW)).to(self._device)
        logits, states = [], []
        for model, model_state in zip(self._models, state.states, strict=True):
            logits_BWV, model_state = model.step(ids, model_state)
            logits.append(logits_BWV)
            states.append(model_state)
        if len(logits) > 1:
            all_NBWV = torch.stack([logits_BWV.log_softmax(-1) for logits_BWV in logits])
            logits = [all_NBWV.logsumexp(0) - math.log(len(logits))]
        return TensorScores(logits[0]), ModelStates(states, self._device)


def _mask(allowed: Allowed, logits_BWV: Tensor) -> Tensor:
    """Return allowed_BWV as booleans."""
    n_tokens = logits_BWV.size(2)
    rows = [tokens for hypotheses in allowed for tokens in hypotheses]
    # One assignment for all hypotheses: one for each would take longer than the step of a small model.
    lengths = [0 if tokens is None else len(tokens) for tokens in rows]
    chosen = np.concatenate([_NO_TOKENS, *(tokens for tokens in rows if tokens is not None)])
    mask_RV = np.zeros((len(rows), n_tokens), dtype=bool)
    mask_RV[np.repeat(np.arange(len(rows)), lengths), chosen] = True
    mask_RV[[row for row, tokens in enumerate(rows) if tokens is None]] = True
    return torch.from_numpy(mask_RV.reshape(tuple(logits_BWV.shape))).to(logits_BWV.device)


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor as an array, 16-bit numbers as float32: NumPy has no bfloat16."""
    return (tensor.float() if tensor.itemsize == 2 else tensor).cpu().numpy()
