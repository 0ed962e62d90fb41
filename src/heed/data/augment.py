"""Training pairs that are not the same in every epoch: other pieces (`text.bpe_dropout`), typing noise (`train.noise`).

What an epoch makes of a pair is a pure function of the run's seed, the epoch and the pair's number: it does not depend
on batches or processes, and nothing has to be saved to resume.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heed.config import Config
from heed.data.batch import Gathered
from heed.data.store import PairStore
from heed.text.bpe_dropout import BpeDropout, Ids
from heed.text.draws import Draws, mix
from heed.text.noise import Pair, disturbed
from heed.text.normalize import SPACE_MARK
from heed.text.tokenizer import Tokenizer

_N_SIDES = 2


def augmentation(config: Config, store: PairStore, tokenizer: Tokenizer) -> "Augmentation | None":
    """Return what a config asks for; None: pairs stay as they are."""
    return Augmentation(config, store, tokenizer) if config.text.bpe_dropout or config.train.noise else None


class Augmentation:
    """The pairs of a store, as an epoch sees them."""

    def __init__(self, config: Config, store: PairStore, tokenizer: Tokenizer) -> None:
        self._store, self._tokenizer = store, tokenizer
        self._noise, self._seed = config.train.noise, config.train.seed
        self._max_tokens = config.model.max_length + 1  # with the end token
        self._dropout = BpeDropout(tokenizer, config.text.bpe_dropout) if config.text.bpe_dropout else None

    def gather(self, epoch: int, indices: NDArray[np.integer[Any]]) -> tuple[Gathered, Gathered]:
        """Return the source and target sides of some pairs. A pair that would get too long stays as it is."""
        sides: list[list[Ids]] = [[], []]
        seed = mix(mix(self._seed) + epoch)
        for i in indices.tolist():
            stored = [side[i].astype(np.int32) for side in (self._store.source, self._store.target)]
            made = self._augmented(i, stored, seed)
            for side, ids in zip(sides, made if max(map(len, made)) <= self._max_tokens else stored, strict=True):
                side.append(ids)
        source, target = (
            (np.concatenate(side), np.array([len(ids) for ids in side], dtype=np.int64)) for side in sides
        )
        return source, target

    def _augmented(self, i: int, pair: list[Ids], seed: int) -> list[Ids]:
        draws = Draws(mix(seed ^ mix(i)))
        if draws.unit() < self._noise:
            tags, text = self._text(i)
            source, target = disturbed(text, lambda: self._other(tags, draws), draws)
            pair = [
                np.array([*ids, self._tokenizer.vocabulary.end], dtype=np.int32)
                for ids in self._tokenizer.encode_ids([f"{tags} {source}", target])
            ]
        if self._dropout is not None:
            pair = [self._dropout(ids, seed, i * _N_SIDES + side) for side, ids in enumerate(pair)]
        return pair

    def _other(self, tags: str, draws: Draws) -> Pair:
        """Return a pair to join to one with these tags. It is not joined once more, so this reads what is stored."""
        its_tags, (source, target) = self._text(draws.below(len(self._store)))
        return (source if its_tags == tags else f"{its_tags} {source}".lstrip()), target

    def _text(self, i: int) -> tuple[str, Pair]:
        """Return the tags that the source begins with, which nothing may disturb, and the rest of the pair as text."""
        source, target = (side[i].tolist() for side in (self._store.source, self._store.target))
        n = 0
        for k, piece in enumerate(self._tokenizer.pieces(source)):
            if piece in self._tokenizer.symbols:
                n = k + 1
            elif piece != SPACE_MARK:
                break
        decode = self._tokenizer.decode
        return decode(source[:n]), (decode(source[n:]), decode(target))
