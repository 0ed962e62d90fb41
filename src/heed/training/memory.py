"""Predict the memory that a training needs, and find out how much is free."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from heed.config import Config
from heed.errors import ConfigError
from heed.model.build import model_class
from heed.training import head_diversity
from heed.training.loss import LOGIT_ROWS
from heed.training.precision import has_own_products
from heed.training.workers import Workers
from heed.vocabulary import Vocabulary
from heed.wording import gigabytes

# Measured against `kept_floats` (bench/results/2026-11-16-memory.md).
_ACTIVATION_FACTOR = 1.35  # activations, their gradients in the backward pass, and fragmentation
_LIBRARY_BYTES = 40 << 20  # buffers of the libraries
LONG_SENTENCE = 64  # tokens: the attention weights that are kept grow with the length, and few sentences are longer
_MAX_FREE_SHARE = 0.9  # of the free memory may be used


def check_model_fits(config: Config, vocabulary: Vocabulary, workers: Workers) -> None:
    """Refuse a model whose weights, gradients and Adam moments alone exceed the free memory.

    Raises:
        ConfigError: with the memory that the model needs.
    """
    n_parameters = model_class(config.model).count_parameters(config.model, vocabulary)
    share = n_parameters // workers.size if config.train.sharded else n_parameters
    needed, free = _bytes_of_weights(config, share), free_memory(workers.device)
    if free is not None and needed * workers.n_here > free:
        raise ConfigError(
            f"a model of {n_parameters / 1e6:,.0f} M parameters needs at least {gigabytes(needed)} to train, plus its "
            f"batches, but only {gigabytes(free)} are free; lower model.d_model, model.d_ff, the number of layers or "
            "text.vocab_size, or use a smaller preset"
        )


def _bytes_of_weights(config: Config, n_parameters: int) -> int:
    """Return the bytes of weights, Adam's two moments, and a gradient per lane."""
    return (3 + max(1, config.train.lanes)) * 4 * n_parameters


def predicted_peak(
    config: Config, n_parameters: int, vocabulary: Vocabulary, processes: int, at_start: int, width: int = 4
) -> int:
    """Predict the peak memory of this process in bytes.

    `at_start` is what it uses now, with weights but neither gradients nor moments. `width` is that of an activation.
    """
    logits = vocabulary.size * min(LOGIT_ROWS, _positions(config, processes))
    share = n_parameters // processes if config.train.sharded else n_parameters
    floats = model_class(config.model).kept_floats(config.model, LONG_SENTENCE)
    floats += head_diversity.kept_floats(config.model) if config.train.head_diversity else 0
    kept = width * floats * _positions(config, processes)
    views, logit_buffers = (2, 8) if config.train.consistency else (1, 3)
    to_come = _bytes_of_weights(config, share) - 4 * share  # the weights are already allocated
    activations = int(_ACTIVATION_FACTOR * views * kept)
    return at_start + to_come + activations + logit_buffers * 4 * logits + _LIBRARY_BYTES


def fit_micro_batches(
    config: Config,
    n_parameters: int,
    vocabulary: Vocabulary,
    processes: int,
    at_start: int,
    width: int = 4,
    *,
    free: int,
) -> Config:
    """Return the config, with smaller micro-batches if its own would not fit into the free memory."""
    smallest = config.model.max_length + 1
    while (
        predicted_peak(config, n_parameters, vocabulary, processes, at_start, width) - at_start > _MAX_FREE_SHARE * free
        and _positions(config, processes) > smallest
    ):
        halved = max(smallest, _positions(config, processes) // 2)
        config = replace(config, train=replace(config.train, micro_batch_tokens=halved))
    return config


@dataclass(frozen=True)
class MemoryPlan:
    """Hold a config whose micro-batches fit into memory in every process, and what this process will need."""

    config: Config
    peak: int  # bytes
    free: int | None  # bytes; None if unknown


def plan_memory(config: Config, n_parameters: int, vocabulary: Vocabulary, workers: Workers) -> MemoryPlan:
    """Predict a training's peak memory, and make its micro-batches smaller if that exceeds the free memory.

    All processes must call this together.
    """
    now, free = used_memory(workers.device), free_memory(workers.device)
    free_here = sys.maxsize if free is None else free // workers.n_here
    # heed's own products in bfloat16 leave activations in 32 bits; PyTorch's do not.
    precision, compiled = config.train.precision, config.train.compile
    width = 4 if precision == "float32" or has_own_products(precision, workers.device, compiled) else 2
    sizes = n_parameters, vocabulary, workers.size, now, width
    fitted = fit_micro_batches(config, *sizes, free=free_here)
    smallest = min(workers.gather(fitted.train.micro_batch_tokens))
    config = replace(config, train=replace(config.train, micro_batch_tokens=smallest))
    return MemoryPlan(config, predicted_peak(config, *sizes), free)


def used_memory(device: torch.device) -> int:
    """Return the bytes of memory that this process uses."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    return _proc_bytes("/proc/self/status", "VmRSS") or 0


def peak_memory(device: torch.device) -> int:
    """Return the most bytes of memory that this process has used so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return _proc_bytes("/proc/self/status", "VmHWM") or 0


def free_memory(device: torch.device) -> int | None:
    """Return the bytes that can be allocated without swapping; None if unknown."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    found = [_proc_bytes("/proc/meminfo", "MemAvailable"), _cgroup_free(), _limit_free()]
    return min((free for free in found if free is not None), default=None)


def _positions(config: Config, processes: int) -> int:
    """Return the most positions that a process computes at a time."""
    return min(config.train.micro_batch_tokens, -(-config.train.batch_tokens // processes))


def _cgroup_free() -> int | None:
    """Return the bytes that a container or a Slurm job may still allocate."""
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            return int(Path(folder, limit).read_text()) - int(Path(folder, used).read_text())
        except (OSError, ValueError):  # no such cgroup, or "max": no limit
            continue
    return None


def _limit_free() -> int | None:
    """Return the bytes that `ulimit -v` leaves."""
    used = _proc_bytes("/proc/self/status", "VmSize")
    if used is None:
        return None
    import resource  # not on Windows, where there is no /proc either

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else max(0, limit - used)


def _proc_bytes(path: str, key: str) -> int | None:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:")), None)
