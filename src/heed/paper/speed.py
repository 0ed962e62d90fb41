"""Measure how fast this machine trains, to say what a table will cost before it starts."""

import time

import numpy as np

from heed.config import Config
from heed.data.batch import batch_of_ids
from heed.model.build import model_class
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import all_workers
from heed.vocabulary import Vocabulary

_LENGTH = 25  # tokens of a sentence
_MOST_TOKENS = 1_024  # of the update that is timed
_SECONDS = 2.0  # of timing


def seconds_per_operation(config: Config) -> float:
    """Return the time of an update divided by its operations, for a new model of this config on random sentences.

    The first update, which also allocates memory, is not timed; of those that follow, the fastest counts.
    """
    n = max(1, min(_MOST_TOKENS, config.train.micro_batch_tokens, config.train.batch_tokens) // _LENGTH)
    vocabulary = Vocabulary(config.text.vocab_size)
    draw = np.random.default_rng(1).integers(10, vocabulary.size, (2, n, _LENGTH - 1)).tolist()
    batch = batch_of_ids(draw[0], draw[1], vocabulary)
    lengths = np.full(n, _LENGTH, dtype=np.int64)
    with all_workers() as workers:
        learner = Learner(config, vocabulary, workers)
        learner.model.train()
        train_step(learner, [batch], batch.n_tokens, 1)
        began = time.perf_counter()
        seconds: list[float] = []
        while sum(seconds) < _SECONDS:
            train_step(learner, [batch], batch.n_tokens, 2 + len(seconds))
            seconds.append(time.perf_counter() - began - sum(seconds))
    return min(seconds) / float(model_class(config.model).update_operations(config.model, vocabulary, lengths, lengths))
