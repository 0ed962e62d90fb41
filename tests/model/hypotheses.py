"""A random search: hypotheses branch and merge, and a sentence leaves the batch."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from heed.model.compiled import CompiledTransformer
from heed.model.transformer import Transformer

STEPS, WIDTH = 25, 4  # many more slots than the cache has at first


def walk(
    model: Transformer | CompiledTransformer, src_BS: Tensor, vocabulary: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield, at some of the steps and for every hypothesis, its logits, its source_1S, and its past_1T."""
    random = np.random.default_rng(5)
    state = model.start(src_BS)
    past, kept = [[[0]] for _ in range(3)], [0, 1, 2]
    for t in range(STEPS):
        newest = torch.tensor([[one[-1] for one in several] for several in past])
        logits, state = model.step(newest, state)
        if t % 6 == 1 or t == STEPS - 1:
            for b, several in enumerate(past):
                for w, one in enumerate(several):
                    yield logits[b, w], src_BS[kept[b] : kept[b] + 1], torch.tensor([one])
        rows = [0, 2] if t == 12 else list(range(len(past)))  # a sentence leaves
        parents = random.integers(0, len(past[0]), (len(rows), WIDTH))
        state = state.select(torch.tensor(rows), torch.from_numpy(parents))
        past = [
            [[*past[row][parent], int(random.integers(3, vocabulary))] for parent in several]
            for row, several in zip(rows, parents.tolist(), strict=True)
        ]
        kept = [kept[row] for row in rows]
