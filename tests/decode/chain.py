"""A step function without a model: probabilities depend on the sentence and its last two tokens."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from heed.decode.model_step import TensorScores

START, END = 0, 1


@dataclass
class ChainState:
    sentences_B: np.ndarray
    histories: list[list[tuple[int, ...]]]  # of each hypothesis of each sentence

    def select(self, sentences_B: np.ndarray, parents_BW: np.ndarray) -> "ChainState":
        assert len(sentences_B), "a search selects at least one sentence"
        histories = [
            [self.histories[b][w] for w in row]
            for b, row in zip(sentences_B.tolist(), parents_BW.tolist(), strict=True)
        ]
        return ChainState(self.sentences_B[sentences_B], histories)


class Chain:
    """A step function that records its batch sizes, with an exhaustive search to compare with."""

    def __init__(self, vocabulary: int = 5, seed: int = 0, sharpness: float = 2.0) -> None:
        self.vocabulary, self.seed, self.sharpness = vocabulary, seed, sharpness
        self.sizes: list[tuple[int, int]] = []

    def start(self, n: int, width: int = 1) -> ChainState:
        return ChainState(np.arange(n), [[() for _ in range(width)] for _ in range(n)])

    def logprobs(self, sentence: int, history: tuple[int, ...]) -> list[float]:
        context = [sentence, *history[-2:], len(history)]
        seed = self.seed + sum(value * 31**i for i, value in enumerate(context))
        logits = self.sharpness * torch.randn(
            self.vocabulary, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        )
        logits[START] = -math.inf
        return logits.log_softmax(0).tolist()

    def __call__(self, ids_BW: np.ndarray, state: ChainState) -> tuple[TensorScores, ChainState]:
        self.sizes.append(tuple(ids_BW.shape))
        histories = [
            [(*history, token) if token != START else history for history, token in zip(row, tokens, strict=True)]
            for row, tokens in zip(state.histories, ids_BW.tolist(), strict=True)
        ]
        rows = [
            [self.logprobs(sentence, history) for history in row]
            for sentence, row in zip(state.sentences_B.tolist(), histories, strict=True)
        ]
        return TensorScores(torch.tensor(rows, dtype=torch.float64)), ChainState(state.sentences_B, histories)

    def log_probability(self, sentence: int, ids: list[int], finished: bool = True) -> float:
        """Score a sequence by forced decoding, written as a loop."""
        total = 0.0
        for t, token in enumerate([*ids, END] if finished else ids):
            total += self.logprobs(sentence, tuple(ids[:t]))[token]
        return total

    def everything(self, sentence: int, limit: int, alpha: float) -> list[tuple[float, list[int]]]:
        """Return every finished sequence of at most `limit` tokens with its score, best first."""
        found = []
        for length in range(limit):
            for ids in itertools.product(range(2, self.vocabulary), repeat=length):
                score = self.log_probability(sentence, list(ids)) / ((5 + length + 1) / 6) ** alpha
                found.append((score, list(ids)))
        return sorted(found, reverse=True)
