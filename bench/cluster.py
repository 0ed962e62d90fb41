"""Count the operations of a training (the formula of bench/NOTES.md) and measure how many one core does per second.

    OMP_NUM_THREADS=1 python bench/cluster.py

Rates are per second of processor time, so that other programs on the machine do not count. The training and a plain
matrix product take turns; the best round of each counts.
"""

import time

import torch

from heed.allocator import keep_freed_memory
from heed.config import ModelConfig
from heed.data.batch import batch_of_ids
from heed.presets import preset
from heed.training.learner import Learner
from heed.training.step import train_step
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary


def flops_per_token(model: ModelConfig, vocabulary: int, length: float) -> float:
    """Return the floating-point operations to train on one source and one target token, in sentences of this length.

    Each weight costs two operations forward (multiply and add) and four backward. Embeddings are looked up, not
    multiplied; the projection to the vocabulary is multiplied. Each attention multiplies a query with `length` keys,
    and `length` values with their weights. The rest (softmax, norms, dropout, Adam) is not counted.
    """
    d, attention, feed_forward = model.d_model, 4 * model.d_model**2, 2 * model.d_model * model.d_ff
    looks = 2 * length * d
    encoder = model.encoder_layers * (attention + feed_forward + looks)
    decoder = model.decoder_layers * (2 * attention + feed_forward + 2 * looks)
    return 6 * (encoder + decoder + vocabulary * d)


def seconds(flops: float, gpus: int, peak: float, fraction: float) -> float:
    return flops / (gpus * peak * fraction)


def measured(name: str, vocabulary: int, length: int, sentences: int) -> tuple[float, float]:
    """Return the operations per second of one core in an update, and in a product of a feed-forward layer's size."""
    config = preset(name)
    learner = Learner(config, Vocabulary(vocabulary), Workers(0, 1, torch.device("cpu")))
    ids = torch.randint(3, vocabulary, (sentences, length - 1)).tolist()
    batch = batch_of_ids(ids, ids, Vocabulary(vocabulary))
    learner.model.train()
    x = torch.randn(batch.n_tokens, config.model.d_model)
    w = torch.randn(config.model.d_model, config.model.d_ff)
    update, product = [], []
    for step in range(1, 5):
        began = time.process_time()
        train_step(learner, [batch], batch.n_tokens, step)
        update.append(time.process_time() - began)
        began = time.process_time()
        for _ in range(10):
            x @ w
        product.append((time.process_time() - began) / 10)
    of_update = batch.n_tokens * flops_per_token(config.model, vocabulary, length)
    return of_update / min(update), 2 * x.shape[0] * w.numel() / min(product)


def main() -> None:
    torch.set_num_threads(1)
    keep_freed_memory()
    for name, vocabulary, sentences in (("tiny", 8_000, 128), ("small", 16_000, 64), ("base", 37_000, 64)):
        update, product = measured(name, vocabulary, 25, sentences)
        print(
            f"{name:6} vocabulary {vocabulary:,}, {sentences} sentences of 25: update {update / 1e9:.1f} GFLOPS, "
            f"product {product / 1e9:.1f} GFLOPS, ratio {update / product:.2f}"
        )


if __name__ == "__main__":
    main()
