"""The compiled decoder beside the plain model in twice the precision."""

import copy

import numpy as np
import pytest
import torch

from heed.config import ModelConfig
from heed.decode.model_step import ModelState, model_step
from heed.kernels.decoder import CompiledDecoder
from heed.model.incremental import IncrementalDecoder, to_add
from heed.model.transformer import Transformer

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
    random = np.random.default_rng(5)
    src, n_steps, width = ids(3, 9), 25, 4
    src[1, 4:] = 0
    decoder, plain = IncrementalDecoder(model), copy.deepcopy(model).double()
    step, state = model_step(decoder), ModelState(decoder.start(src))
    past, kept = [[[0]] for _ in range(3)], [0, 1, 2]
    for t in range(n_steps):
        newest = torch.tensor([[one[-1] for one in several] for several in past])
        logits, state = step(newest, state)
        if t % 6 == 1 or t == n_steps - 1:
            for b, several in enumerate(past):
                for w, one in enumerate(several):
                    near(logits[b, w], plain(src[kept[b] : kept[b] + 1], torch.tensor([one]))[0, -1])
        rows = [0, 2] if t == 12 else list(range(len(past)))  # a sentence leaves
        parents = random.integers(0, len(past[0]), (len(rows), width))
        state = state.select(torch.tensor(rows), torch.from_numpy(parents))
        past = [
            [[*past[row][parent], int(random.integers(3, 37))] for parent in several]
            for row, several in zip(rows, parents.tolist(), strict=True)
        ]
        kept = [kept[row] for row in rows]
