from pathlib import Path

import numpy as np
import pytest
import torch

from heed.data.batch import make_batch, padded
from heed.data.prepare import prepare
from heed.data.store import PairStore
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary
from tests.conftest import EOS, PAD, small_batch
from tests.data.corpora import random_lines, write_pair


@pytest.fixture
def store(tmp_path: Path, words: Tokenizer) -> PairStore:
    return prepare(
        write_pair(tmp_path, ["one two", "three", "four"], ["two", "five six one", "six"]), words, tmp_path / "store"
    )


def test_short_sequences_are_padded() -> None:
    ids_BL = padded([[5, 6, 7], [8], []], PAD)
    assert ids_BL.dtype == torch.int64
    assert ids_BL.tolist() == [[5, 6, 7], [8, PAD, PAD], [PAD, PAD, PAD]]


def test_a_batch_of_stored_pairs(store: PairStore, words: Tokenizer) -> None:
    one, two, three, four, five, six = (words.encode(word).ids[0] for word in "one two three four five six".split())
    batch = make_batch(store, [2, 1], Vocabulary(1000))
    assert batch.src_BS.tolist() == [[four, EOS], [three, EOS]]
    assert batch.tgt_out_BT.tolist() == [[six, EOS, PAD, PAD], [five, six, one, EOS]]
    # Shifted right by one; the first input is PAD, which embeds to the zero vector.
    assert batch.tgt_in_BT.tolist() == [[PAD, six, EOS, PAD], [PAD, five, six, one]]
    assert batch.n_tokens == 6
    assert {t.dtype for t in (batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT)} == {torch.int64}
    assert make_batch(store, [0], Vocabulary(1000)).src_BS.tolist() == [[one, two, EOS]]


def test_many_pairs_row_by_row(tmp_path: Path, words: Tokenizer) -> None:
    source, target = random_lines(1, 2_000), random_lines(2, 2_000)
    store = prepare(write_pair(tmp_path, source, target), words, tmp_path / "store")
    indices = np.random.default_rng(1).permutation(2_000)[:500].astype(np.int32)
    batch = make_batch(store, indices, Vocabulary(1000))
    for row, i in enumerate(indices.tolist()):
        for ids_BL, line in ((batch.src_BS, source[i]), (batch.tgt_out_BT, target[i])):
            ids = [*words.encode(line).ids, EOS]
            assert ids_BL[row].tolist() == ids + [PAD] * (ids_BL.shape[1] - len(ids))


def test_ids_without_an_end_give_the_same_batch(store: PairStore, words: Tokenizer) -> None:
    sources, targets = (words.encode_ids(lines) for lines in (["one two", "three"], ["two", "five six one"]))
    one, other = make_batch(store, [0, 1], Vocabulary(1000)), small_batch(sources, targets)
    for name in ("src_BS", "tgt_in_BT", "tgt_out_BT"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.n_tokens == other.n_tokens == 6


def test_a_batch_moves_whole() -> None:
    moved = small_batch([[5]], [[6]]).to(torch.device("meta"))
    assert {moved.src_BS.device.type, moved.tgt_in_BT.device.type, moved.tgt_out_BT.device.type} == {"meta"}
    assert moved.n_tokens == 2
