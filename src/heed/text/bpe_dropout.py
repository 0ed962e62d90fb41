"""BPE-dropout (Provilkov et al. 2020): the same word in other pieces, so that the model sees what words are made of.

Byte-pair encoding merges the best pair of neighbouring pieces until none can be merged. Here every possible merge is
skipped with some probability, each time the next one is chosen. The outcome is a pure function of a seed, the word
and a number, so there is nothing to save for a resume.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heed.text.draws import MASK_64, mix
from heed.text.normalize import SPACE_MARK
from heed.text.tokenizer import Tokenizer

Ids = NDArray[np.int32]

_DRAWS_PER_WORD = 16  # different segmentations of a word in an epoch, at most; drawing each one takes time
_MAX_CACHED = 400_000  # segmentations


class BpeDropout:
    """Segment the words of encoded sentences differently each time."""

    def __init__(self, tokenizer: Tokenizer, probability: float) -> None:
        """
        Raises:
            TokenizerError: a vocabulary that is not byte-pair encoding.
        """
        self._probability = probability
        self._pieces = tokenizer.pieces(range(len(tokenizer)))
        self._begins_word = np.array([piece.startswith(SPACE_MARK) for piece in self._pieces])
        self._score_of = tokenizer.merge_scores()
        self._id_of = {piece: i for i, piece in enumerate(self._pieces)}
        self._cache: dict[tuple[bytes, int, int], Ids] = {}

    def __call__(self, ids: Ids, seed: int, number: int) -> Ids:
        """Return a sentence in other pieces. `seed`: of an epoch; `number`: of the sentence in it."""
        begins = np.flatnonzero(self._begins_word[ids])
        if not len(begins):
            return ids
        parts = [ids[: begins[0]]]
        for n, (begin, end) in enumerate(zip(begins.tolist(), [*begins[1:].tolist(), len(ids)], strict=True)):
            draw = mix(seed ^ mix(number * _DRAWS_PER_WORD + n)) % _DRAWS_PER_WORD
            parts.append(self._word(ids[begin:end], seed, draw))
        return np.concatenate(parts)

    def _word(self, ids: Ids, seed: int, draw: int) -> Ids:
        key = ids.tobytes(), seed, draw
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            found = self._cache[key] = self._segment(ids, mix(seed + draw) ^ _hash(key[0]))
        return found

    def _segment(self, ids: Ids, seed: int) -> Ids:
        # Bytes, special tokens and symbols are not made by merges: they stay, with all that follows them in the word.
        cut = [i for i, token in enumerate(ids.tolist()) if self._pieces[token] not in self._score_of]
        end = cut[0] if cut else len(ids)
        word = "".join(self._pieces[token] for token in ids[:end].tolist())
        found = [self._id_of[piece] for piece in merged(list(word), self._score_of, self._probability, seed)]
        return np.concatenate([np.array(found, dtype=np.int32), ids[end:]])


def merged(pieces: list[str], score_of: dict[str, float], probability: float, seed: int) -> Sequence[str]:
    """Merge neighbouring pieces, the best-scoring first, skipping each possible merge with this probability."""
    threshold = int(probability * (1 << 64))
    while len(pieces) > 1:
        best, place = None, -1
        for i in range(len(pieces) - 1):
            score = score_of.get(pieces[i] + pieces[i + 1])
            if score is None:
                continue
            seed = (seed + 0x9E3779B97F4A7C15) & MASK_64
            if mix(seed) >= threshold and (best is None or score > best):
                best, place = score, i
        if best is None:
            break
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
    return pieces


def _hash(data: bytes) -> int:
    """Return a hash that is the same in every process."""
    value = 0
    for i in range(0, len(data), 8):
        value = mix((value ^ int.from_bytes(data[i : i + 8], "little")) & MASK_64)
    return value
