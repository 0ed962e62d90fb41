"""Build batches: pairs of sentences as padded tensors of ids."""

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
    """A batch of pairs. `tgt_in` is `tgt_out` shifted right: it begins with PAD, which embeds to the zero vector."""

    src_BS: Tensor
    tgt_in_BT: Tensor
    tgt_out_BT: Tensor
    n_tokens: int  # target tokens to predict, without padding
    pair_B: Tensor  # each pair's number in the corpus, which seeds its dropout

    def to(self, device: torch.device) -> "Batch":
        src_BS, tgt_in_BT, tgt_out_BT = self.src_BS.to(device), self.tgt_in_BT.to(device), self.tgt_out_BT.to(device)
        return Batch(src_BS, tgt_in_BT, tgt_out_BT, self.n_tokens, self.pair_B.to(device))

    def shares(self, n: int) -> "list[Batch]":
        """Deal the pairs out to n shares in turn, each with only the padding it needs; no share is empty."""
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
    """Return ids_BL, padded with PAD."""
    return _padded(np.array([i for ids in sequences for i in ids]), np.array([len(ids) for ids in sequences]))


def make_batch(store: PairStore, indices: Sequence[int] | NDArray[np.integer[Any]]) -> Batch:
    """Return a batch of the pairs at these indices of a store.

    Raises:
        DataError: the blocks of the store with these pairs are damaged.
    """
    source, target = store.source.gather(indices), store.target.gather(indices)
    return _batch(_padded(*source), _padded(*target), len(target[0]), indices)


def batch_of_ids(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], first_pair: int = 0) -> Batch:
    """Return a batch of lists of ids without EOS; the pairs are numbered from `first_pair`."""
    ended = [[*ids, EOS] for ids in targets]
    numbers = range(first_pair, first_pair + len(sources))
    return _batch(pad([[*ids, EOS] for ids in sources]), pad(ended), sum(map(len, ended)), numbers)


def _batch(src_BS: Tensor, tgt_out_BT: Tensor, n_tokens: int, pairs: Sequence[int] | NDArray[np.integer[Any]]) -> Batch:
    start_B1 = torch.full((tgt_out_BT.size(0), 1), PAD)
    pair_B = torch.from_numpy(np.array(pairs, dtype=np.int64))
    return Batch(src_BS, torch.cat((start_B1, tgt_out_BT[:, :-1]), 1), tgt_out_BT, n_tokens, pair_B)


def _longest(real_BL: Tensor) -> int:
    """Return the length of the longest row without padding, at least 1."""
    return max(1, int(real_BL.any(0).sum()))


def _padded(ids: Ids, lengths: NDArray[np.int64]) -> Tensor:
    """Return ids_BL from concatenated ids."""
    ids_BL = np.full((len(lengths), lengths.max()), PAD, dtype=np.int64)
    ids_BL[np.arange(ids_BL.shape[1]) < lengths[:, None]] = ids
    return torch.from_numpy(ids_BL)
