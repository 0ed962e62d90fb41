"""What a decoder has computed for one sentence, by what was written."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from heed.model.incremental import IncrementalDecoder

Beginning = tuple[int, ...]  # of a translation, from the start symbol on
_SPARE = 64  # slots that nobody sees, beside one for each that is seen, before they are given up


@dataclass(frozen=True)
class _Node:
    """The end of a beginning."""

    slots: list[int]  # of all its symbols
    logits_V: Tensor  # of the next


class Beginnings:
    """Beginnings of one sentence's translation, and the scores of what may follow each."""

    def __init__(self, decoder: IncrementalDecoder, src_1S: Tensor) -> None:
        self._decoder, self._past, self._device = decoder, decoder.start(src_1S), src_1S.device
        self._nodes: dict[Beginning, _Node] = {}

    def __contains__(self, beginning: Beginning) -> bool:
        return beginning in self._nodes

    def logits(self, beginnings: Sequence[Beginning]) -> Tensor:
        """logits_WV of what follows beginnings that have been computed."""
        return torch.stack([self._nodes[one].logits_V for one in beginnings])

    def compute(self, beginnings: Sequence[Beginning]) -> None:
        """One pass over those not yet known, and over what they go on from where that is not known either."""
        new: dict[Beginning, list[int]] = {}
        for beginning in beginnings:
            length = len(beginning)
            while length and beginning[:length] not in self._nodes and beginning[:length] not in new:
                length -= 1
            for end in range(length + 1, len(beginning) + 1):
                before = self._slots(beginning[: end - 1], new)
                new[beginning[:end]] = [*before, self._past.n_slots + len(new)]
        if not new:
            return
        like = self._past.sources[0].k_BSX
        sees_NM = np.full((len(new), self._past.n_slots + len(new)), -np.inf, dtype=np.float32)
        for row, slots in zip(sees_NM, new.values(), strict=True):
            row[slots] = 0.0
        ids_1N = torch.tensor([[one[-1] for one in new]], device=self._device)
        position_1N = torch.tensor([[len(one) - 1 for one in new]], device=self._device)
        sees_1NM = torch.from_numpy(sees_NM).unsqueeze(0).to(like)
        logits_NV = self._decoder.extend(self._past, ids_1N, position_1N, sees_1NM)[0]
        for (one, slots), logits_V in zip(new.items(), logits_NV.unbind(), strict=True):
            self._nodes[one] = _Node(slots, logits_V)

    def keep_what_follows(self, beginnings: Sequence[Beginning]) -> None:
        """Forget all but these, which have been computed and are equally long, and what goes on from them."""
        alive, length = set(beginnings), len(beginnings[0])
        self._nodes = {one: node for one, node in self._nodes.items() if one[:length] in alive}
        if self._past.n_slots <= _SPARE:
            return
        seen = sorted({slot for node in self._nodes.values() for slot in node.slots})
        if self._past.n_slots > 2 * len(seen) + _SPARE:
            sentences_B, slots_BM = torch.tensor([0], device=self._device), torch.tensor([seen], device=self._device)
            self._past = self._past.select(sentences_B, slots_BM)
            moved = {old: new for new, old in enumerate(seen)}
            self._nodes = {
                one: _Node([moved[slot] for slot in node.slots], node.logits_V) for one, node in self._nodes.items()
            }

    def _slots(self, beginning: Beginning, new: dict[Beginning, list[int]]) -> list[int]:
        if not beginning:
            return []
        return new[beginning] if beginning in new else self._nodes[beginning].slots
