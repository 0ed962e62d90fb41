"""The best symbols, beside PyTorch's own softmax and sort."""

import math

import pytest
import torch

from heed.decode.candidates import best_symbols


@pytest.mark.parametrize("vocabulary", [1, 5, 31, 64, 257, 511, 512, 8_000, 8_003])
@pytest.mark.parametrize("n", [1, 2, 8, 20])
@pytest.mark.parametrize("never", [(), (0, 3)])
@pytest.mark.parametrize("constrained", [False, True])
def test_the_best_are_those_of_a_full_sort(vocabulary, n, never, constrained):
    random = torch.Generator().manual_seed(vocabulary + n)
    logits = 5 * torch.randn(6, vocabulary, generator=random, dtype=torch.float64)
    never = tuple(symbol for symbol in never if symbol < vocabulary - 1)
    logits[0, list(never)] = 90.0  # probable, but not offered
    allowed = torch.rand(6, vocabulary, generator=random) < 0.3 if constrained else None

    expected = logits.log_softmax(1)
    expected[:, list(never)] = -math.inf
    if allowed is not None:
        expected[~allowed] = -math.inf
    values, places = expected.sort(1, descending=True)

    found, symbols = best_symbols(logits.clone(), n, never, allowed)
    n = min(n, vocabulary)
    torch.testing.assert_close(found, values[:, :n], atol=1e-10, rtol=0)
    possible = values[:, :n] > -math.inf
    assert (symbols[possible] == places[:, :n][possible]).all()


def test_large_logits_do_not_overflow():
    found, symbols = best_symbols(torch.tensor([[1e4, 1e4, -1e4], [-1e4, -1e4, -3e4]]), 2)
    assert found.tolist() == [[pytest.approx(-math.log(2))] * 2] * 2
    assert symbols.sort(1).values.tolist() == [[0, 1]] * 2
