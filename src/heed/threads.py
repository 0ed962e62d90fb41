"""Create thread pools in which each thread has its own cores.

Cores that share one small matrix product spend much of their time waiting for each other; cores that each compute
their own do not.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch


def thread_pool(n_threads: int, cores_each: int = 1) -> ThreadPoolExecutor:
    """Return a thread pool in which PyTorch uses `cores_each` cores per thread; the calling thread's number is kept."""
    before, barrier = torch.get_num_threads(), threading.Barrier(n_threads)

    def take_cores() -> None:
        torch.set_num_threads(cores_each)
        torch.get_num_threads()  # the first call fixes this thread's value

    pool = ThreadPoolExecutor(n_threads, thread_name_prefix="heed", initializer=take_cores)
    list(pool.map(lambda _: barrier.wait(), range(n_threads)))  # start all threads
    torch.set_num_threads(before)  # set_num_threads also sets the default of future threads
    return pool
