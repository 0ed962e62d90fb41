"""Search several batches in parallel, one core each: cores that share the steps of a search wait for each other.

A single batch has all cores to itself: only then is it worth it to share them.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

_CGROUP = Path("/sys/fs/cgroup")

_lock = threading.Lock()
# By how they are made, their size, and the process id, since threads do not survive a fork.
_pools: dict[tuple["MakePool", int, int], "ThreadPoolExecutor"] = {}
MakePool = Callable[[int], "ThreadPoolExecutor"]


def map_batches(
    work: Callable[[T], R], batches: Sequence[T], n_threads: int, make_pool: MakePool, all_cores_if_single: bool
) -> Iterator[R]:
    """Return an iterator over `work(batch)` in order, each computed by one thread of a shared pool.

    `all_cores_if_single`: a single batch is computed by this thread, with all cores.
    """
    if n_threads == 1 or not batches or (all_cores_if_single and len(batches) == 1):
        return map(work, batches)
    return _pool(n_threads, make_pool).map(work, batches)


def _pool(n_threads: int, make_pool: MakePool) -> "ThreadPoolExecutor":
    """Return this process's pool of `n_threads` threads, created when first needed."""
    with _lock:
        key = make_pool, n_threads, os.getpid()
        if key not in _pools:
            _pools[key] = make_pool(n_threads)
        return _pools[key]


def available_threads(cgroup: Path = _CGROUP) -> int:
    """Return OMP_NUM_THREADS, which torch obeys, too; otherwise the number of cores this process may use.

    It may use no more than its container has time for: threads that wait awake would use up that time.
    """
    setting = os.environ.get("OMP_NUM_THREADS", "")
    if setting.isdecimal() and int(setting):
        return int(setting)
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_cores, _quota(cgroup) or n_cores)


@lru_cache
def _quota(cgroup: Path) -> int | None:
    """Return how many cores the container's quota of processor time is worth, rounded up; None: there is no quota."""
    for names in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):  # version 2 of cgroups, and 1
        try:
            quota, period = (int(number) for name in names for number in (cgroup / name).read_text("ascii").split())
        except (OSError, ValueError):  # no such file, or "max"
            continue
        if quota > 0 and period > 0:
            return -(-quota // period)
    return None
