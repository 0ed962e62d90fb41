"""Long input for restricted attention: a copy task with a known distance, and documents made of adjacent lines."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from heed.data.batch import Batch, batch_of_ids
from heed.data.corpus import ParallelText
from heed.text.tokenizer import Tokenizer
from heed.vocabulary import Vocabulary

COPY_SYMBOLS = 8
COPY_VOCABULARY = Vocabulary(3 + COPY_SYMBOLS)  # after padding, end and unknown
_LEARN_LINES = 20_000

Document = tuple[list[int], list[int]]  # the ids of a source and its translation


def copy_batch(distance: int, n_pairs: int, seed: int) -> Batch:
    """Return targets that have a random string twice; its symbols recur after `distance` positions.

    The source is empty. So the second half can be predicted only by looking back in the target, `distance` tokens of
    it, the newest one included.
    """
    strings = np.random.default_rng(seed).integers(3, 3 + COPY_SYMBOLS, (n_pairs, distance)).tolist()
    first = seed * n_pairs
    return batch_of_ids([[]] * n_pairs, [[*one, *one] for one in strings], COPY_VOCABULARY, first)


def learn_tokenizer(text: ParallelText, vocab_size: int) -> Tokenizer:
    """Learn a joint vocabulary from the first lines of a text."""
    return Tokenizer.learn((line for pair in islice(text, _LEARN_LINES) for line in pair), vocab_size)


def documents(text: ParallelText, tokenizer: Tokenizer, pieces: int) -> Iterator[Document]:
    """Yield adjacent lines joined into documents, each as long as fits into this many pieces on both sides.

    Documents have at least one line; those that are longer are left out.
    """
    source: list[int] = []
    target: list[int] = []
    for pair in text:
        more = tokenizer.encode_ids(list(pair))
        if source and max(len(source) + len(more[0]), len(target) + len(more[1])) > pieces:
            yield source, target
            source, target = [], []
        if max(map(len, more)) <= pieces:
            source, target = source + more[0], target + more[1]
    if source:
        yield source, target


def document_of(length: int, documents_of_text: list[Document], vocabulary: Vocabulary) -> Batch:
    """Return one pair of exactly this many pieces a side, for measuring: documents repeated and cut."""
    sides = ([one for document in documents_of_text for one in document[side]] for side in (0, 1))
    ids = [(side * -(-length // len(side)))[: length - 1] for side in sides]
    return batch_of_ids([ids[0]], [ids[1]], vocabulary)
