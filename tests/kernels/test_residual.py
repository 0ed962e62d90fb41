"""Compare the fused residual dropout with float64 arithmetic over the same mask, and test the mask itself."""

import math

import numpy as np
import pytest
import torch

from heed.kernels import residual
from heed.kernels.library import library
from heed.kernels.residual import Mask
from heed.model.dropout import Dropout, keep_mask
from heed.model.layers import Residual
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary
from tests.conftest import VOCABULARY, small_config

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")

SHAPES = [(3, 32), (1, 1), (7, 5), (5, 33), (2, 3, 47), (4, 128), (2, 515), (3, 1100), (2, 1024)]


def mask(p: float, *shape: int, seed: int = 11, site: int = 0) -> Mask:
    """Return a mask with consecutive seeds: the kernel has to hash them."""
    rows = math.prod(shape[:-1]) if math.prod(shape) else 0
    wrapped = [(seed + row + (1 << 63)) % (1 << 64) - (1 << 63) for row in range(rows)]
    return Mask(torch.tensor(wrapped, dtype=torch.int64), site, p)


def factors(p: float, *shape: int, seed: int = 11, site: int = 0) -> torch.Tensor:
    """Return what elements are multiplied by, found by dropping out ones."""
    return residual.dropout(torch.ones(shape), mask(p, *shape, seed=seed, site=site))


def random(*shape: int, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    made = np.random.default_rng(seed).normal(scale=scale, size=shape)
    return torch.tensor(made, dtype=torch.float32)


def a_norm(d: int) -> torch.nn.LayerNorm:
    norm = torch.nn.LayerNorm(d, eps=1e-6)
    norm.weight.data, norm.bias.data = 1 + random(d, seed=5, scale=0.3), random(d, seed=6)
    return norm


def layer_norm_and_gradients(
    total: np.ndarray, gain: np.ndarray, bias: np.ndarray, grad: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the value and the gradients of input, gain and bias, using each row's full Jacobian in float64."""
    value, grad_total = np.empty_like(total), np.empty_like(total)
    grad_gain, grad_bias, d = np.zeros_like(gain), np.zeros_like(bias), len(gain)
    for row in range(len(total)):
        middle = total[row] - total[row].mean()
        deviation = math.sqrt((middle**2).mean() + 1e-6)
        normal = middle / deviation
        value[row] = normal * gain + bias
        jacobian = (np.eye(d) - 1 / d - np.outer(normal, normal) / d) / deviation
        grad_total[row] = (grad[row] * gain) @ jacobian
        grad_gain += grad[row] * normal
        grad_bias += grad[row]
    return value, grad_total, grad_gain, grad_bias


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e6])
def test_dropout_add_norm_as_in_float64(shape: tuple[int, ...], p: float, scale: float) -> None:
    d, seed = shape[-1], 11
    x, y, grad = random(*shape, seed=1, scale=scale), random(*shape, seed=2, scale=scale), random(*shape, seed=3)
    norm = a_norm(d)
    inputs = [x.requires_grad_(), y.requires_grad_(), norm.weight, norm.bias]
    found = residual.dropout_add_norm(x, y, mask(p, *shape, seed=seed), norm)
    found.backward(grad)
    as_rows = [t.detach().double().numpy().reshape(-1, d) for t in (x, y, grad, factors(p, *shape, seed=seed))]
    rows_x, rows_y, rows_grad, factor = as_rows
    gain, bias = norm.weight.detach().double().numpy(), norm.bias.detach().double().numpy()
    value, grad_total, grad_gain, grad_bias = layer_norm_and_gradients(rows_x + rows_y * factor, gain, bias, rows_grad)
    # A norm in float32 loses digits where the deviation is smaller than the numbers.
    close = dict(rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found.detach().reshape(-1, d), value, **close)
    for tensor, wanted in zip(inputs, (grad_total, grad_total * factor, grad_gain, grad_bias), strict=True):
        size = max(np.abs(wanted).max(), 1e-30) if d > 1 else 1.0  # with d = 1, everything cancels out
        np.testing.assert_allclose(tensor.grad.reshape(wanted.shape) / size, wanted / size, **close)


