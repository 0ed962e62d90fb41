"""Several batches at once, each on a core of its own.

The steps of a search are many and small. All cores together on one of them spend much of their time waiting for each
other, and the more so if another program wants a core, too.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


def n_lanes(device: torch.device) -> int:
    """How many batches to work on at once."""
    return torch.get_num_threads() if device.type == "cpu" else 1


def side_by_side(
    work: Callable[[T], R],
    items: Sequence[T],
    lanes: int,
    small_steps: bool,
    on_result: Callable[[R], None] = lambda result: None,
) -> list[R]:
    """`work` of each item, in the order of the items. PyTorch's kernels let other threads run Python.

    A lone item gets all cores, unless its steps are too small for that. `on_result` is called with each result in
    turn, in the calling thread.
    """

    def collected(results: Iterable[R]) -> list[R]:
        kept = []
        for result in results:
            on_result(result)
            kept.append(result)
        return kept

    if lanes == 1 or not items or (len(items) == 1 and not small_steps):
        return collected(map(work, items))
    threads = torch.get_num_threads()

    @torch.inference_mode()
    def alone(item: T) -> R:
        torch.set_num_threads(1)  # of this thread
        return work(item)

    try:
        if len(items) == 1:
            return collected(map(alone, items))
        with ThreadPoolExecutor(min(lanes, len(items)), thread_name_prefix="heed-lane") as pool:
            return collected(pool.map(alone, items))
    finally:
        torch.set_num_threads(threads)  # the number is also that of threads to come
