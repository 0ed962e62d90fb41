"""Batches of a search side by side, on a core each: the steps of a search are many and small."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from heed.threads import thread_pool

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
            _pools[key] = thread_pool(n_threads)
        return _pools[key]
