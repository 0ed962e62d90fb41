"""Weights of 8 bits, beside products of the full weights."""

import pytest
import torch

from heed.config import ModelConfig
from heed.kernels.library import library
from heed.model.incremental import IncrementalDecoder
from heed.model.int8 import ByPyTorch, Compiled, int8_encoder
from heed.model.transformer import Transformer

SHAPE = ModelConfig(encoder_layers=2, decoder_layers=2, d_model=32, d_ff=64, h=4, dropout=0.0)


needs_compiler = pytest.mark.skipif(library() is None, reason="no compiler")
kinds = pytest.mark.parametrize("kind", [ByPyTorch, pytest.param(Compiled, marks=needs_compiler)])


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@kinds
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_error_is_that_of_rounding_to_8_bits(kind, with_bias):
    """Loop-written bound: each of the two roundings moves a number by at most half a step of its row."""
    weight, x = random(48, 64) * torch.logspace(-3, 2, 48).unsqueeze(1), random(5, 64, seed=1) * 30
    bias = random(48, seed=2) if with_bias else None
    found = kind(weight, bias)(x)
    exact = x.double() @ weight.double().T + (0 if bias is None else bias.double())
    for r in range(5):
        for o in range(48):
            step_x, step_w = x[r].abs().max() / 127, weight[o].abs().max() / 127
            bound = sum(
                abs(a) * step_w / 2 + abs(b) * step_x / 2 + step_w * step_x / 4
                for a, b in zip(x[r].tolist(), weight[o].tolist(), strict=True)
            )
            assert abs(found[r, o] - exact[r, o]) <= bound
    assert not torch.allclose(found, exact.float(), rtol=1e-5)  # it is rounded
    assert (found - exact).norm() < 0.02 * exact.norm()


@kinds
def test_a_row_does_not_depend_on_its_neighbours(kind):
    product, x = kind(random(24, 64)), random(7, 64, seed=1)
    x[3] *= 1000
    alone = torch.cat([product(row.unsqueeze(0)) for row in x])
    assert torch.equal(product(x), alone)


@kinds
def test_zeros_stay_zeros(kind):
    assert torch.equal(kind(torch.zeros(8, 16))(random(2, 16)), torch.zeros(2, 8))
    assert torch.equal(kind(random(8, 16))(torch.zeros(2, 16)), torch.zeros(2, 8))


@needs_compiler
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 7, 65), (13, 130, 64), (64, 512, 200)])
def test_both_kinds_round_alike(sizes):
    rows, d_in, out = sizes
    weight, bias, x = random(out, d_in), random(out, seed=1), random(rows, d_in, seed=2) * 7
    torch.testing.assert_close(Compiled(weight, bias)(x), ByPyTorch(weight, bias)(x), atol=1e-5, rtol=1e-5)


@kinds
@torch.inference_mode()
def test_a_whole_model_says_nearly_the_same_and_stays_as_it_was(kind):
    torch.manual_seed(1)
    model = Transformer(SHAPE, 50).eval()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    src = torch.randint(3, 50, (3, 6), generator=torch.Generator().manual_seed(2))
    first = torch.zeros(3, 1, dtype=torch.long)
    full, rounded = IncrementalDecoder(model), IncrementalDecoder(int8_encoder(model), kind)
    exact, found = (decoder.extend(decoder.start(src), first, 0, None) for decoder in (full, rounded))
    assert 0 < (found - exact).norm() < 0.05 * exact.norm()
    assert rounded.model.embedding.weight is model.embedding.weight  # not held twice
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
