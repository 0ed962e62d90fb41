"""The consistency loss, beside PyTorch's own cross-entropy and Kullback-Leibler divergence."""

import pytest
import torch
import torch.nn.functional as F

from heed.config import Config, TrainConfig
from heed.model.dropout import pair_seeds
from heed.model.transformer import Transformer
from heed.training.batch_loss import BatchLoss
from heed.training.consistency import consistent_loss, second_view
from heed.training.learner import Learner
from heed.training.loss import label_smoothed_loss
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import PAD, UNK, VOCABULARY, small_batch, small_config

HERE = Vocabulary(VOCABULARY)


def by_pytorch(hidden, other, weight, gold, epsilon, consistency):
    a, b = hidden @ weight.T, other @ weight.T
    n = weight.size(0)
    # PyTorch smooths over all tokens, the gold one too.
    smoothing = epsilon * n / (n - 1)
    ce = sum(F.cross_entropy(x, gold, reduction="sum", label_smoothing=smoothing) for x in (a, b)) / 2
    p, r = a.log_softmax(-1), b.log_softmax(-1)
    kl = F.kl_div(r, p, reduction="sum", log_target=True) + F.kl_div(p, r, reduction="sum", log_target=True)
    return ce + consistency * kl / 2, F.cross_entropy(a, gold, reduction="sum")


@pytest.mark.parametrize("consistency", [0.0, 3.0])
@pytest.mark.parametrize("portion", [2, 256])
def test_loss_and_gradients(monkeypatch, consistency, portion):
    monkeypatch.setattr("heed.training.consistency.LOGIT_ROWS", portion)
    torch.manual_seed(0)
    hidden, other = (torch.randn(7, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    weight = torch.randn(11, 5, dtype=torch.float64, requires_grad=True)
    gold = torch.tensor([0, 10, 3, 3, 5, 6, 1])
    ours = consistent_loss(hidden, other, weight, gold, 0.1, consistency)
    expected, likelihood = by_pytorch(hidden, other, weight, gold, 0.1, consistency)
    assert ours.smoothed.item() == pytest.approx(expected.item(), rel=1e-12)
    assert ours.negative_log_likelihood.item() == pytest.approx(likelihood.item(), rel=1e-12)
    inputs = (hidden, other, weight)
    for mine, theirs in zip(
        torch.autograd.grad(ours.smoothed, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        assert torch.allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_two_equal_views_cost_nothing_more():
    torch.manual_seed(1)
    hidden, weight, gold = torch.randn(5, 4).double(), torch.randn(9, 4).double(), torch.tensor([1, 2, 3, 4, 8])
    alone = label_smoothed_loss(hidden, weight, gold, 0.1)
    assert consistent_loss(hidden, hidden, weight, gold, 0.1, 5.0).smoothed.item() == pytest.approx(
        alone.smoothed.item()
    )


def test_cutoff_hides_its_share_and_no_special_token():
    ids = torch.randint(3, VOCABULARY, (400, 30))
    ids[:, 20:] = PAD
    seeds = pair_seeds(1, 1, torch.arange(400))
    source, target, _ = second_view(ids, ids, seeds, 0.1, HERE)
    for hidden in (source, target):
        assert (hidden[:, 20:] == PAD).all()
        assert ((hidden == ids) | (hidden == UNK)).all()
        assert (hidden == UNK).sum().item() / 8000 == pytest.approx(0.1, abs=0.015)
    assert not torch.equal(source, target)  # the two sides hide different positions
    again = second_view(ids, ids, seeds, 0.1, HERE)
    assert torch.equal(again[0], source)
    assert second_view(ids, ids, seeds, 0.0, HERE)[0] is ids


def test_the_views_have_dropout_of_their_own():
    torch.manual_seed(2)
    model = Transformer(small_config(dropout=0.3), HERE).train()
    batch = small_batch([[3, 4, 5], [6, 7]], [[8, 9], [10, 11, 12]])
    real = batch.tgt_out_BT.ne(PAD)
    seeds = pair_seeds(1, 1, batch.pair_B)
    _, _, second = second_view(batch.src_BS, batch.tgt_in_BT, seeds, 0.0, HERE)
    one, two = (model.hidden(batch.src_BS, batch.tgt_in_BT, real, some) for some in (seeds, second))
    assert not torch.allclose(one, two)
    loss = BatchLoss(model, 0.1, consistency=3.0)(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT, seeds)
    expected, _ = by_pytorch(one, two, model.output_weight, batch.tgt_out_BT[real], 0.1, 3.0)
    assert loss[0].item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("cutoff", [0.0, 0.2])
def test_threads_and_micro_batches_do_not_matter(cutoff):
    pairs = [([3 + i % 9] * (1 + i % 4), [4 + i % 7] * (2 + i % 3)) for i in range(8)]
    found = []
    for cuts, threads in (([0, 8], 1), ([0, 3, 8], 2)):
        train = TrainConfig(lanes=threads, consistency=3.0, cutoff=cutoff)
        learner = Learner(
            Config(model=small_config(dropout=0.2), train=train), HERE, Workers(0, 1, torch.device("cpu"))
        )
        learner.model.train()
        parts = [
            small_batch(*zip(*pairs[a:b], strict=True), first_pair=a) for a, b in zip(cuts, cuts[1:], strict=False)
        ]
        n_tokens = sum(part.n_tokens for part in parts)
        found.append([train_step(learner, parts, n_tokens, step).loss for step in (1, 2, 3)])
    assert found[0] == pytest.approx(found[1], rel=1e-5)
