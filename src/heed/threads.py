"""Thread pools in which each thread has its own cores.

If all cores share one small matrix product after another, they spend much of the time waiting for each other. If each
computes its own, they do not.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch


def thread_pool(n_threads: int, cores_each: int = 1) -> ThreadPoolExecutor:
    """Return a pool in which PyTorch uses `cores_each` cores per thread; the calling thread keeps its setting."""
    previous, barrier = torch.get_num_threads(), threading.Barrier(n_threads)

    def take_cores() -> None:
        torch.set_num_threads(cores_each)
        torch.get_num_threads()  # the first call fixes this thread's value

    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="heed", initializer=take_cores)
    list(pool.map(lambda _: barrier.wait(), range(n_threads)))  # start all threads now
    torch.set_num_threads(previous)  # new threads inherit the last value set
    return pool
