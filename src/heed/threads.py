"""Threads with a core each, for computations side by side.

All cores together on one small product after the other spend much of their time waiting for each other; on a product
each, they do not.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch


def thread_pool(n_threads: int, cores_each: int = 1) -> ThreadPoolExecutor:
    """Return a pool of threads in which PyTorch uses so many cores each; that of the calling thread stays as it is."""
    before, barrier = torch.get_num_threads(), threading.Barrier(n_threads)

    def take_cores() -> None:
        torch.set_num_threads(cores_each)
        torch.get_num_threads()  # the first call fixes this thread's value

    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="heed", initializer=take_cores)
    list(pool.map(lambda _: barrier.wait(), range(n_threads)))  # all threads are there
    torch.set_num_threads(before)  # the value is also that of threads to come
    return pool
