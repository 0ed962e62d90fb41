"""Section 4: self-attention restricted to a neighbourhood of r positions, at a cost of O(r · n · d) in time and memory.

r counts the positions that a position attends to, itself included (`model.attention_window`):

    encoder    centred: ⌊r/2⌋ positions before it, itself, and the rest after it. Near an end of the sentence the
               neighbourhood is moved inwards, so that it still has r positions.
    decoder    itself and the r - 1 positions before it; a position near the start has fewer.

A sentence of up to r tokens is attended to in full. Queries are taken in blocks of r neighbours, whose neighbourhoods
lie in fewer than 2r adjacent keys (3r, where the ends of packed sentences fall into a block). Each block attends to its
own keys, and a mask hides those that are outside a query's neighbourhood. No tensor has n × n elements, neither in the
forward pass nor kept for the backward pass.
"""

from dataclasses import dataclass, field
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from heed.model.attention import fused
from heed.model.masks import additive_mask

MIN_BLOCK = 16  # queries; products of fewer rows take as long


@dataclass(frozen=True)
class Neighbourhood:
    """The positions that each position attends to: from `first` up to, but not including, `end`.

    Neither of the two falls from one position to the next. One row serves all sentences, or each has its own.
    """

    first_BL: Tensor
    end_BL: Tensor
    r: int
    _additive: dict[torch.dtype, Tensor] = field(default_factory=dict, repr=False)

    @staticmethod
    def centred(position: Tensor, length: Tensor, r: int, offset: Tensor | int = 0) -> "Neighbourhood":
        """Return the r positions around each position of sentences of these lengths, which begin at `offset`."""
        # Positions after the end are padding; they attend to something, as a softmax over nothing is not a number.
        first = torch.minimum(position - r // 2, length - r).clamp(min=0)
        end = torch.maximum(torch.minimum(first + r, length), first + 1)
        return Neighbourhood(_rows(first + offset), _rows(end + offset), r)

    @staticmethod
    def preceding(position: Tensor, r: int, offset: Tensor | int = 0) -> "Neighbourhood":
        """Return each position and the r - 1 before it, in sentences that begin at `offset`."""
        first, end = (position - r + 1).clamp(min=0), position + 1
        return Neighbourhood(_rows(first + offset), _rows(end + offset), r)

    @cached_property
    def mask(self) -> Tensor:
        """may_attend_B1LL: all pairs of positions, for a formula whose weights are wanted."""
        key_L = torch.arange(self.first_BL.size(1), device=self.first_BL.device)
        may_attend_BLL = (key_L >= self.first_BL.unsqueeze(-1)) & (key_L < self.end_BL.unsqueeze(-1))
        return may_attend_BLL.unsqueeze(1)

    def attend(self, q_BHLK: Tensor, k_BHLK: Tensor, v_BHLC: Tensor) -> Tensor:
        """Return context_BHLC of equation (1), where each position attends to its neighbourhood."""
        n_sentences, n = q_BHLK.size(0), q_BHLK.size(2)
        key_BUM, _ = self._blocks
        sentence_B11 = torch.arange(n_sentences, device=key_BUM.device).view(-1, 1, 1)
        rows_GM = (key_BUM + n * sentence_B11).flatten(0, 1)
        q_GHQK, k_GHMK, v_GHMC = self._queries(q_BHLK), _gathered(k_BHLK, rows_GM), _gathered(v_BHLC, rows_GM)
        context_GHQC = fused(self._mask(q_GHQK.dtype, n_sentences))(q_GHQK, k_GHMK, v_GHMC)
        context_BLHC = context_GHQC.transpose(1, 2).reshape(n_sentences, -1, *context_GHQC.shape[1::2])[:, :n]
        return context_BLHC.transpose(1, 2)

    @cached_property
    def _blocks(self) -> tuple[Tensor, Tensor]:
        """key_BUM, the keys of each block of queries, and may_attend_BUQM, for each query of the block."""
        n, size = self.first_BL.size(1), max(self.r, MIN_BLOCK)
        n_blocks = -(-n // size)
        query_UQ = torch.arange(n_blocks * size, device=self.first_BL.device).clamp(max=n - 1).view(n_blocks, size)
        first_BUQ, end_BUQ = self.first_BL[:, query_UQ], self.end_BL[:, query_UQ]
        width = int((end_BUQ[:, :, -1] - first_BUQ[:, :, 0]).amax())
        key_BUM = first_BUQ[:, :, :1] + torch.arange(width, device=query_UQ.device)
        key_BU1M = key_BUM.unsqueeze(2)
        may_attend_BUQM = (key_BU1M >= first_BUQ.unsqueeze(-1)) & (key_BU1M < end_BUQ.unsqueeze(-1))
        return key_BUM.clamp(max=n - 1), may_attend_BUQM

    def _mask(self, dtype: torch.dtype, n_sentences: int) -> Tensor:
        """Return mask_G1QM to add to scores. All layers share one, as each keeps it for the backward pass."""
        if dtype not in self._additive:
            may_attend_BUQM = self._blocks[1]
            mask_BUQM = additive_mask(may_attend_BUQM, dtype).expand(n_sentences, -1, -1, -1)
            self._additive[dtype] = mask_BUQM.flatten(0, 1).unsqueeze(1)
        return self._additive[dtype]

    def _queries(self, q_BHLK: Tensor) -> Tensor:
        """Return q_GHQK, the queries in blocks; the last block is filled up with zeros."""
        n_blocks, size = self._blocks[1].shape[1:3]
        q_BLHK = q_BHLK.transpose(1, 2)
        filled_BPHK = F.pad(q_BLHK, (0, 0, 0, 0, 0, n_blocks * size - q_BLHK.size(1)))
        return filled_BPHK.reshape(-1, size, *q_BLHK.shape[2:]).transpose(1, 2)


def _rows(x: Tensor) -> Tensor:
    """Return one row for all sentences, or the rows of each, as x_BL."""
    return x.unsqueeze(0) if x.dim() == 1 else x


def _gathered(x_BHLK: Tensor, rows_GM: Tensor) -> Tensor:
    """Return x_GHMK: these rows of the sentences, laid end to end."""
    h, size = x_BHLK.size(1), x_BHLK.size(3)
    x_ND = x_BHLK.transpose(1, 2).reshape(-1, h * size)
    # An embedding's backward pass adds up the gradients of a row much faster than that of indexing.
    return F.embedding(rows_GM, x_ND).view(*rows_GM.shape, h, size).transpose(1, 2)
