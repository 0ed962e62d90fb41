"""The penalty on heads that are alike, beside loops in NumPy."""

import numpy as np
import pytest
import torch

from heed.config import Config, TrainConfig
from heed.data.batch import Batch
from heed.inside.observe import NOTHING_OFF, Observed
from heed.kernels.library import library
from heed.model.dropout import pair_seeds
from heed.model.transformer import Transformer
from heed.training.batch_loss import BatchLoss
from heed.training.head_diversity import head_similarity, kept_floats
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from tests.conftest import PAD, VOCABULARY, small_batch, small_config

HERE = Vocabulary(VOCABULARY)
PAIRS = [([3 + i % 9] * (1 + i % 4), [4 + i % 7] * (2 + i % 3)) for i in range(8)]


def by_loops(heads_HC: np.ndarray) -> float:
    """Return the mean squared cosine of two heads at one position."""
    found = []
    for one in range(len(heads_HC)):
        for other in range(one):
            x, y = heads_HC[one], heads_HC[other]
            found.append((sum(x * y) / (sum(x * x) * sum(y * y)) ** 0.5) ** 2)
    return sum(found) / len(found)


def test_it_is_the_mean_squared_cosine_of_two_heads() -> None:
    torch.manual_seed(1)
    contexts = [torch.randn(n, 3, 5) for n in (4, 7)]
    expected = sum(by_loops(heads_HC) for one in contexts for heads_HC in one.double().numpy()) / 2
    assert float(head_similarity(contexts)) == pytest.approx(expected, rel=1e-5)
    assert head_similarity([one.bfloat16() for one in contexts]).dtype == torch.float32
    same = torch.randn(6, 1, 5).expand(6, 4, 5)
    assert float(head_similarity([same])) == pytest.approx(6)
    assert float(head_similarity([torch.eye(5).expand(6, 5, 5)])) == 0


def test_its_gradient() -> None:
    torch.manual_seed(2)
    contexts = [torch.randn(n, 3, 4, dtype=torch.float64, requires_grad=True) for n in (2, 3)]
    assert torch.autograd.gradcheck(lambda *given: head_similarity(given), contexts)
    silent = torch.zeros(2, 3, 4, requires_grad=True)  # as heads whose values are all zero
    head_similarity([silent]).backward()  # type: ignore[no-untyped-call]
    assert silent.grad is not None and silent.grad.isfinite().all()


def penalty(model: Transformer, batch: Batch, weight: float) -> float:
    given = batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT
    (plain, likelihood), (with_it, same) = (BatchLoss(model, 0.1, head_diversity=one)(*given) for one in (0.0, weight))
    assert float(likelihood) == float(same)  # perplexity is without it
    return (with_it - plain).item()


@pytest.mark.parametrize("window", [0, 2])
@pytest.mark.parametrize("packs", [True, False])
def test_it_counts_every_real_position_of_every_attention(window: int, packs: bool) -> None:
    if packs and library() is None:
        pytest.skip("needs a C compiler")
    torch.manual_seed(3)
    model = Transformer(small_config(attention_window=window, dropout=0.0), HERE)
    model._layers_are_compiled = not packs  # compiled layers get padded batches
    batch = small_batch([[3, 4, 5, 6], [7]], [[8, 9], [10, 11, 12]])
    lengths = {"source": [5, 2], "target": [3, 4]}  # with the end or the start
    found = []

    def around(kind, layer, q, k, v, mask):  # type: ignore[no-untyped-def]
        context_BHLC, _ = NOTHING_OFF.attention(kind, layer, q, k, v, mask)
        for one_HLC, length in zip(context_BHLC, lengths["source" if kind == "encoder" else "target"], strict=True):
            found.extend(by_loops(one_HLC[:, i].detach().double().numpy()) for i in range(length))
        return context_BHLC

    model.decode(Observed(batch.tgt_in_BT, PAD, around), model.encode(Observed(batch.src_BS, PAD, around)))
    n_attentions = model.config.encoder_layers + 2 * model.config.decoder_layers
    assert penalty(model, batch, 0.7) == pytest.approx(0.7 * sum(found) / n_attentions, rel=1e-4)


@pytest.mark.parametrize("consistency", [0.0, 3.0])
def test_threads_and_micro_batches_do_not_matter(consistency: float) -> None:
    found, weights = [], []
    for cuts, threads in (([0, 8], 1), ([0, 3, 8], 2)):
        train = TrainConfig(lanes=threads, consistency=consistency, head_diversity=2.0)
        config = Config(model=small_config(dropout=0.2), train=train)
        learner = Learner(config, HERE, Workers(0, 1, torch.device("cpu")))
        learner.model.train()
        parts = [
            small_batch(*zip(*PAIRS[a:b], strict=True), first_pair=a) for a, b in zip(cuts, cuts[1:], strict=False)
        ]
        n_tokens = sum(part.n_tokens for part in parts)
        found.append([train_step(learner, parts, n_tokens, step).loss for step in (1, 2, 3)])
        weights.append(learner.model.encoder[0].self_attention.w_v.weight.grad)  # type: ignore[union-attr, index]
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    assert torch.allclose(*weights, rtol=1e-3, atol=1e-6)


def test_training_with_it_makes_heads_less_alike() -> None:
    batch, alike = small_batch(*zip(*PAIRS, strict=True)), {}
    for weight in (0.0, 5.0):
        train = TrainConfig(head_diversity=weight, warmup_steps=10)
        learner = Learner(
            Config(model=small_config(dropout=0.0), train=train), HERE, Workers(0, 1, torch.device("cpu"))
        )
        learner.model.train()
        for step in range(1, 31):
            train_step(learner, [batch], batch.n_tokens, step)
        assert isinstance(learner.model, Transformer)
        alike[weight] = penalty(learner.model, batch, 1.0)
    assert alike[5.0] < 0.7 * alike[0.0], alike


@pytest.mark.parametrize("packs", [True, False])
def test_what_it_keeps_for_the_backward_pass(packs: bool) -> None:
    """Compare the formula with what PyTorch saves: packed sentences need no copy of the outputs."""
    if packs and library() is None:
        pytest.skip("needs a C compiler")
    config = small_config(dropout=0.0)
    model = Transformer(config, HERE).train()
    model._layers_are_compiled = not packs
    batch = small_batch([[5] * 19] * 30, [[7] * 19] * 30)
    seeds = pair_seeds(1, 1, batch.pair_B)
    n_bytes = []
    for weight in (0.0, 1.0):
        kept: dict[int, torch.UntypedStorage] = {}

        def keep(tensor: torch.Tensor, kept: dict[int, torch.UntypedStorage] = kept) -> torch.Tensor:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
            return tensor.detach()

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            BatchLoss(model, 0.1, head_diversity=weight)(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT, seeds)
        n_bytes.append(sum(storage.nbytes() for storage in kept.values()))
    found, predicted = n_bytes[1] - n_bytes[0], 4 * kept_floats(config) * 30 * 20
    assert found == pytest.approx((0.57 if packs else 1.0) * predicted, rel=0.15)
