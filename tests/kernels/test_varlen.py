"""Compare packed attention with equation (1) written as loops, and its gradients with autograd's, in float64."""

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
    """Return a tensor laid out like projections: the heads of a position are adjacent."""
    return torch.randn(n, h, d, generator=generator).transpose(0, 1)


def tensors(packed, h, d_k, d_v, generator):
    n, m = sum(packed.queries_B.tolist()), sum(packed.keys_B.tolist())
    return heads(h, n, d_k, generator), heads(h, m, d_k, generator), heads(h, m, d_v, generator)


def by_loops(q, k, v, packed):
    """Compute equation (1), number by number."""
    q, k, v = (x.double().numpy() for x in (q, k, v))
    out = np.zeros((*q.shape[:2], v.shape[2]))
    first_query = first_key = 0
    for n, m in zip(packed.queries_B.tolist(), packed.keys_B.tolist(), strict=True):
        for head, i in product(range(len(q)), range(n)):
            seen = range(first_key, first_key + (i + 1 if packed.causal else m))
            query = q[head, first_query + i]
            powers = [math.exp(sum(query * k[head, j]) / math.sqrt(q.shape[2])) for j in seen]
            for power, j in zip(powers, seen, strict=True):
                out[head, first_query + i] += power / sum(powers) * v[head, j]
        first_query, first_key = first_query + n, first_key + m
    return out


def sentence_by_sentence(q, k, v, packed):
    """Apply the model's explicit formula to each sentence separately."""
    contexts = []
    queries, keys = packed.queries_B.tolist(), packed.keys_B.tolist()
    for q_1, k_1, v_1 in zip(q.split(queries, 1), k.split(keys, 1), v.split(keys, 1), strict=True):
        n, m = q_1.size(1), k_1.size(1)
        may_attend = torch.ones(1, 1, n, m, dtype=torch.bool).tril() if packed.causal else None
        contexts.append(attention(q_1[None], k_1[None], v_1[None], may_attend)[0][0])
    return torch.cat(contexts, 1)


def gradients(function, inputs, grad):
    inputs = [x.detach().requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*inputs), inputs, grad)


def assert_right(q, k, v, packed):
    """Check values and gradients against the explicit formula in float64."""
    context = varlen_attention(q, k, v, packed)
    exact = [x.double() for x in (q, k, v)]
    torch.testing.assert_close(context, sentence_by_sentence(*exact, packed).float(), atol=3e-6, rtol=1e-5)
    grad = torch.randn(context.shape, generator=torch.Generator().manual_seed(9))
    ours = gradients(lambda *x: varlen_attention(*x, packed), (q, k, v), grad)
    theirs = gradients(lambda *x: sentence_by_sentence(*x, packed), exact, grad.double())
    for our, their, x in zip(ours, theirs, (q, k, v), strict=True):
        assert our.shape == x.shape
        torch.testing.assert_close(our, their.float(), atol=1e-5, rtol=1e-5)


SENTENCES = {
    "self": lengths([6, 1, 9]),
    "causal": lengths([6, 1, 9], causal=True),
    "cross": lengths([6, 1, 9], [2, 7, 9]),
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
    packed = lengths([n_queries, 2, n_queries], [n_keys, 21, 3])
    assert_right(*tensors(packed, 3, d_k, d_v, generator), packed)


@pytest.mark.parametrize("n", [1, 2, 5, 14, 16, 17, 37, 50, MAX_POSITIONS])
def test_causal(n):
    packed = lengths([n, 4, n], causal=True)
    assert_right(*tensors(packed, 2, 32, 32, torch.Generator().manual_seed(n)), packed)


def test_rows_may_be_slices_of_wider_ones():
    generator = torch.Generator().manual_seed(2)
    packed = lengths([11, 8])
    wide = torch.randn(19, 2 * (32 + 32 + 16), generator=generator)
    q, k, v = (x.view(19, 2, -1).transpose(0, 1) for x in wide.split([64, 64, 32], 1))
    assert_right(q, k, v, packed)
    contiguous = [x.contiguous() for x in (q, k, v)]  # one head after the other
    assert_right(*contiguous, packed)


def test_gradients_and_lengths_need_not_be_contiguous():
    generator = torch.Generator().manual_seed(3)
    counts = torch.tensor([[3, 0], [9, 0], [1, 0]])[:, 0]  # not contiguous
    packed = SequenceLengths(counts, counts)
    q, k, v = (x.requires_grad_() for x in tensors(packed, 2, 8, 8, generator))
    ours = torch.autograd.grad(varlen_attention(q, k, v, packed).sum(), (q, k, v))  # its gradient is an expanded scalar
    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    theirs = torch.autograd.grad(sentence_by_sentence(*exact, packed).sum(), exact)
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their.float(), atol=1e-5, rtol=1e-5)


