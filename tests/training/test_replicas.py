"""Check threads that share a micro-batch."""

import pytest
import torch

from heed.config import Config, TrainConfig
from heed.training.batch_loss import BatchLoss
from heed.training.learner import Learner
from heed.training.replicas import ThreadReplicas, n_lanes
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config

ONE = Workers(0, 1, torch.device("cpu"))
PAIRS = [([3 + i % 7] * (1 + i % 5), [9 + i % 4] * (2 + i % 6)) for i in range(7)]


def batch_of(pairs, first_pair=0):
    return small_batch(*zip(*pairs, strict=True), first_pair=first_pair)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 9])
def test_shares_are_the_batch_without_needless_padding(n):
    batch = batch_of(PAIRS)
    shares = batch.shares(n)
    assert len(shares) == min(n, 7)
    assert sum(share.n_tokens for share in shares) == batch.n_tokens
    for i, share in enumerate(shares):
        expected = batch_of(PAIRS[i::n])
        for name in ("src_BS", "tgt_in_BT", "tgt_out_BT"):
            assert torch.equal(getattr(share, name), getattr(expected, name)), name
        assert share.n_tokens == expected.n_tokens


def learner(lanes: int, dropout: float = 0.3) -> Learner:
    return Learner(
        Config(model=small_config(dropout=dropout), train=TrainConfig(lanes=lanes)), Vocabulary(VOCABULARY), ONE
    )


def trained(lanes: int, dropout: float = 0.3) -> list[torch.Tensor]:
    made = learner(lanes, dropout)
    made.model.train()
    for step in range(1, 6):
        batches = [batch_of(PAIRS[:4]), batch_of(PAIRS[4:], 4)]
        train_step(made, batches, sum(batch.n_tokens for batch in batches), step)
    return [weight.detach() for weight in made.model.parameters()]


@pytest.fixture(params=[1, 2])
def threads(request):
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(1)


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_what_is_learnt_is_the_same_every_time(lanes, threads):
    """Bit for bit, whichever lane is faster."""
    first, second = trained(lanes), trained(lanes)
    assert all(map(torch.equal, first, second))
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_how_many_lanes_there_are_changes_only_the_order_of_sums(dropout, threads):
    for mine, its in zip(trained(1, dropout), trained(2, dropout), strict=True):
        torch.testing.assert_close(mine, its, atol=1e-5, rtol=1e-4)


def test_lanes_have_the_weights_in_common():
    made = learner(2)
    loaded = {
        group: {name: tensor.clone() for name, tensor in tensors.items()} for group, tensors in made.state().items()
    }
    train_step(made, [batch_of(PAIRS)], batch_of(PAIRS).n_tokens, 1)
    addresses = [[weight.data_ptr() for weight in loss.parameters()] for loss in made._replicas._losses]
    assert addresses[0] == addresses[1]
    for name, tensor in made.state()["optimizer"].items():
        loaded["optimizer"][name] = torch.zeros_like(tensor)
    made.load(loaded, "before")  # and after loading weights
    addresses = [[weight.data_ptr() for weight in loss.parameters()] for loss in made._replicas._losses]
    assert addresses[0] == addresses[1]


def test_a_fault_in_a_lane_is_raised():
    replicas = ThreadReplicas(BatchLoss(learner(1).model, 0.1), 2)

    def work(loss, share):
        if 1 in share.pair_B:
            raise MemoryError("no more")

    with pytest.raises(MemoryError, match="no more"):
        replicas.each(batch_of(PAIRS), work)


def test_there_is_a_lane_for_each_thread_unless_the_config_says_otherwise():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert n_lanes(Config(), ONE) == 2
        assert n_lanes(Config(train=TrainConfig(batch_tokens=1_000)), ONE) == 1  # not enough for two
        torch.set_num_threads(64)
        assert n_lanes(Config(), ONE) == 8
    finally:
        torch.set_num_threads(threads)
    assert n_lanes(Config(train=TrainConfig(lanes=5)), ONE) == 5
    assert n_lanes(Config(train=TrainConfig(lanes=5)), Workers(0, 2, torch.device("cpu"))) == 1
    assert n_lanes(Config(train=TrainConfig(lanes=5, compile=True)), ONE) == 1
    ThreadReplicas(BatchLoss(learner(1).model, 0.1), 3)
    assert torch.get_num_threads() == threads
