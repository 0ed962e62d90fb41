"""A model as search sees it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from heed.decode.step import Step
from heed.model.incremental import IncrementalDecoder, Past, to_add

_SPARE = 8  # slots of each hypothesis, beside two for each position, before those that none sees are left out


@dataclass(frozen=True)
class ModelState:
    """B sentences with W hypotheses each, which see slots of their sentence's past."""

    past: Past
    sees_BWM: Tensor | None = None  # 0: is in this hypothesis's past; -inf: is not. None: all are.
    position: int = 0

    def select(self, sentences_B: Tensor, parents_BW: Tensor) -> "ModelState":
        leaving = len(sentences_B) < self.past.n_sentences
        if self.sees_BWM is None and parents_BW.size(1) == 1:  # as many slots in every sentence
            all_BM = torch.arange(self.past.n_slots, device=sentences_B.device).expand(len(sentences_B), -1)
            return ModelState(self.past.select(sentences_B, all_BM) if leaving else self.past, None, self.position)
        sees_BWM = self._sees()[sentences_B] if leaving else self._sees()
        sees_BWM = sees_BWM.gather(1, parents_BW.unsqueeze(-1).expand(-1, -1, sees_BWM.size(2)))
        if not leaving and self.past.n_slots < 2 * self.position + _SPARE * parents_BW.size(1):
            return ModelState(self.past, sees_BWM, self.position)
        # Hypotheses have most of their past in common: few of the slots are seen by any.
        seen_BM = sees_BWM.amax(1).isfinite()
        slots_BM = seen_BM.sort(dim=1, descending=True, stable=True).indices[:, : int(seen_BM.sum(1).max())]
        sees_BWM = sees_BWM.gather(2, slots_BM.unsqueeze(1).expand(-1, sees_BWM.size(1), -1))
        return ModelState(self.past.select(sentences_B, slots_BM), sees_BWM, self.position)

    def extended(self, width: int, device: torch.device) -> Tensor | None:
        """What each hypothesis will see with one more node, its own."""
        if self.sees_BWM is None and width == 1:
            return None
        sees_BWM = self._sees()
        own_WW = to_add(torch.eye(width, dtype=torch.bool, device=device), sees_BWM)
        return torch.cat((sees_BWM, own_WW.expand(len(sees_BWM), -1, -1)), 2)

    def _sees(self) -> Tensor:
        if self.sees_BWM is not None:
            return self.sees_BWM
        return self.past.sources[0].k_BSX.new_zeros(self.past.n_sentences, 1, self.past.n_slots)


def model_step(decoder: IncrementalDecoder) -> Step[ModelState]:
    def step(ids_BW: Tensor, state: ModelState) -> tuple[Tensor, ModelState]:
        sees_BWM = state.extended(ids_BW.size(1), ids_BW.device)
        logits_BWV = decoder.extend(state.past, ids_BW, state.position, sees_BWM)
        return logits_BWV, ModelState(state.past, sees_BWM, state.position + 1)

    return step
