"""Attention of whole sentences against equation (1) written as loops, in float64; the gradient against its numbers."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from heed.kernels.library import library
from heed.kernels.varlen import MAX_POSITIONS, SequenceLengths, supports, varlen_attention
from heed.model.attention import attention

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


def lengths(queries, keys=None, causal=False):
    return SequenceLengths(torch.tensor(queries), torch.tensor(queries if keys is None else keys), causal)


def heads(h, n, d, generator):
    """As projections give them: the heads of a position side by side."""
    return torch.randn(n, h, d, generator=generator).transpose(0, 1)


def tensors(sees, h, d_k, d_v, generator):
    n, m = sum(sees.queries_B.tolist()), sum(sees.keys_B.tolist())
    return heads(h, n, d_k, generator), heads(h, m, d_k, generator), heads(h, m, d_v, generator)


def by_loops(q, k, v, sees):
    """Equation (1), number by number."""
    q, k, v = (x.double().numpy() for x in (q, k, v))
    out = np.zeros((*q.shape[:2], v.shape[2]))
    first_query = first_key = 0
    for n, m in zip(sees.queries_B.tolist(), sees.keys_B.tolist(), strict=True):
        for head, i in product(range(len(q)), range(n)):
            seen = range(first_key, first_key + (i + 1 if sees.causal else m))
            query = q[head, first_query + i]
            powers = [math.exp(sum(query * k[head, j]) / math.sqrt(q.shape[2])) for j in seen]
            for power, j in zip(powers, seen, strict=True):
                out[head, first_query + i] += power / sum(powers) * v[head, j]
        first_query, first_key = first_query + n, first_key + m
    return out


def sentence_by_sentence(q, k, v, sees):
    """The explicit formula of the model, of each sentence alone."""
    contexts = []
    queries, keys = sees.queries_B.tolist(), sees.keys_B.tolist()
    for q_1, k_1, v_1 in zip(q.split(queries, 1), k.split(keys, 1), v.split(keys, 1), strict=True):
        n, m = q_1.size(1), k_1.size(1)
        may_attend = torch.ones(1, 1, n, m, dtype=torch.bool).tril() if sees.causal else None
        contexts.append(attention(q_1[None], k_1[None], v_1[None], may_attend)[0][0])
    return torch.cat(contexts, 1)


def slopes(function, inputs, above):
    inputs = [x.detach().requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*inputs), inputs, above)


def assert_right(q, k, v, sees):
    """Values and gradients; those that are expected come from the explicit formula in float64."""
    context = varlen_attention(q, k, v, sees)
    exact = [x.double() for x in (q, k, v)]
    torch.testing.assert_close(context, sentence_by_sentence(*exact, sees).float(), atol=3e-6, rtol=1e-5)
    above = torch.randn(context.shape, generator=torch.Generator().manual_seed(9))
    ours = slopes(lambda *x: varlen_attention(*x, sees), (q, k, v), above)
    theirs = slopes(lambda *x: sentence_by_sentence(*x, sees), exact, above.double())
    for our, their, x in zip(ours, theirs, (q, k, v), strict=True):
        assert our.shape == x.shape
        torch.testing.assert_close(our, their.float(), atol=1e-5, rtol=1e-5)


SENTENCES = {
    "own": lengths([6, 1, 9]),
    "causal": lengths([6, 1, 9], causal=True),
    "source": lengths([6, 1, 9], [2, 7, 9]),
    "one": lengths([5]),
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_equals_the_loops(kind):
    q, k, v = tensors(SENTENCES[kind], 2, 5, 7, torch.Generator().manual_seed(1))
    ours = varlen_attention(q, k, v, SENTENCES[kind])
    np.testing.assert_allclose(ours.numpy(), by_loops(q, k, v, SENTENCES[kind]), atol=1e-6)
    assert_right(q, k, v, SENTENCES[kind])


@pytest.mark.parametrize("d_k, d_v", [(32, 32), (64, 64), (16, 48), (7, 9), (33, 20), (1, 1)])
@pytest.mark.parametrize(
    "n_queries, n_keys", [(1, 1), (1, 19), (14, 14), (17, 5), (3, 40), (33, 63), (MAX_POSITIONS, 49)]
)
def test_any_size(n_queries, n_keys, d_k, d_v):
    generator = torch.Generator().manual_seed(n_queries * 1000 + n_keys)
    sees = lengths([n_queries, 2, n_queries], [n_keys, 21, 3])
    assert_right(*tensors(sees, 3, d_k, d_v, generator), sees)


@pytest.mark.parametrize("n", [1, 2, 5, 14, 16, 17, 37, 50, MAX_POSITIONS])
def test_causal(n):
    sees = lengths([n, 4, n], causal=True)
    assert_right(*tensors(sees, 2, 32, 32, torch.Generator().manual_seed(n)), sees)


def test_rows_may_be_part_of_wider_ones():
    generator = torch.Generator().manual_seed(2)
    sees = lengths([11, 8])
    wide = torch.randn(19, 2 * (32 + 32 + 16), generator=generator)
    q, k, v = (x.view(19, 2, -1).transpose(0, 1) for x in wide.split([64, 64, 32], 1))
    assert_right(q, k, v, sees)
    contiguous = [x.contiguous() for x in (q, k, v)]  # a head after the other
    assert_right(*contiguous, sees)


def test_slopes_and_counts_may_be_laid_out_in_any_way():
    generator = torch.Generator().manual_seed(3)
    counts = torch.tensor([[3, 0], [9, 0], [1, 0]])[:, 0]  # not side by side
    sees = SequenceLengths(counts, counts)
    q, k, v = (x.requires_grad_() for x in tensors(sees, 2, 8, 8, generator))
    ours = torch.autograd.grad(varlen_attention(q, k, v, sees).sum(), (q, k, v))  # a slope that is one number
    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    theirs = torch.autograd.grad(sentence_by_sentence(*exact, sees).sum(), exact)
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their.float(), atol=1e-5, rtol=1e-5)


def test_a_sentence_without_queries_changes_nothing():
    sees = lengths([0, 4], [5, 3])
    q, k, v = (x.requires_grad_() for x in tensors(sees, 2, 32, 32, torch.Generator().manual_seed(8)))
    context = varlen_attention(q, k, v, sees)
    np.testing.assert_allclose(context.detach().numpy(), by_loops(*(x.detach() for x in (q, k, v)), sees), atol=1e-6)
    for slope in torch.autograd.grad(context.square().sum(), (k, v)):
        assert not slope[:, :5].any() and slope[:, 5:].all()


def test_large_scores_neither_overflow_nor_vanish():
    sees = lengths([13, 5])
    q, k, v = tensors(sees, 2, 32, 32, torch.Generator().manual_seed(4))
    context = varlen_attention(30 * q, 30 * k, v, sees)
    expected = sentence_by_sentence(30 * q.double(), 30 * k.double(), v.double(), sees)
    torch.testing.assert_close(context, expected.float(), atol=2e-3, rtol=0)  # scores are known to 1e-4 only


def test_what_is_not_a_number_stays_so():
    sees = lengths([5, 5])
    q, k, v = tensors(sees, 1, 32, 32, torch.Generator().manual_seed(5))
    q[0, 2, 7] = math.nan
    not_numbers = varlen_attention(q, k, v, sees).isnan()
    assert not_numbers[0, 2].all() and not_numbers.sum() == 32


def test_without_a_gradient_the_same():
    sees = lengths([14, 30, 2], causal=True)
    q, k, v = (x.requires_grad_() for x in tensors(sees, 2, 32, 32, torch.Generator().manual_seed(7)))
    with torch.inference_mode():
        once = varlen_attention(q.detach(), k.detach(), v.detach(), sees)
    assert torch.equal(once, varlen_attention(q, k, v, sees))


@pytest.mark.parametrize("queries, keys", [([3, 3], [3, 4]), ([3, 4], [3, 3]), ([7], [7])])
def test_rows_that_are_not_the_sentences_are_refused(queries, keys):
    x = torch.randn(2, 6, 8)
    with pytest.raises(ValueError, match="do not fit"):
        varlen_attention(x, x, x, lengths(queries, keys))


@pytest.mark.parametrize("change", [torch.Tensor.double, lambda x: x.mT.contiguous().mT], ids=["float64", "columns"])
def test_rows_the_kernel_cannot_take_are_refused(change):
    x = torch.randn(2, 6, 8)
    with pytest.raises(ValueError, match="not rows of float32"):
        varlen_attention(x, change(x), x, lengths([6]))


@pytest.mark.parametrize(
    "sees", [lengths([6, 0], [6]), SequenceLengths(torch.tensor([6]).int(), torch.tensor([6]).int())]
)
def test_counts_the_kernel_cannot_take_are_refused(sees):
    x = torch.randn(2, 6, 8)
    with pytest.raises(ValueError, match="not as many counts"):
        varlen_attention(x, x, x, sees)


def test_what_else_there_is_goes_to_pytorch():
    weight = torch.randn(3, 3)
    assert supports(weight, MAX_POSITIONS)
    assert not supports(weight, MAX_POSITIONS + 1)
    assert not supports(weight.double(), 5)
    with torch.autocast("cpu"):
        assert not supports(weight, 5)
    torch.set_num_threads(2)
    try:
        assert not supports(weight, 5)
    finally:
        torch.set_num_threads(1)
