"""Head roles: what counts as which role, the lexicon that knows alignments, and heads made to have a role."""

import numpy as np
import pytest
import torch

from heed.inside import roles
from heed.inside.model1 import Model1
from heed.inside.roles import ROLES, Sample, measure_roles
from heed.model.transformer import Transformer
from heed.vocabulary import Vocabulary
from tests.conftest import EOS, small_config

# Source token n goes with target token n + 20, in reversed order, whatever stands around it.
CHANCE = np.random.default_rng(4)
PAIRS = []
for _ in range(60):
    source = CHANCE.permutation(np.arange(4, 16))[:6].tolist()
    PAIRS.append((source, [one + 20 for one in source[::-1]]))
STOPS = frozenset({3})
LAYERS = {"encoder": 2, "decoder": 2, "cross": 2}


def test_the_lexicon_finds_what_goes_with_what() -> None:
    model1 = Model1(PAIRS)
    for source, target in PAIRS[:10]:
        expected = np.zeros((7, 7), dtype=bool)
        expected[np.arange(6), np.arange(6)[::-1]] = True
        expected[6, 6] = True  # the ends
        np.testing.assert_array_equal(roles._aligned(model1, source, target), expected)


@pytest.mark.parametrize("role", ["previous", "same", "next", "end", "stop", "rare"])
def test_a_head_that_does_one_thing_is_named_by_it(monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    """Encoder head 1.2 is made to look where the role says; all others look at the first token."""
    torch.manual_seed(1)
    model = Transformer(small_config(), Vocabulary(40)).eval()
    pairs = [([5, 6, 7, 8, 9, 3][:n] + [3], [25, 26]) for n in (4, 5, 6)] + [([5, 6, 8, 9], [25])] * 9
    counts = np.bincount([one for pair in pairs for side in pair for one in side], minlength=40)

    def looked_at(source: list[int]) -> list[int]:
        ids = [*source, EOS]
        n = len(ids)
        if role in ("previous", "same", "next"):
            return [min(max(i + {"previous": -1, "same": 0, "next": 1}[role], 0), n - 1) for i in range(n)]
        if role == "end":
            return [n - 1] * n
        if role == "stop":
            return [ids.index(3) if 3 in ids else 0] * n
        return [min((i for i in range(n) if ids[i] not in (3, EOS)), key=lambda i: counts[ids[i]])] * n

    def heaviest(model: object, some: list, n_layers: object) -> dict:
        longest = max(len(source) for source, _ in some) + 1
        found = {
            kind: np.zeros((2, len(some), 2, longest if kind == "encoder" else 3), dtype=np.int64) for kind in LAYERS
        }
        for row, (source, _) in enumerate(some):
            found["encoder"][0, row, 1, : len(source) + 1] = looked_at(source)
        return found

    monkeypatch.setattr(roles, "_heaviest", heaviest)
    measured = measure_roles(model, Sample(pairs, "made"), STOPS, LAYERS, 2, lambda n: None)
    if role != "stop":  # few of the sentences have one
        assert measured.name("encoder", 0, 1) == role
    share = measured.share["encoder"][0, 1, ROLES["encoder"].index(role)]
    n_stops = sum(len(source) + 1 for source, _ in pairs if 3 in source)
    n_all = sum(len(source) + 1 for source, _ in pairs)
    n_edges = len(pairs) if role in ("previous", "next") else 0  # there is none before the first, none after the last
    expected = n_stops / n_all if role == "stop" else 1 - n_edges / n_all
    assert share == pytest.approx(expected)


def test_shares_are_those_of_the_recorded_weights() -> None:
    """On one pair, with a real model, against the weights themselves."""
    torch.manual_seed(2)
    model = Transformer(small_config(), Vocabulary(40)).eval()
    source, target = PAIRS[0]
    measured = measure_roles(model, Sample([(source, target)], "one"), STOPS, LAYERS, 2, lambda n: None)
    from heed.inside.walk import record

    walk = record(model, source, target)
    for layer in range(2):
        weights = walk[f"decoder.{layer}.self.weights"]
        same = (weights.argmax(-1) == np.arange(7)).mean(-1)
        np.testing.assert_allclose(measured.share["decoder"][layer, :, ROLES["decoder"].index("same")], same)
    # By chance: position i of n picks itself once in i + 1 (the later ones are masked).
    assert measured.chance["decoder"][ROLES["decoder"].index("same")] == pytest.approx(
        np.mean([1 / (i + 1) for i in range(7)])
    )
    assert measured.n_pairs == 1 and measured.sample == "one"
