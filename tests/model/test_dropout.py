"""Hashed masks are proper dropout masks, and depend on pair, position, step and seed alone."""

import math

import numpy as np
import pytest
import torch

from heed.kernels.library import library
from heed.model.dropout import Dropout, keep_mask, layer_seeds, pair_seeds, position_seeds, random_seeds
from heed.model.transformer import Transformer
from heed.training.batch_loss import BatchLoss
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_batch, small_config


def seeds(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(-(1 << 63), (1 << 63) - 1, shape, generator=torch.Generator().manual_seed(seed))


def dropped(p: float, rows: int, d: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Apply dropout to ones, by default in float64, for which there is no kernel."""
    return Dropout(p).train()(torch.ones(rows, d, dtype=dtype), seeds(rows, seed=seed))


# --- the same with Python's integers ----------------------------------------------------------------------

M64, M32 = (1 << 64) - 1, (1 << 32) - 1


def splitmix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
    return z ^ (z >> 31)


def lowbias(count: int, seed: int) -> int:
    h = ((seed & M32) + count) & M32
    h = ((h ^ (h >> 16)) * 0x21F0AAAD + (seed >> 32)) & M32
    h = (h ^ (h >> 15)) * 0xD35A2D97 & M32
    return h ^ (h >> 15)


def test_the_mask_is_splitmix_and_lowbias_in_plain_integers() -> None:
    golden, rows, d, site, level = 0x9E3779B97F4A7C15, 6, 70, 3, 20_000
    given = seeds(rows, seed=4)
    expected = np.zeros((rows, d), dtype=bool)
    for r, row_seed in enumerate(given.tolist()):
        seed = splitmix((row_seed + (site + 1) * golden) & M64)
        for c in range(d):
            h = lowbias(c // 32 * 16 + c % 16, seed)
            expected[r, c] = (h >> 16 if c % 32 >= 16 else h & 0xFFFF) >= level
    assert np.array_equal(keep_mask(given, site, d, level).numpy(), expected)
    for side, number in (("source", 1), ("target", 2)):
        found = position_seeds(given, torch.arange(rows), side).tolist()
        assert [one & M64 for one in found] == [
            splitmix((one + (2 * i + number) * golden) & M64) for i, one in enumerate(given.tolist())
        ]
    assert [one & M64 for one in layer_seeds(given, 5).tolist()] == [
        (one + 5 * 64 * golden) & M64 for one in given.tolist()
    ]


# --- the distribution of masks ----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_elements_are_dropped_independently_with_the_right_probability(p: float) -> None:
    y = dropped(p, 1000, 1001)
    n = y.numel()
    share = (y == 0).double().mean().item()
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / n)
    assert sorted(y.unique().tolist()) == pytest.approx([0, 1 / (1 - p)], rel=1e-4)
    # Neighbours are independent, and so are the two elements that one hash decides on.
    zero = (y == 0).double() - p
    for distance in (1, 2, 3, 4, 8, 16, 32):
        correlation = (zero[:, distance:] * zero[:, :-distance]).mean().item() / (p * (1 - p))
        assert abs(correlation) < 5.5 / math.sqrt(n)


def test_the_sum_is_kept_on_average() -> None:
    for p in (0.1, 0.3):
        mean, spread = dropped(p, 1000, 1000).mean().item(), math.sqrt(p / (1 - p) / 1_000_000)
        assert abs(mean - 1) < 5 * spread


def test_the_gradient_flows_through_the_kept_elements() -> None:
    torch.manual_seed(3)
    x = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    y = Dropout(0.4).train()(x, seeds(7))
    y.backward(torch.full_like(y, 2.0))
    torch.testing.assert_close(x.grad, 2 * (y / x).detach())
    assert y.dtype == torch.float64


def test_without_training_or_seeds_nothing_is_dropped() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x, seeds(3)) is x
    assert Dropout(0.0).train()(x, seeds(3)) is x
    assert Dropout(0.5).train()(x, None) is x


def test_no_rows_and_rows_that_are_not_contiguous() -> None:
    assert dropped(0.5, 0, 4).shape == (0, 4)
    x = torch.ones(6, 4).T
    torch.testing.assert_close(Dropout(0.5)(x, seeds(4)), Dropout(0.5)(x.contiguous(), seeds(4)))


# --- what masks depend on ---------------------------------------------------------------------------------


def test_seeds_differ_by_run_step_pair_side_position_and_layer() -> None:
    pairs, positions = torch.arange(50), torch.arange(40)
    found = [
        layer_seeds(position_seeds(pair_seeds(run, step, pairs).unsqueeze(1), positions, side), layer)
        for run in (1, 2)
        for step in (1, 2, 3)
        for side in ("source", "target")
        for layer in (0, 1, 6)
    ]
    all_of_them = torch.stack(found).flatten()
    assert len(all_of_them.unique()) == len(all_of_them)
    assert torch.equal(pair_seeds(7, 9, pairs)[20:], pair_seeds(7, 9, pairs[20:]))


def test_a_model_without_seeds_uses_pytorchs_generator() -> None:
    model = Transformer(small_config(dropout=0.5), Vocabulary(VOCABULARY)).train()
    ids = torch.tensor([[5, 6, 7]]), torch.tensor([[0, 8, 9]])
    torch.manual_seed(1)
    first, second = model(*ids), model(*ids)
    torch.manual_seed(1)
    assert torch.equal(model(*ids), first) and not torch.equal(second, first)
    assert len(random_seeds(1000, torch.device("cpu")).unique()) == 1000


PAIRS = [([3 + i % 7] * (1 + i % 5), [9 + i % 4] * (2 + i % 6)) for i in range(12)]


def loss_of(model: Transformer, first: int, last: int, packs: bool) -> list[float]:
    """Return the summed losses of pairs first ... last as one batch."""
    batch = small_batch(*zip(*PAIRS[first:last], strict=True), first_pair=first)
    seed_B = pair_seeds(1, 5, batch.pair_B)
    model._layers_are_compiled = not packs  # compiled layers get padded batches
    loss = BatchLoss(model, 0.1)
    return [float(one.detach()) for one in loss(batch.src_BS, batch.tgt_in_BT, batch.tgt_out_BT, seed_B)]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_batch_mates_padding_packing_and_kernels_do_not_change_what_is_dropped(norm: str) -> None:
    """The mask of a pair depends on the pair alone, so the loss of a batch is the sum over its pairs."""
    torch.manual_seed(2)
    model = Transformer(small_config(dropout=0.4, norm=norm), Vocabulary(VOCABULARY)).train()
    exact = Transformer(small_config(dropout=0.4, norm=norm), Vocabulary(VOCABULARY)).train().double()
    exact.load_state_dict(model.state_dict())
    alone = np.sum([loss_of(exact, i, i + 1, False) for i in range(len(PAIRS))], axis=0)
    np.testing.assert_allclose(loss_of(exact, 0, len(PAIRS), False), alone, rtol=1e-12)
    np.testing.assert_allclose(loss_of(model, 0, len(PAIRS), False), alone, rtol=1e-5)
    if library() is not None:
        np.testing.assert_allclose(loss_of(model, 0, len(PAIRS), True), alone, rtol=1e-5)
