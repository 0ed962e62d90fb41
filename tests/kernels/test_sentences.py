"""Attention of whole sentences against equation (1) written as loops, in float64; the gradient against its numbers."""

import math
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import torch

from heed.config import ModelConfig
from heed.kernels import sentences
from heed.kernels.library import library
from heed.kernels.sentences import LONGEST, attend_sentences
from heed.model.attention import attention
from heed.model.transformer import Transformer

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def by_kernel(monkeypatch):
    """Nothing here is to be handed on to PyTorch's kernel unseen."""

    def refuse(*_, **__):
        raise AssertionError("this went to PyTorch's kernel")

    monkeypatch.setattr(sentences.F, "scaled_dot_product_attention", refuse)


def padding(n_sentences, n_keys, generator):
    lengths = torch.randint(1, n_keys + 1, (n_sentences, 1), generator=generator)
    return (torch.arange(n_keys) < lengths)[:, None, None, :]


def causal(n):
    return torch.ones(n, n, dtype=torch.bool).tril()[None, None]


def heads(n_sentences, h, length, d, generator):
    """As projections give them: the heads of a position side by side."""
    return torch.randn(n_sentences, length, h, d, generator=generator).transpose(1, 2)


def by_loops(q, k, v, may_attend):
    """Equation (1), number by number."""
    q, k, v = (x.double().numpy() for x in (q, k, v))
    n_sentences, h, n_queries, d_k = q.shape
    out = np.zeros((n_sentences, h, n_queries, v.shape[3]))
    sees = np.ones((n_sentences, 1, n_queries, k.shape[2]), dtype=bool)
    if may_attend is not None:
        sees &= may_attend.numpy()
    for b, head, i in product(range(n_sentences), range(h), range(n_queries)):
        seen = [j for j in range(k.shape[2]) if sees[b, 0, i, j]]
        powers = [math.exp(sum(q[b, head, i] * k[b, head, j]) / math.sqrt(d_k)) for j in seen]
        for power, j in zip(powers, seen, strict=True):
            out[b, head, i] += power / sum(powers) * v[b, head, j]
    return out


def slopes(function, tensors, above):
    inputs = [x.detach().requires_grad_() for x in tensors]
    return torch.autograd.grad(function(*inputs), inputs, above)


