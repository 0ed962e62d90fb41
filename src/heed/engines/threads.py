"""Worker threads with one core each, for many small computations side by side.

The steps of a search are many and small. All cores together on one of them spend much of their time waiting for each
other, and the more so if another program wants a core, too.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

_lock = threading.Lock()
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process, since threads do not survive a fork, and size


def map_batches(work: Callable[[T], R], batches: Sequence[T], n_threads: int, alone: bool) -> Iterator[R]:
    """Return an iterator over `work` of each batch, in their order, each computed by one thread of a shared pool.

    `alone`: a lone batch gets all cores instead.
    """
    if n_threads == 1 or not batches or (alone and len(batches) == 1):
        return map(work, batches)
    return _pool(n_threads).map(work, batches)


def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return the pool of so many threads, made when first needed."""
    with _lock:
        key = os.getpid(), n_threads
        if key not in _pools:
            _pools[key] = single_core_pool(n_threads)
        return _pools[key]


def single_core_pool(n_threads: int, cores_each: int = 1) -> ThreadPoolExecutor:
    """Return a pool of threads in which PyTorch uses so many cores each; that of the calling thread stays as it is."""
    before, barrier = torch.get_num_threads(), threading.Barrier(n_threads)

    def take_cores() -> None:
        torch.set_num_threads(cores_each)
        torch.get_num_threads()  # the first call fixes this thread's value

    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="heed", initializer=take_cores)
    list(pool.map(lambda _: barrier.wait(), range(n_threads)))  # all threads are there
    torch.set_num_threads(before)  # the value is also that of threads to come
    return pool
