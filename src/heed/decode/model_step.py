"""A model as search sees it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from heed.decode.step import Step
from heed.model.incremental import IncrementalDecoder, Past, to_add


@dataclass(frozen=True)
class ModelState:
    """B sentences with W hypotheses each, which see slots of their sentence's past."""

    past: Past
    sees_BWM: Tensor | None = None  # 0: is in this hypothesis's past; -inf: is not. None: all are.
    position: int = 0

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "ModelState":
        past = self.past.select(sentences_B) if len(sentences_B) < self.past.n_sentences else self.past
        if self.sees_BWM is None and parents_BW.size(1) == 1:
            return ModelState(past, None, self.position)
        sees_BWM = self._sees()
        if past is not self.past:
            sees_BWM = sees_BWM[sentences_B]
        seen_BWM = sees_BWM.gather(1, parents_BW.unsqueeze(-1).expand(-1, -1, sees_BWM.size(2)))
        return ModelState(past, seen_BWM, self.position)

    def extended(self, width: int, device: torch.device) -> Tensor | None:
        """What each hypothesis will see with one more node, its own."""
        if self.sees_BWM is None and width == 1:
            return None
        sees_BWM = self._sees()
        own_BWW = to_add(torch.eye(width, dtype=torch.bool, device=device)).expand(len(sees_BWM), -1, -1)
        return torch.cat((sees_BWM, own_BWW.to(sees_BWM.dtype)), 2)

    def _sees(self) -> Tensor:
        if self.sees_BWM is not None:
            return self.sees_BWM
        keys = self.past.memory.keys_values[0][0]
        return keys.new_zeros(self.past.n_sentences, 1, self.past.n_slots)


def model_step(decoder: IncrementalDecoder) -> Step[ModelState]:
    def step(ids_BW: Tensor, state: ModelState) -> tuple[Tensor, ModelState]:
        sees_BWM = state.extended(ids_BW.size(1), ids_BW.device)
        logits_BWV = decoder.extend(state.past, ids_BW, state.position, sees_BWM)
        return logits_BWV, ModelState(state.past, sees_BWM, state.position + 1)

    return step
