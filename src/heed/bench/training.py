"""Measure how fast a model trains: target tokens per second, compared with the machine's matrix products."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from heed.bench.rounds import in_turns, rates
from heed.bench.text import learned_tokenizer
from heed.config import Config
from heed.data.batch import make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.errors import DataError
from heed.kernels import bf16
from heed.model.build import model_class
from heed.threads import thread_pool
from heed.training.learner import Learner
from heed.training.memory import peak_memory
from heed.training.precision import has_own_products, products_by
from heed.training.step import train_step
from heed.training.workers import Workers

_MATRIX_SIZE = 1024  # of the square matrices to compare with
_PRODUCTS_PER_ROUND = 8
_EPOCH_PAIRS = 1_000_000


def measure_training(
    config: Config,
    text: ParallelText,
    folder: Path,
    rounds: int,
    updates: int,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, object]:
    """Time updates of a new model against products of large matrices.

    `progress` is called with the number of turns done, of 2 x (rounds + 1).

    Raises:
        DataError: no pair is within the model's limit.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = learned_tokenizer(text, config.text.vocab_size)
    store = prepare(text, tokenizer, folder / "store", processes=1)
    train, lengths = config.train, (store.source.lengths, store.target.lengths)
    plan = BatchPlan(*lengths, train.batch_tokens, train.seed, config.model.max_length)
    if not len(plan):
        raise DataError(
            f"{text.name}: no pair is within {config.model.max_length} pieces (model.max_length); raise it, or give "
            "shorter text"
        )
    batches = [plan.batch(*plan.locate(i)) for i in range(updates)]
    micro_batches = [
        [
            make_batch(store, pairs, tokenizer.vocabulary)
            for pairs in plan.micro_batches(batch, train.micro_batch_tokens)
        ]
        for batch in batches
    ]
    n_tokens = [sum(micro_batch.n_tokens for micro_batch in update) for update in micro_batches]
    learner = Learner(config, tokenizer.vocabulary, Workers(0, 1, device))
    learner.model.train()
    number = 0

    def train_round() -> None:
        nonlocal number
        for update, tokens in zip(micro_batches, n_tokens, strict=True):
            number += 1
            train_step(learner, update, tokens, number)
        _synchronize(device)

    product = _product(train.precision, device, train.compile)

    def multiply() -> None:
        for _ in range(_PRODUCTS_PER_ROUND):
            product()
        _synchronize(device)

    seconds = in_turns({"training": train_round, "products": multiply}, rounds, progress)
    tokens = rates(sum(n_tokens), seconds["training"])
    pairs = np.concatenate(batches)
    sources, targets = (np.asarray(side.lengths, dtype=np.int64)[pairs] for side in (store.source, store.target))
    operations = model_class(config.model).update_operations(config.model, tokenizer.vocabulary, sources, targets)
    reached = rates(operations, seconds["training"])
    peak = rates(_PRODUCTS_PER_ROUND * 2 * _MATRIX_SIZE**3, seconds["products"])
    tokens_a_pair = sum(n_tokens) / sum(map(len, batches))
    return {
        "preset": config.preset,
        "parameters": model_class(config.model).count_parameters(config.model, tokenizer.vocabulary),
        "vocabulary": len(tokenizer),
        "batch_tokens": train.batch_tokens,
        "precision": train.precision,
        "device": str(device),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "rounds": rounds,
        "updates_a_round": updates,
        "tokens_a_round": sum(n_tokens),
        "seconds": seconds["training"],
        "target_tokens_per_second": tokens,
        "operations_a_round": operations,
        "products_by": products_by(train.precision, device, train.compile),
        "product_operations_per_second": peak["best"],
        "share_of_products": reached["best"] / peak["best"],
        "peak_memory_bytes": peak_memory(device),
        "target_tokens_a_pair": tokens_a_pair,
        "epoch_pairs": _EPOCH_PAIRS,
        "epoch_seconds": _EPOCH_PAIRS * tokens_a_pair / tokens["best"],
    }


def _product(precision: str, device: torch.device, compiled: bool) -> Callable[[], object]:
    """Return a function that multiplies two large matrices on all cores, with the products of training."""
    left, right = (torch.randn(_MATRIX_SIZE, _MATRIX_SIZE, device=device) for _ in range(2))
    if has_own_products(precision, device, compiled):
        packed, cores = bf16.pack(right), torch.get_num_threads()
        pool, shares = thread_pool(cores), left.chunk(cores)
        return lambda: list(pool.map(lambda share: bf16.multiply(share, packed), shares))
    dtypes = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    left, right = left.to(dtypes[precision]), right.to(dtypes[precision])
    return lambda: torch.mm(left, right)


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
