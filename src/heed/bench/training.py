"""How fast a model is trained here: target tokens a second, beside what the machine's matrix products allow."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from heed.bench.rounds import in_turns, rates
from heed.bench.text import vocabulary
from heed.config import Config
from heed.data.batch import make_batch
from heed.data.batching import BatchPlan
from heed.data.corpus import ParallelText
from heed.data.prepare import prepare
from heed.errors import DataError
from heed.model.build import model_class
from heed.training.learner import Learner
from heed.training.memory import peak_memory
from heed.training.step import train_step
from heed.training.workers import Workers

_SIZE = 1024  # of the square matrices whose product is the measure
_PRODUCTS = 8  # in a round
_EPOCH = 1_000_000  # pairs


def measure_training(
    config: Config,
    text: ParallelText,
    folder: Path,
    rounds: int,
    updates: int,
    tell: Callable[[int], None] = lambda done: None,
) -> dict[str, object]:
    """Fresh weights, trained for some updates a round; in between, products of large matrices.

    `tell` is told how many of 2 x (rounds + 1) turns are done.

    Raises:
        DataError: no pair is within the model's limit.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = vocabulary(text, config.text.vocab_size)
    store = prepare(text, tokenizer, folder / "store", processes=1)
    train, lengths = config.train, (store.source.lengths, store.target.lengths)
    plan = BatchPlan(*lengths, train.batch_tokens, train.seed, config.model.max_length)
    if not len(plan):
        raise DataError(f"{text.name}: no pair is within {config.model.max_length} pieces (model.max_length)")
    batches = [plan.batch(*divmod(i, len(plan))) for i in range(updates)]
    portions = [
        [make_batch(store, some, tokenizer.vocabulary) for some in plan.micro_batches(batch, train.micro_batch_tokens)]
        for batch in batches
    ]
    n_tokens = [sum(portion.n_tokens for portion in update) for update in portions]
    learner = Learner(config, tokenizer.vocabulary, Workers(0, 1, device))
    learner.model.train()
    number = 0

    def train_round() -> None:
        nonlocal number
        for update, tokens in zip(portions, n_tokens, strict=True):
            number += 1
            train_step(learner, update, tokens, number)
        _wait_for(device)

    left, right = (torch.randn(_SIZE, _SIZE, device=device, dtype=_kind(config)) for _ in range(2))

    def multiply() -> None:
        for _ in range(_PRODUCTS):
            torch.mm(left, right)
        _wait_for(device)

    seconds = in_turns({"training": train_round, "products": multiply}, rounds, tell)
    tokens = rates(sum(n_tokens), seconds["training"])
    pairs = np.concatenate(batches)
    sources, targets = (np.asarray(side.lengths, dtype=np.int64)[pairs] for side in (store.source, store.target))
    work = model_class(config.model).update_operations(config.model, tokenizer.vocabulary, sources, targets)
    reached = rates(work, seconds["training"])
    peak = rates(_PRODUCTS * 2 * _SIZE**3, seconds["products"])
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
        "operations_a_round": work,
        "product_operations_per_second": peak["best"],
        "share_of_products": reached["best"] / peak["best"],
        "peak_memory_bytes": peak_memory(device),
        "target_tokens_a_pair": tokens_a_pair,
        "epoch_pairs": _EPOCH,
        "epoch_seconds": _EPOCH * tokens_a_pair / tokens["best"],
    }


def _kind(config: Config) -> torch.dtype:
    kinds = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    return kinds[config.train.precision]


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