@pytest.mark.parametrize("shape", [*SHAPES, (), (0,), (4, 0), (0, 8)])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.75])
def test_dropout_add_and_dropout_as_in_float64(shape: tuple[int, ...], p: float) -> None:
    x, y, grad = (random(*shape, seed=seed).requires_grad_(seed < 3) for seed in (1, 2, 3))
    factor = factors(p, *shape).double()
    exact = dict(rtol=1e-6, atol=1e-6, check_dtype=False)
    torch.testing.assert_close(residual.dropout_add(x, y, mask(p, *shape)), x.double() + y.double() * factor, **exact)
    torch.testing.assert_close(residual.dropout(y, mask(p, *shape)), y.double() * factor, **exact)
    residual.dropout_add(x, y, mask(p, *shape)).backward(grad)
    torch.testing.assert_close(x.grad, grad)
    torch.testing.assert_close(y.grad, grad.double() * factor, **exact)
    y.grad = None
    residual.dropout(y, mask(p, *shape)).backward(grad)
    torch.testing.assert_close(y.grad, grad.double() * factor, **exact)


def test_gradients_that_are_not_contiguous() -> None:
    x, y, norm = random(6, 40, seed=1).requires_grad_(), random(6, 40, seed=2).requires_grad_(), a_norm(40)
    for function in (residual.dropout_add, lambda *a: residual.dropout_add_norm(*a, norm)):
        grads = []
        for weight in (random(40, 6).T, random(40, 6).T.contiguous()):
            x.grad = y.grad = None
            function(x, y, mask(0.3, 6, 40)).backward(weight)
            grads.append((x.grad.clone(), y.grad.clone()))
        for one, other in zip(*grads, strict=True):
            assert torch.equal(one, other)


def test_nan_and_infinity_are_not_hidden() -> None:
    for wrong in (math.nan, math.inf, -math.inf):
        y = torch.ones(4, 64)
        y[1] = wrong  # some of it dropped
        assert residual.dropout(y, mask(0.5, 4, 64)).isfinite().all(1).tolist() == [True, False, True, True]
        assert residual.dropout(y, mask(0.5, 4, 64))[1].isnan().any()  # as in PyTorch: 0 x inf is NaN
        for function in (residual.dropout_add, lambda *a: residual.dropout_add_norm(*a, a_norm(64))):
            assert not function(y, torch.ones(4, 64), mask(0.5, 4, 64))[1].isfinite().any()
            assert function(y, torch.ones(4, 64), mask(0.5, 4, 64))[2].isfinite().all()


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(8000, 128), (2000, 515), (1, 1_000_003)])
def test_elements_are_dropped_independently_with_the_right_probability(p: float, shape: tuple[int, int]) -> None:
    factor = factors(p, *shape)
    rounded = round(p * 65536) / 65536
    assert factor.unique().tolist() == pytest.approx([0, 1 / (1 - rounded)], rel=1e-7)
    n, spread = factor.numel(), math.sqrt(p * (1 - p))
    zero = ((factor == 0).double() - rounded) / spread
    assert abs(zero.mean().item()) < 5 / math.sqrt(n)
    # Neighbours in a row, the two that one hash decides on, and neighbours in a column.
    for distance in (1, 2, 3, 4, 8, 15, 16, 17, 32, 64, 512):
        pairs = zero[:, distance:] * zero[:, :-distance]
        assert abs(pairs.mean().item()) < 5 / math.sqrt(max(pairs.numel(), 1)) or pairs.numel() == 0
    for distance in (1, 2, 4, 64):
        if shape[0] > distance:
            pairs = zero[distance:] * zero[:-distance]
            assert abs(pairs.mean().item()) < 5 / math.sqrt(pairs.numel())
    # Rows and columns have equal shares: these are sums of squares of standard normal numbers.
    for axis, length in ((0, shape[0]), (1, shape[1])):
        if length > 1000 or shape[1 - axis] > 1000:
            sums = zero.sum(axis) / math.sqrt(length)
            k = len(sums)
            assert abs((sums**2).sum().item() - k) < 6 * math.sqrt(2 * k) + 6


def test_triples_are_independent_too() -> None:
    zero = (factors(0.5, 8000, 128) == 0).double() * 2 - 1
    for one, other in ((1, 2), (1, 16), (16, 17), (16, 32)):
        triples = zero[:, : -(one + other)] * zero[:, one:-other] * zero[:, one + other :]
        assert abs(triples.mean().item()) < 5 / math.sqrt(triples.numel())


def test_similar_seeds_give_independent_masks() -> None:
    p, shape = 0.3, (4000, 128)
    spread = p * (1 - p)
    seeds = [0, 1, 2, 3, 1 << 31, 1 << 32, (1 << 63) - 1, -(1 << 63), -1, 0x9E3779B97F4A7C15 - (1 << 64)]
    zeros = [((factors(p, *shape, seed=seed) == 0).double() - p) for seed in seeds]
    n = math.prod(shape)
    for i, one in enumerate(zeros):
        for other in zeros[:i]:
            assert abs((one * other).mean().item()) < 5.5 * spread / math.sqrt(n)


