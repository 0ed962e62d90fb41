"""Compare 8-bit weights with the full weights."""

import pytest
import torch

from heed.config import ModelConfig
from heed.errors import ConfigError
from heed.kernels.library import library
from heed.model.int8 import Int8Linear, quantized
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary

SHAPE = ModelConfig(encoder_layers=2, decoder_layers=2, d_model=32, d_ff=64, h=4, dropout=0.0)

pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")


class ByIntegers(torch.nn.Module):
    """The same linear layer in PyTorch: both operands are quantised to integers, whose sums are exact in float64."""

    def __init__(self, weight_OI, bias_O=None):
        super().__init__()
        self._scale_O = weight_OI.abs().amax(1).clamp_min(1e-30) / 127
        self.weight, self._bias_O = (weight_OI / self._scale_O.unsqueeze(1)).round().double().T, bias_O

    def forward(self, x_RI):
        largest_R1 = x_RI.abs().amax(-1, keepdim=True).clamp_min(1e-30)
        y_RO = (x_RI * (127 / largest_R1)).round().double() @ self.weight * (largest_R1 / 127) * self._scale_O
        return y_RO.float() if self._bias_O is None else y_RO.float() + self._bias_O


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("with_bias", [False, True])
def test_the_error_is_that_of_rounding_to_8_bits(with_bias):
    """The bound is written as loops: each of the two roundings moves a number by at most half its row's scale."""
    weight, x = random(48, 64) * torch.logspace(-3, 2, 48).unsqueeze(1), random(5, 64, seed=1) * 30
    bias = random(48, seed=2) if with_bias else None
    found = Int8Linear(weight, bias)(x)
    exact = x.double() @ weight.double().T + (0 if bias is None else bias.double())
    for r in range(5):
        for o in range(48):
            scale_x, scale_w = x[r].abs().max() / 127, weight[o].abs().max() / 127
            bound = sum(
                abs(a) * scale_w / 2 + abs(b) * scale_x / 2 + scale_w * scale_x / 4
                for a, b in zip(x[r].tolist(), weight[o].tolist(), strict=True)
            )
            assert abs(found[r, o] - exact[r, o]) <= bound
    assert not torch.allclose(found, exact.float(), rtol=1e-5)  # it is quantised
    assert (found - exact).norm() < 0.02 * exact.norm()


def test_a_row_does_not_depend_on_its_neighbours():
    linear, x = Int8Linear(random(24, 64)), random(7, 64, seed=1)
    x[3] *= 1000
    alone = torch.cat([linear(row.unsqueeze(0)) for row in x])
    assert torch.equal(linear(x), alone)


def test_zeros_stay_zeros():
    assert torch.equal(Int8Linear(torch.zeros(8, 16))(random(2, 16)), torch.zeros(2, 8))
    assert torch.equal(Int8Linear(random(8, 16))(torch.zeros(2, 16)), torch.zeros(2, 8))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 7, 65), (13, 130, 64), (64, 512, 200)])
def test_the_result_is_that_of_integers(sizes):
    rows, d_in, out = sizes
    weight, bias, x = random(out, d_in), random(out, seed=1), random(rows, d_in, seed=2) * 7
    torch.testing.assert_close(Int8Linear(weight, bias)(x), ByIntegers(weight, bias)(x), atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_a_quantised_model_is_close_and_leaves_the_original_unchanged():
    torch.manual_seed(1)
    model = Transformer(SHAPE, Vocabulary(50)).eval()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    src = torch.randint(3, 50, (3, 6), generator=torch.Generator().manual_seed(2))
    first, quantised = torch.zeros(3, 1, dtype=torch.long), quantized(model)
    exact, found = (one.step(first, one.start(src))[0] for one in (model, quantised))
    assert 0 < (found - exact).norm() < 0.05 * exact.norm()
    assert quantised.embedding.weight is model.embedding.weight  # shared, not copied
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())


def test_the_bias_is_copied():
    """The model's bias may be converted or freed."""
    weight, bias, x = random(8, 16), random(8, seed=1), random(2, 16, seed=2)
    linear = Int8Linear(weight, bias)
    before = linear(x)
    bias.fill_(torch.nan)
    assert torch.equal(linear(x), before)


def test_weights_of_another_precision_are_refused():
    with pytest.raises(ConfigError, match="only float32 weights on the CPU can be quantised.*torch.float16 on cpu"):
        Int8Linear(random(8, 16).half())
