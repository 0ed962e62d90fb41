"""Pairs as an epoch sees them: a pure function of seed, epoch and pair."""

from dataclasses import replace

import numpy as np
import pytest

from heed.config import Config, ModelConfig, TextConfig, TrainConfig
from heed.data.augment import augmentation
from heed.data.prepare import prepare
from heed.text.tokenizer import Tokenizer
from tests.data.corpora import write_pair

SOURCE = [f"the number {i} is here." for i in range(40)]
TARGET = [f"die Nummer {i} ist hier." for i in range(40)]
BOTH = Config(text=TextConfig(bpe_dropout=0.2), train=TrainConfig(noise=0.5))


@pytest.fixture
def tokenizer():
    return Tokenizer.learn(SOURCE + TARGET, 350)


@pytest.fixture
def store(tmp_path, tokenizer):
    return prepare(write_pair(tmp_path, SOURCE, TARGET), tokenizer, tmp_path / "store")


def pairs(gathered):
    sides = [np.split(ids, np.cumsum(lengths)[:-1]) for ids, lengths in gathered]
    return [tuple(tuple(ids.tolist()) for ids in pair) for pair in zip(*sides, strict=True)]


def test_nothing_unless_asked(store, tokenizer):
    assert augmentation(Config(), store, tokenizer) is None


def test_the_same_however_it_is_asked(store, tokenizer):
    one, other = (augmentation(BOTH, store, tokenizer) for _ in range(2))
    together = pairs(one.gather(3, np.arange(40)))
    apart = [pairs(other.gather(3, np.array([i])))[0] for i in reversed(range(40))][::-1]
    assert together == apart
    assert together != pairs(one.gather(4, np.arange(40)))
    reseeded = replace(BOTH, train=replace(BOTH.train, seed=2))
    assert together != pairs(augmentation(reseeded, store, tokenizer).gather(3, np.arange(40)))


def test_dropout_alone_keeps_the_text(store, tokenizer):
    found = augmentation(Config(text=TextConfig(bpe_dropout=0.3)), store, tokenizer).gather(0, np.arange(40))
    assert [tuple(tokenizer.decode(ids) for ids in pair) for pair in pairs(found)] == list(
        zip(SOURCE, TARGET, strict=True)
    )


def test_noise_reaches_its_share(store, tokenizer):
    found = augmentation(Config(train=TrainConfig(noise=0.5)), store, tokenizer)
    changed = total = 0
    for epoch in range(10):
        for i, pair in enumerate(pairs(found.gather(epoch, np.arange(40)))):
            texts = tuple(tokenizer.decode(ids) for ids in pair)
            changed, total = changed + (texts != (SOURCE[i], TARGET[i])), total + 1
            assert all(ids[-1] == tokenizer.vocabulary.end for ids in pair)
    assert changed / total == pytest.approx(0.5, abs=0.08)


def test_a_pair_that_would_get_too_long_stays(store, tokenizer):
    longest = int(max(store.source.lengths.max(), store.target.lengths.max()))
    tight = replace(BOTH, model=ModelConfig(max_length=longest - 1), train=TrainConfig(noise=1.0))
    for epoch in range(5):
        for pair in pairs(augmentation(tight, store, tokenizer).gather(epoch, np.arange(40))):
            assert max(map(len, pair)) <= longest