def test_a_mask_depends_on_its_seed_alone() -> None:
    assert torch.equal(factors(0.3, 50, 70, seed=9), factors(0.3, 50, 70, seed=9))
    assert torch.equal(factors(0.3, 50, 70, seed=9)[:20], factors(0.3, 20, 70, seed=9))


@pytest.mark.parametrize("d", [1, 16, 31, 32, 33, 96, 515, 1100])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_masks_equal_keep_mask(d: int, p: float) -> None:
    """Bit for bit: `keep_mask` is the formula in PyTorch."""
    generator = torch.Generator().manual_seed(d)
    seeds = torch.randint(-(1 << 63), (1 << 63) - 1, (40,), generator=generator)
    for site in (0, 1, 63):
        kept = residual.dropout(torch.ones(40, d), Mask(seeds, site, p)) != 0
        assert torch.equal(kept, keep_mask(seeds, site, d, round(p * 65536)))


def test_sites_give_independent_masks() -> None:
    p, shape = 0.3, (4000, 128)
    zeros = [((factors(p, *shape, site=site) == 0).double() - p) for site in range(4)]
    for i, one in enumerate(zeros):
        for other in zeros[:i]:
            assert abs((one * other).mean().item()) < 5 * p * (1 - p) / math.sqrt(math.prod(shape))


def test_seeds_that_do_not_fit_are_refused() -> None:
    x = torch.ones(3, 8)
    for seeds in (torch.arange(2), torch.arange(3, dtype=torch.int32), torch.arange(6)[::2]):
        with pytest.raises(ValueError, match="3 rows need as many 64-bit seeds"):
            residual.dropout(x, Mask(seeds, 0, 0.5))


@pytest.mark.parametrize("kind", ["post", "pre"])
def test_the_layer_uses_the_kernel_where_it_can(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Residual(48, 0.4, kind, site=2)
    x, y = random(5, 7, 48, seed=1), random(5, 7, 48, seed=2)
    seeds = torch.randint(-(1 << 63), (1 << 63) - 1, (5, 7))

    calls = []
    for name in ("dropout", "dropout_add", "dropout_add_norm"):
        right = getattr(residual, name)
        monkeypatch.setattr(residual, name, lambda *a, name=name, right=right: calls.append(name) or right(*a))
    fused = layer(x, lambda _: y, seeds)
    assert calls == [{"post": "dropout_add_norm", "pre": "dropout_add"}[kind]]
    # The same as the formula, with the mask of these seeds.
    plain = x + Dropout(0.4, site=2)(y.double(), seeds).float()
    torch.testing.assert_close(fused, layer.norm(plain) if kind == "post" else plain, rtol=1e-5, atol=1e-5)

    calls.clear()
    layer.double()
    layer(x.double(), lambda _: y.double(), seeds)
    layer.float().eval()
    torch.testing.assert_close(layer(x, lambda _: y, seeds), layer.norm(x + y) if kind == "post" else x + y)
    layer.train()
    layer(x.transpose(0, 1), lambda _: y.transpose(0, 1), seeds.T.contiguous())
    assert calls == []


@pytest.mark.parametrize("kind", ["post", "pre"])
def test_a_model_has_dropout_in_the_published_places_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On each sub-layer's output and on embeddings + positions: 3 per decoder layer, 2 per encoder layer, 2 more."""
    calls, masks = [], set()
    for name in ("dropout", "dropout_add", "dropout_add_norm"):
        right = getattr(residual, name)

        def counted(*a, name=name, right=right):
            (used,) = (one for one in a if isinstance(one, Mask))
            calls.append((name, used.p))
            masks.add((used.site, tuple(used.seeds.flatten().tolist())))
            return right(*a)

        monkeypatch.setattr(residual, name, counted)
    model = Transformer(small_config(dropout=0.37, norm=kind), Vocabulary(VOCABULARY)).train()
    model(torch.tensor([[5, 6, 7]]), torch.tensor([[0, 8, 9, 10]]))
    around = {"post": "dropout_add_norm", "pre": "dropout_add"}[kind]
    assert sorted(calls) == [("dropout", 0.37)] * 2 + [(around, 0.37)] * (2 * 2 + 2 * 3)
    assert len(masks) == len(calls)  # each has a mask of its own