def test_a_sentence_without_queries_changes_nothing():
    packed = lengths([0, 4], [5, 3])
    q, k, v = (x.requires_grad_() for x in tensors(packed, 2, 32, 32, torch.Generator().manual_seed(8)))
    context = varlen_attention(q, k, v, packed)
    np.testing.assert_allclose(context.detach().numpy(), by_loops(*(x.detach() for x in (q, k, v)), packed), atol=1e-6)
    for gradient in torch.autograd.grad(context.square().sum(), (k, v)):
        assert not gradient[:, :5].any() and gradient[:, 5:].all()


def test_large_scores_neither_overflow_nor_vanish():
    packed = lengths([13, 5])
    q, k, v = tensors(packed, 2, 32, 32, torch.Generator().manual_seed(4))
    context = varlen_attention(30 * q, 30 * k, v, packed)
    expected = sentence_by_sentence(30 * q.double(), 30 * k.double(), v.double(), packed)
    torch.testing.assert_close(context, expected.float(), atol=2e-3, rtol=0)  # float32 has such scores only to 1e-4


def test_nan_stays_in_its_query():
    packed = lengths([5, 5])
    q, k, v = tensors(packed, 1, 32, 32, torch.Generator().manual_seed(5))
    q[0, 2, 7] = math.nan
    not_numbers = varlen_attention(q, k, v, packed).isnan()
    assert not_numbers[0, 2].all() and not_numbers.sum() == 32


def test_without_a_gradient_the_same():
    packed = lengths([14, 30, 2], causal=True)
    q, k, v = (x.requires_grad_() for x in tensors(packed, 2, 32, 32, torch.Generator().manual_seed(7)))
    with torch.inference_mode():
        once = varlen_attention(q.detach(), k.detach(), v.detach(), packed)
    assert torch.equal(once, varlen_attention(q, k, v, packed))


@pytest.mark.parametrize("queries, keys", [([3, 3], [3, 4]), ([3, 4], [3, 3]), ([7], [7])])
def test_sizes_that_do_not_match_the_lengths_are_refused(queries, keys):
    x = torch.randn(2, 6, 8)
    with pytest.raises(ValueError, match="do not match"):
        varlen_attention(x, x, x, lengths(queries, keys))


@pytest.mark.parametrize("change", [torch.Tensor.double, lambda x: x.mT.contiguous().mT], ids=["float64", "columns"])
def test_rows_the_kernel_cannot_take_are_refused(change):
    x = torch.randn(2, 6, 8)
    with pytest.raises(ValueError, match="must be float32 on the CPU with contiguous rows"):
        varlen_attention(x, change(x), x, lengths([6]))


@pytest.mark.parametrize(
    "packed", [lengths([6, 0], [6]), SequenceLengths(torch.tensor([6]).int(), torch.tensor([6]).int())]
)
def test_lengths_the_kernel_cannot_take_are_refused(packed):
    x = torch.randn(2, 6, 8)
    with pytest.raises(ValueError, match="must be int64 tensors of the same size"):
        varlen_attention(x, x, x, packed)


def test_other_weights_and_lengths_are_left_to_pytorch():
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
