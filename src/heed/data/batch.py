"""Sentences as a padded tensor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heed.data.store import PairStore
from heed.symbols import EOS, PAD


@dataclass(frozen=True)
class Batch:
    """`tgt_in` is `tgt_out` shifted right: it begins with PAD, which embeds to the zero vector."""

    src_BS: Tensor
    tgt_in_BT: Tensor
    tgt_out_BT: Tensor
    n_tokens: int  # target tokens to predict, padding not counted

    def to(self, device: torch.device) -> "Batch":
        return Batch(self.src_BS.to(device), self.tgt_in_BT.to(device), self.tgt_out_BT.to(device), self.n_tokens)


def pad(sequences: Sequence[NDArray[np.int32] | Sequence[int]]) -> Tensor:
    """ids_BL, short ones filled up with PAD."""
    ids_BL = np.full((len(sequences), max(map(len, sequences))), PAD, dtype=np.int64)
    for row, ids in zip(ids_BL, sequences, strict=True):
        row[: len(ids)] = ids
    return torch.from_numpy(ids_BL)


def make_batch(store: PairStore, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
    sources = pad([store.source[i] for i in indices])
    targets = [store.target[i] for i in indices]
    return _batch(sources, pad(targets), sum(map(len, targets)))


def batch_of_ids(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """The same from lists of ids without EOS."""
    ended = [[*ids, EOS] for ids in targets]
    return _batch(pad([[*ids, EOS] for ids in sources]), pad(ended), sum(map(len, ended)))


def _batch(src_BS: Tensor, tgt_out_BT: Tensor, n_tokens: int) -> Batch:
    start_B1 = torch.full((tgt_out_BT.size(0), 1), PAD)
    return Batch(src_BS, torch.cat((start_B1, tgt_out_BT[:, :-1]), 1), tgt_out_BT, n_tokens)
