"""The compiled decoder beside the plain model in twice the precision."""

import copy

import pytest
import torch

from heed.config import ModelConfig
from heed.kernels.decoder import CompiledDecoder
from heed.model.incremental import IncrementalDecoder, to_add
from heed.model.int8 import ByPyTorch, Compiled, int8_encoder
from heed.model.transformer import Transformer
from tests.model.hypotheses import walk

SHAPES = {
    "post": ModelConfig(encoder_layers=1, decoder_layers=2, d_model=64, d_ff=96, h=2),
    "pre": ModelConfig(encoder_layers=1, decoder_layers=3, d_model=64, d_ff=48, h=1, norm="pre"),
    "odd": ModelConfig(encoder_layers=1, decoder_layers=2, d_model=20, d_ff=33, h=3, d_k=7, d_v=19),
    "wide": ModelConfig(encoder_layers=1, decoder_layers=1, d_model=40, d_ff=50, h=2, d_k=32, d_v=80),
    "one": ModelConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, h=1, positions="learned"),
}


@pytest.fixture(params=SHAPES)
def model(request):
    torch.manual_seed(7)
    model = Transformer(SHAPES[request.param], 37).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases do something, too
            parameter += 0.2 * torch.randn_like(parameter)
    if not CompiledDecoder.can_do(model.embedding.weight):
        pytest.skip("no compiler, or a PyTorch that shows no sgemm")
    return model


def ids(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(3, 37, shape, generator=torch.Generator().manual_seed(seed))


def near(found: torch.Tensor, exact: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), exact, atol=2e-4, rtol=2e-4)


@torch.inference_mode()
@pytest.mark.parametrize("portions", [[1] * 20, [3, 1, 16], [20]])
def test_decoding_in_portions_equals_the_plain_model(model, portions):
    src, tgt = ids(3, 19), ids(3, 20, seed=1)
    src[0, 5:] = src[2, 18:] = 0
    exact = copy.deepcopy(model).double()(src, tgt)
    decoder = IncrementalDecoder(model)
    assert decoder._compiled is not None
    past, begin = decoder.start(src), 0
    for size in portions:
        end = begin + size
        sees = to_add(torch.ones(size, end, dtype=torch.bool).tril(begin), torch.zeros(())).expand(3, -1, -1)
        position = torch.arange(begin, end).expand(3, -1) if size > 1 else begin
        found = decoder.extend(past, tgt[:, begin:end], position, None if size == 1 else sees)
        near(found, exact[:, begin:end])
        begin = end


@torch.inference_mode()
def test_hypotheses_that_part_and_merge_each_see_their_own_past(model):
    src = ids(3, 9)
    src[1, 4:] = 0
    plain = copy.deepcopy(model).double()
    for logits, source, past in walk(IncrementalDecoder(model), src, 37):
        near(logits, plain(source, past)[0, -1])


@torch.inference_mode()
def test_8_bits_are_those_of_pytorch(model):
    """But for a number now and then that falls to the other side of half a step."""
    src = ids(3, 9)
    src[1, 4:] = 0
    model = int8_encoder(model)
    compiled, by_layers = IncrementalDecoder(model, Compiled), IncrementalDecoder(model, ByPyTorch)
    assert compiled._compiled is not None and by_layers._compiled is None
    for (found, _, past), (exact, _, same_past) in zip(walk(compiled, src, 37), walk(by_layers, src, 37), strict=True):
        assert torch.equal(past, same_past)
        assert (found - exact).norm() < 0.02 * exact.norm()