def assert_right(q, k, v, may_attend):
    """Values and gradients; those that are expected come from the explicit formula in float64."""
    context = attend_sentences(q, k, v, may_attend)
    exact = [x.double() for x in (q, k, v)]
    expected = attention(*exact, may_attend)[0]
    torch.testing.assert_close(context, expected.float(), atol=3e-6, rtol=1e-5)
    above = torch.randn(context.shape, generator=torch.Generator().manual_seed(9))
    ours = slopes(lambda *x: attend_sentences(*x, may_attend), (q, k, v), above)
    theirs = slopes(lambda *x: attention(*x, may_attend)[0], exact, above.double())
    for our, their, x in zip(ours, theirs, (q, k, v), strict=True):
        assert our.shape == x.shape
        torch.testing.assert_close(our, their.float(), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mask", [None, "padding", "causal", "both", "any"])
def test_equals_the_loops(mask):
    generator = torch.Generator().manual_seed(1)
    q, k, v = (heads(3, 2, 6, d, generator) for d in (5, 5, 7))
    may_attend = {
        None: None,
        "padding": padding(3, 6, generator),
        "causal": causal(6),
        "both": padding(3, 6, generator) & causal(6),
        "any": (torch.rand(3, 1, 6, 6, generator=generator) < 0.5) | torch.eye(6, dtype=torch.bool),
    }[mask]
    ours = attend_sentences(q, k, v, may_attend)
    np.testing.assert_allclose(ours.numpy(), by_loops(q, k, v, may_attend), atol=1e-6)
    assert_right(q, k, v, may_attend)


@pytest.mark.parametrize("d_k, d_v", [(32, 32), (64, 64), (16, 48), (7, 9), (33, 20), (1, 1)])
@pytest.mark.parametrize("n_queries, n_keys", [(1, 1), (1, 19), (14, 14), (17, 5), (3, 40), (33, 63), (LONGEST, 49)])
def test_any_size(n_queries, n_keys, d_k, d_v):
    generator = torch.Generator().manual_seed(n_queries * 1000 + n_keys)
    q, k, v = (heads(2, 3, n, d, generator) for n, d in ((n_queries, d_k), (n_keys, d_k), (n_keys, d_v)))
    assert_right(q, k, v, None)
    assert_right(q, k, v, padding(2, n_keys, generator))
    assert_right(q, k, v, padding(2, n_keys, generator).flip(3))
    holes = torch.rand(2, 1, n_queries, n_keys, generator=generator) < 0.3
    holes[..., n_keys // 2] = True  # every query sees something
    assert_right(q, k, v, holes)


@pytest.mark.parametrize("n", [1, 2, 5, 14, 16, 17, 37, 50, LONGEST])
def test_causal(n):
    generator = torch.Generator().manual_seed(n)
    assert_right(*(heads(2, 2, n, 32, generator) for _ in range(3)), causal(n))


def test_rows_may_be_part_of_wider_ones():
    generator = torch.Generator().manual_seed(2)
    wide = torch.randn(3, 11, 2 * (32 + 32 + 16), generator=generator)
    q, k, v = (x.view(3, 11, 2, -1).transpose(1, 2) for x in wide.split([64, 64, 32], 2))
    assert_right(q, k, v, padding(3, 11, generator))
    contiguous = [x.contiguous() for x in (q, k, v)]  # a head after the other
    assert_right(*contiguous, causal(11))


def test_masks_and_slopes_may_be_laid_out_in_any_way():
    generator = torch.Generator().manual_seed(3)
    q, k, v = (heads(4, 2, 9, 8, generator).requires_grad_() for _ in range(3))
    lengths = torch.tensor([[3, 9, 1, 6]])
    assert_right(q, k, v, (torch.arange(9)[:, None] < lengths).T[:, None, None, :])  # sentences side by side
    ours = torch.autograd.grad(attend_sentences(q, k, v, None).sum(), (q, k, v))  # a slope that is one number
    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    for our, their in zip(ours, torch.autograd.grad(attention(*exact)[0].sum(), exact), strict=True):
        torch.testing.assert_close(our, their.float(), atol=1e-5, rtol=1e-5)


def test_large_scores_neither_overflow_nor_vanish():
    generator = torch.Generator().manual_seed(4)
    q, k, v = (heads(2, 2, 13, 32, generator) for _ in range(3))
    context = attend_sentences(30 * q, 30 * k, v, None)
    expected = attention(30 * q.double(), 30 * k.double(), v.double())[0]
    torch.testing.assert_close(context, expected.float(), atol=2e-3, rtol=0)  # scores are known to 1e-4 only


def test_what_is_not_a_number_stays_so():
    generator = torch.Generator().manual_seed(5)
    q, k, v = (heads(1, 1, 5, 32, generator) for _ in range(3))
    q[0, 0, 2, 7] = math.nan
    not_numbers = attend_sentences(q, k, v, None).isnan()
    assert not_numbers[0, 0, 2].all() and not_numbers.sum() == 32


def test_a_query_that_sees_nothing_gets_nothing():
    generator = torch.Generator().manual_seed(6)
    q, k, v = (heads(2, 2, 6, 32, generator).requires_grad_() for _ in range(3))
    may_attend = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    may_attend[0, 0, 4] = False
    may_attend[1] = False
    context = attend_sentences(q, k, v, may_attend)
    assert not context[0, :, 4].any() and not context[1].any() and context[0, :, 3].all()
    for slope in torch.autograd.grad(context, (q, k, v), torch.ones_like(context)):
        assert slope.isfinite().all() and not slope[1].any() and slope[0].any()


def test_without_a_gradient_the_same():
    generator = torch.Generator().manual_seed(7)
    q, k, v = (heads(3, 2, 14, 32, generator).requires_grad_() for _ in range(3))
    with torch.inference_mode():
        once = attend_sentences(q.detach(), k.detach(), v.detach(), causal(14))
    assert torch.equal(once, attend_sentences(q, k, v, causal(14)))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.double(),
        lambda x: x.bfloat16(),
        lambda x: x.repeat(1, 1, LONGEST, 1),
        lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    ],
    ids=["float64", "bfloat16", "long", "columns"],
)
def test_the_rest_goes_to_pytorch(change):
    x = change(torch.randn(2, 2, 3, 8))
    with pytest.raises(AssertionError, match="went to PyTorch's"):
        attend_sentences(x, x, x, None)


def test_several_threads_go_to_pytorch():
    x = torch.randn(2, 2, 3, 8)
    torch.set_num_threads(2)
    try:
        with pytest.raises(AssertionError, match="went to PyTorch's"):
            attend_sentences(x, x, x, None)
    finally:
        torch.set_num_threads(1)


GRADIENTS = """
import sys, torch
from heed.config import ModelConfig
from heed.model.transformer import Transformer
torch.set_num_threads(1)
torch.manual_seed(1)
model = Transformer(ModelConfig(encoder_layers=2, decoder_layers=2, d_model=64, d_ff=96, h=2, dropout=0.0), 50)
src, tgt = torch.randint(3, 50, (5, 13)), torch.randint(3, 50, (5, 18))
src[1, 7:] = src[3, 12:] = tgt[2, 5:] = 0
torch.nn.functional.cross_entropy(model(src, tgt).flatten(0, 1), tgt.flatten()).backward()
torch.save([p.grad for p in model.parameters()], sys.argv[1])
"""


def test_a_model_learns_the_same_with_and_without(tmp_path):
    gradients = []
    for setting in ("on", "off"):
        file, environment = tmp_path / setting, {**os.environ, "HEED_KERNELS": setting}
        subprocess.run([sys.executable, "-c", GRADIENTS, str(file)], env=environment, check=True)
        gradients.append(torch.load(file))
    assert any((ours != theirs).any() for ours, theirs in zip(*gradients, strict=True))  # two ways indeed
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


def test_it_is_the_attention_of_the_model(monkeypatch):
    calls, call = [], sentences._call

    def counted(function, *arguments):
        calls.append(function)
        call(function, *arguments)

    monkeypatch.setattr(sentences, "_call", counted)
    config = ModelConfig(encoder_layers=2, decoder_layers=3, d_model=32, d_ff=48, h=2, dropout=0.0)
    Transformer(config, 20)(torch.full((2, 4), 5), torch.full((2, 6), 7)).sum().backward()
    assert calls.count("heed_sentences") == calls.count("heed_sentences_slope") == 2 + 2 * 3
