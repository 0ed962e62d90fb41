"""Build batches: pairs of sentences as padded tensors of ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heed.data.store import Ids, PairStore
from heed.vocabulary import Vocabulary

Gathered = tuple[Ids, NDArray[np.int64]]  # concatenated ids of sequences, and their lengths


@dataclass(frozen=True)
class Batch:
    """Padded sentence pairs. `tgt_in` is `tgt_out` shifted right: it begins with the start token."""

    src_BS: Tensor
    tgt_in_BT: Tensor
    tgt_out_BT: Tensor
    n_tokens: int  # target tokens to predict, without padding
    pair_B: Tensor  # each pair's number in the corpus, which seeds its dropout
    pad: int

    @classmethod
    def empty(cls, vocabulary: Vocabulary) -> "Batch":
        """Return a batch without a token to predict, for a process that has nothing else to compute."""
        end, start, pad = (torch.tensor([[token]]) for token in (vocabulary.end, vocabulary.start, vocabulary.pad))
        return cls(end, start, pad, 0, torch.tensor([0]), vocabulary.pad)

    def to(self, device: torch.device) -> "Batch":
        src_BS, tgt_in_BT, tgt_out_BT = self.src_BS.to(device), self.tgt_in_BT.to(device), self.tgt_out_BT.to(device)
        return Batch(src_BS, tgt_in_BT, tgt_out_BT, self.n_tokens, self.pair_B.to(device), self.pad)

    def shares(self, n: int) -> "list[Batch]":
        """Deal the pairs out to n shares in turn, each with only the padding it needs; no share is empty."""
        return [self._share(slice(i, None, n)) for i in range(min(n, len(self.src_BS)))]

    def _share(self, rows: slice) -> "Batch":
        real = self.tgt_out_BT[rows].ne(self.pad)
        n_source, n_target = (_longest(here) for here in (self.src_BS[rows].ne(self.pad), real))
        return Batch(
            self.src_BS[rows, :n_source],
            self.tgt_in_BT[rows, :n_target],
            self.tgt_out_BT[rows, :n_target],
            int(real.sum()),
            self.pair_B[rows],
            self.pad,
        )


def padded(sequences: Sequence[Sequence[int]], pad: int) -> Tensor:
    """Return ids_BL, in which short sequences are filled up."""
    return _padded(np.array([i for ids in sequences for i in ids]), np.array([len(ids) for ids in sequences]), pad)


def make_batch(store: PairStore, indices: Sequence[int] | NDArray[np.integer[Any]], vocabulary: Vocabulary) -> Batch:
    """Return the pairs of a store with these numbers.

    Raises:
        DataError: the blocks of the store with these pairs are damaged.
    """
    return batch_of_arrays(store.source.gather(indices), store.target.gather(indices), indices, vocabulary)


def batch_of_arrays(
    source: Gathered, target: Gathered, pairs: Sequence[int] | NDArray[np.integer[Any]], vocabulary: Vocabulary
) -> Batch:
    """Return the pairs with these numbers; each side is concatenated ids, with end tokens, and their lengths."""
    src_BS, tgt_out_BT = _padded(*source, vocabulary.pad), _padded(*target, vocabulary.pad)
    return _batch(src_BS, tgt_out_BT, len(target[0]), pairs, vocabulary)


def batch_of_ids(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], vocabulary: Vocabulary, first_pair: int = 0
) -> Batch:
    """Return a batch of ids without end tokens; the pairs are numbered from `first_pair` on."""
    pad, end = vocabulary.pad, vocabulary.end
    ended = [[*ids, end] for ids in targets]
    numbers = range(first_pair, first_pair + len(sources))
    src_BS = padded([[*ids, end] for ids in sources], pad)
    return _batch(src_BS, padded(ended, pad), sum(map(len, ended)), numbers, vocabulary)


def _batch(
    src_BS: Tensor,
    tgt_out_BT: Tensor,
    n_tokens: int,
    pairs: Sequence[int] | NDArray[np.integer[Any]],
    vocabulary: Vocabulary,
) -> Batch:
    start_B1 = torch.full((tgt_out_BT.size(0), 1), vocabulary.start)
    pair_B = torch.from_numpy(np.array(pairs, dtype=np.int64))
    tgt_in_BT = torch.cat((start_B1, tgt_out_BT[:, :-1]), 1)
    return Batch(src_BS, tgt_in_BT, tgt_out_BT, n_tokens, pair_B, vocabulary.pad)


def _longest(real_BL: Tensor) -> int:
    """Return the length of the longest row without padding, at least 1."""
    return max(1, int(real_BL.any(0).sum()))


def _padded(ids: Ids, lengths: NDArray[np.int64], pad: int) -> Tensor:
    """Return ids_BL from concatenated ids."""
    ids_BL = np.full((len(lengths), lengths.max()), pad, dtype=np.int64)
    ids_BL[np.arange(ids_BL.shape[1]) < lengths[:, None]] = ids
    return torch.from_numpy(ids_BL)
