"""Compare max(0, x + b) and its gradients with loops."""

import math

import numpy as np
import pytest
import torch

from heed.kernels.library import library
from heed.kernels.relu import relu_
from heed.model.feedforward import FeedForward

pytestmark = pytest.mark.skipif(library() is None, reason="needs a C compiler")


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 3, 33), (5, 256), (0, 8)])
def test_values_and_gradients(shape):
    random = np.random.default_rng(1)
    x, grad_y, bias = (random.normal(size=size).astype(np.float32) for size in (shape, shape, shape[-1:]))
    leaf, tensor_bias = torch.tensor(x, requires_grad=True), torch.tensor(bias, requires_grad=True)
    start = leaf * 1  # like the output of a linear layer: not a leaf
    y = relu_(start, tensor_bias)
    y.backward(torch.tensor(grad_y))
    assert y.data_ptr() == start.data_ptr()  # in index

    grad_bias = np.zeros(shape[-1])
    for index in np.ndindex(*shape):
        total = float(x[index] + bias[index[-1]])
        assert y[index].item() == (total if total > 0 else 0)
        assert leaf.grad[index].item() == (grad_y[index] if total > 0 else 0)
        grad_bias[index[-1]] += grad_y[index] if total > 0 else 0
    np.testing.assert_allclose(tensor_bias.grad.numpy(), grad_bias, rtol=1e-5, atol=1e-6)


def test_nan_stays_nan():
    y = relu_(torch.tensor([[math.nan, 1.0]]), torch.tensor([0.0, math.nan]))
    assert y.isnan().all()


def test_the_network_has_the_same_output_and_gradients_with_and_without():
    torch.manual_seed(1)
    network, x = FeedForward(24, 40).train(), torch.randn(6, 24, requires_grad=True)
    torch.nn.init.normal_(network.w_1.bias)
    leaves = [x, *network.parameters()]
    fused = network(x)
    assert "_Relu" in str(fused.grad_fn.next_functions)  # the kernel was used
    plain = network.w_2(network.w_1(x).relu())
    torch.testing.assert_close(fused, plain, atol=1e-6, rtol=1e-5)
    grad_y = torch.randn_like(fused)
    for one, other in zip(*(torch.autograd.grad(y, leaves, grad_y) for y in (fused, plain)), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


def test_tensors_that_are_not_contiguous_or_do_not_match_are_refused():
    for x, bias in ((torch.randn(4, 3).T, torch.zeros(4)), (torch.randn(3, 4), torch.zeros(3))):
        with pytest.raises(AssertionError):
            relu_(x, bias)
