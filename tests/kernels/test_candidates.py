"""Compare the kernel that finds continuations with a softmax and a full sort in float64."""

import math

import pytest
import torch

from heed.kernels import candidates
from heed.kernels.library import library


def best_by_kernel(live, logits, n, never):
    return map(torch.from_numpy, candidates.best_by_kernel(live.numpy(), logits.numpy(), n, never))


pytestmark = pytest.mark.skipif(library() is None, reason="no compiler")


@pytest.mark.parametrize("vocabulary", [1, 5, 255, 256, 257, 1_030, 8_003])
@pytest.mark.parametrize("n", [1, 8, 20])
@pytest.mark.parametrize("never", [(), (0, 3)])
@pytest.mark.parametrize("scale", [0.1, 5.0, 1e4])
def test_the_best_are_those_of_a_full_sort(vocabulary, n, never, scale):
    random = torch.Generator().manual_seed(vocabulary + n)
    logits = scale * torch.randn(6, 4, vocabulary, generator=random)
    live = -5 * torch.rand(6, 4, generator=random)
    live[2, 1:] = -math.inf
    never = tuple(token for token in never if token < vocabulary - 1)
    logits[0, 1, list(never)] = scale * 10  # probable, but not offered
    logits[1, 1, -1] = scale * 3  # the last of all
    if vocabulary > 5:
        logits[3, 2, 2:] = -math.inf

    expected = logits.double().log_softmax(-1) + live.double().unsqueeze(-1)
    expected[..., list(never)] = -math.inf
    n = min(n, 4 * vocabulary)
    totals = expected.flatten(1).sort(1, descending=True).values[:, :n]

    found, parents, tokens = best_by_kernel(live, logits, n, never)
    torch.testing.assert_close(found.double(), totals, atol=1e-5 * max(1, scale), rtol=1e-5)
    indices = (parents * vocabulary + tokens)[found > -math.inf]
    rows = torch.arange(6).unsqueeze(1).expand(-1, n)[found > -math.inf]
    torch.testing.assert_close(
        expected.flatten(1)[rows, indices], found[found > -math.inf].double(), atol=1e-5 * max(1, scale), rtol=1e-5
    )
    assert len({*zip(rows.tolist(), indices.tolist(), strict=True)}) == len(indices)  # none twice


def test_nan_is_not_offered():
    logits = torch.zeros(1, 2, 300)
    logits[0, 0, 7] = math.nan
    totals, parents, _ = best_by_kernel(torch.zeros(1, 2), logits, 4, ())
    assert parents.tolist() == [[1] * 4]
    assert totals.tolist() == [[pytest.approx(-math.log(300), abs=1e-5)] * 4]
