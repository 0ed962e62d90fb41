"""Sentences as a padded tensor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heed.data.store import Ids, PairStore
from heed.symbols import EOS, PAD


@dataclass(frozen=True)
class Batch:
    """`tgt_in` is `tgt_out` shifted right: it begins with PAD, which embeds to the zero vector."""

    src_BS: Tensor
    tgt_in_BT: Tensor
    tgt_out_BT: Tensor
    n_tokens: int  # target tokens to predict, padding not counted
    pair_B: Tensor  # each pair's number in the corpus: dropout goes by it

    def to(self, device: torch.device) -> "Batch":
        src_BS, tgt_in_BT, tgt_out_BT = self.src_BS.to(device), self.tgt_in_BT.to(device), self.tgt_out_BT.to(device)
        return Batch(src_BS, tgt_in_BT, tgt_out_BT, self.n_tokens, self.pair_B.to(device))

    def shares(self, n: int) -> "list[Batch]":
        """The sentences dealt out in turns, without needless padding; fewer than n shares of fewer than n sentences."""
        return [self._share(slice(i, None, n)) for i in range(min(n, len(self.src_BS)))]

    def _share(self, rows: slice) -> "Batch":
        real = self.tgt_out_BT[rows].ne(PAD)
        n_source, n_target = (_longest(here) for here in (self.src_BS[rows].ne(PAD), real))
        return Batch(
            self.src_BS[rows, :n_source],
            self.tgt_in_BT[rows, :n_target],
            self.tgt_out_BT[rows, :n_target],
            int(real.sum()),
            self.pair_B[rows],
        )


def pad(sequences: Sequence[Sequence[int]]) -> Tensor:
    """ids_BL, short ones filled up with PAD."""
    return _padded(np.array([i for ids in sequences for i in ids]), np.array([len(ids) for ids in sequences]))


def make_batch(store: PairStore, indices: Sequence[int] | NDArray[np.integer[Any]]) -> Batch:
    """
    Raises:
        DataError: these pairs' part of the store is damaged.
    """
    source, target = store.source.gather(indices), store.target.gather(indices)
    return _batch(_padded(*source), _padded(*target), len(target[0]), indices)


def batch_of_ids(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], first_pair: int = 0) -> Batch:
    """The same from lists of ids without EOS; the pairs are numbered from `first_pair` on."""
    ended = [[*ids, EOS] for ids in targets]
    numbers = range(first_pair, first_pair + len(sources))
    return _batch(pad([[*ids, EOS] for ids in sources]), pad(ended), sum(map(len, ended)), numbers)


def _batch(src_BS: Tensor, tgt_out_BT: Tensor, n_tokens: int, pairs: Sequence[int] | NDArray[np.integer[Any]]) -> Batch:
    start_B1 = torch.full((tgt_out_BT.size(0), 1), PAD)
    pair_B = torch.from_numpy(np.array(pairs, dtype=np.int64))
    return Batch(src_BS, torch.cat((start_B1, tgt_out_BT[:, :-1]), 1), tgt_out_BT, n_tokens, pair_B)


def _longest(real_BL: Tensor) -> int:
    """Positions up to the last that is real in any row; at least one."""
    return max(1, int(real_BL.any(0).sum()))


def _padded(ids: Ids, lengths: NDArray[np.int64]) -> Tensor:
    """ids_BL from ids end to end."""
    ids_BL = np.full((len(lengths), lengths.max()), PAD, dtype=np.int64)
    ids_BL[np.arange(ids_BL.shape[1]) < lengths[:, None]] = ids
    return torch.from_numpy(ids_BL)
