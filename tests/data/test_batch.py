import numpy as np
import torch

from heed.data.batch import batch_of_ids, make_batch, pad
from heed.data.store import PairStore, Sequences
from heed.symbols import EOS, PAD


def sequences(*ids: list[int]) -> Sequences:
    starts = np.cumsum([0, *map(len, ids)])
    return Sequences(np.array([i for one in ids for i in one], dtype=np.int32), starts.astype(np.int64))


def test_short_ones_are_filled_up() -> None:
    padded = pad([[5, 6, 7], [8], []])
    assert padded.dtype == torch.int64
    assert padded.tolist() == [[5, 6, 7], [8, PAD, PAD], [PAD, PAD, PAD]]


def test_a_batch_of_stored_pairs() -> None:
    store = PairStore(
        sequences([5, 6, EOS], [7, EOS], [8, EOS]),
        sequences([10, EOS], [11, 12, 13, EOS], [14, EOS]),
        np.arange(1, 4),
        (),
        (),
    )
    batch = make_batch(store, [2, 1])
    assert batch.src_BS.tolist() == [[8, EOS], [7, EOS]]
    assert batch.tgt_out_BT.tolist() == [[14, EOS, PAD, PAD], [11, 12, 13, EOS]]
    # Shifted right by one; the first input is PAD, which embeds to the zero vector.
    assert batch.tgt_in_BT.tolist() == [[PAD, 14, EOS, PAD], [PAD, 11, 12, 13]]
    assert batch.n_tokens == 6


def test_ids_without_an_end_give_the_same_batch() -> None:
    store = PairStore(sequences([5, 6, EOS], [7, EOS]), sequences([8, EOS], [9, 9, EOS]), np.arange(1, 3), (), ())
    one, other = make_batch(store, [0, 1]), batch_of_ids([[5, 6], [7]], [[8], [9, 9]])
    for name in ("src_BS", "tgt_in_BT", "tgt_out_BT"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.n_tokens == other.n_tokens == 5


def test_a_batch_moves_whole() -> None:
    moved = batch_of_ids([[5]], [[6]]).to(torch.device("meta"))
    assert {moved.src_BS.device.type, moved.tgt_in_BT.device.type, moved.tgt_out_BT.device.type} == {"meta"}
    assert moved.n_tokens == 2
