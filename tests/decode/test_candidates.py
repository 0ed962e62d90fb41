"""Compare the best continuations with PyTorch's softmax and sort."""

import math

import pytest
import torch

from heed.decode.candidates import best_continuations


@pytest.mark.parametrize("vocabulary", [1, 5, 272, 1_030, 8_003])
@pytest.mark.parametrize("n", [1, 8, 20])
@pytest.mark.parametrize("never", [(), (0, 3)])
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("scale", [5.0, 40.0])
@pytest.mark.parametrize("n_sentences", [3, 40])
def test_the_best_are_those_of_a_full_sort(n_sentences, vocabulary, n, never, constrained, scale):
    random = torch.Generator().manual_seed(vocabulary + n)
    logits = scale * torch.randn(n_sentences, 4, vocabulary, generator=random, dtype=torch.float64)
    live = -5 * torch.rand(n_sentences, 4, generator=random, dtype=torch.float64)
    live[2, 1:] = -math.inf
    never = tuple(token for token in never if token < vocabulary - 1)
    logits[0, 1, list(never)] = scale * 10  # probable, but not offered
    logits[1, 1, -1] = scale * 3  # the last of all
    allowed = torch.rand(n_sentences, 4, vocabulary, generator=random) < 0.3 if constrained else None

    expected = logits.log_softmax(-1) + live.unsqueeze(-1)
    expected[..., list(never)] = -math.inf
    if allowed is not None:
        expected[~allowed] = -math.inf
    totals, indices = expected.flatten(1).sort(1, descending=True)

    found, parents, tokens = best_continuations(live, logits.clone(), n, never, allowed)
    n = min(n, 4 * vocabulary)
    torch.testing.assert_close(found, totals[:, :n], atol=1e-10, rtol=0)
    possible = totals[:, :n] > -math.inf
    assert ((parents * vocabulary + tokens)[possible] == indices[:, :n][possible]).all()


def test_large_logits_do_not_overflow():
    logits = torch.tensor([[[1e4, 1e4, -1e4]], [[-1e4, -1e4, -3e4]]])
    totals, parents, tokens = best_continuations(torch.zeros(2, 1), logits, 2)
    spacing = 1e4 * 2**-23  # of float32 there
    assert totals.tolist() == [[pytest.approx(-math.log(2), abs=spacing)] * 2] * 2
    assert parents.tolist() == [[0, 0]] * 2
    assert tokens.sort(1).values.tolist() == [[0, 1]] * 2
