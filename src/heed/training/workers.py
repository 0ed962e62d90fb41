"""The processes that train one model together, as `torchrun` starts them. Mostly there is one.

Every process makes the same decisions from the same numbers; what only one can know (a signal it got, a file on its
disk) is told to the others here, and each message is a meeting point all processes must come to.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist

from heed.errors import HeedError, TrainingError

T = TypeVar("T")

# Preparing a large corpus takes the first process hours, while the others wait.
_PATIENCE = timedelta(days=7)
_LET_GO = 0.2  # seconds for threads to end what they are at
_STORE_SECONDS = 5.0  # to reach torchrun's address book, which is there before any process is
_PARENT_CHECK_SECONDS = 0.5


@dataclass(frozen=True)
class Workers:
    """This process among all: number `rank` of `size`, the first being the one that writes."""

    rank: int
    size: int
    device: torch.device
    n_here: int = 1  # of the processes, on this machine
    waiting_room: dist.ProcessGroup | None = None

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, items: T) -> T:
        """This process's share of a sequence: every `size`-th item."""
        return items[self.rank :: self.size]  # type: ignore[index, no-any-return]

    def sum(self, *values: float) -> list[float]:
        """The sums over all processes."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def any(self, *flags: bool) -> list[bool]:
        """Which of these are true in at least one process."""
        return [value > 0 for value in self._reduce([float(flag) for flag in flags], dist.ReduceOp.MAX)]

    def from_leader(self, value: T) -> T:
        """What the first process has."""
        if self.size == 1:
            return value
        holder = [value]
        dist.broadcast_object_list(holder, device=torch.device("cpu"))
        return holder[0]

    def gather(self, value: T) -> list[T]:
        """What each process has."""
        if self.size == 1:
            return [value]
        gathered: list[T | None] = [None] * self.size
        dist.all_gather_object(gathered, value, self.waiting_room)  # some may be long in coming
        return gathered  # type: ignore[return-value]

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """What goes wrong in one process within, goes wrong in all of them, by name. Nobody leaves before all are done.

        For what only some do, such as writing: those who wait for one that has gone might wait for ever.
        """
        if self.size == 1:
            yield
            return
        fault: HeedError | OSError | None = None
        try:
            yield
        except (HeedError, OSError) as error:
            fault = error
        faults = self.gather(None if fault is None else (socket.gethostname(), str(fault)))
        first = next((one for one in enumerate(faults) if one[1] is not None), None)
        if first is None:
            return
        rank, (host, message) = first  # type: ignore[misc]
        if fault is not None and rank == 0:
            raise fault
        raise TrainingError(
            f"process {rank} on {host}: {message} (all processes must see run folder and texts: on many machines, "
            "put them on a file system they share)"
        )

    def _reduce(self, values: tuple[float, ...] | list[float], how: "dist.ReduceOp.RedOpType") -> list[float]:
        if self.size == 1:
            return list(values)
        reduced = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(reduced, how)
        return reduced.tolist()


@contextmanager
def all_workers() -> Iterator[Workers]:
    """Meet the other processes `torchrun` started, if it did."""
    size, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    if size == 1:
        yield Workers(0, 1, device)
        return
    n_here = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    try:
        with _ending_with_parent(rank, size):
            _check_torchrun_lives()
            _meet(rank, size, n_here, "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
            waiting_room = dist.new_group(timeout=_PATIENCE, backend="gloo")
        yield Workers(rank, size, device, n_here, waiting_room)
    except RuntimeError as error:  # gloo has no kind of error of its own
        if not (isinstance(error, dist.DistError) or "gloo" in str(error)):
            raise
        raise TrainingError(
            f"process {rank} of {size} has lost the others: {_peer_words(error)}. If none of them "
            "says why, it was killed; resume, or let torchrun do it with --max-restarts"
        ) from error
    finally:
        if dist.is_initialized():
            # A thread of gloo's may still hold the tensors of the last sum, and needs Python's lock to let go of them.
            # Whoever frees the group meanwhile has that lock, and waits for the thread: both for ever.
            time.sleep(_LET_GO)
            dist.destroy_process_group()


@contextmanager
def _ending_with_parent(rank: int, size: int) -> Iterator[None]:
    """Within, end this process when the one that started it is gone: the others would never come, and it would wait.

    It waits inside PyTorch, where no signal handler and no exception reach it: hence the kill.
    """
    parent, met = os.getppid(), threading.Event()

    def watch() -> None:
        while not met.wait(_PARENT_CHECK_SECONDS):
            if os.getppid() != parent:
                with suppress(OSError):
                    print(
                        f"process {rank} of {size}: torchrun (process {parent}) is gone, so the others cannot be met; "
                        "start again",
                        file=sys.stderr,
                        flush=True,
                    )
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        met.set()
        thread.join()


def _check_torchrun_lives() -> None:
    """Refuse to wait half an hour, as PyTorch does, for the address book of a torchrun that has ended.

    Raises:
        TrainingError: nobody keeps it.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":  # one of the processes keeps it, once it is there
        return
    address = os.environ.get("MASTER_ADDR", ""), int(os.environ.get("MASTER_PORT", 0))
    deadline = time.monotonic() + _STORE_SECONDS
    while True:
        try:
            socket.create_connection(address, timeout=_STORE_SECONDS).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise TrainingError(
                    f"torchrun does not answer at {address[0]}:{address[1]} ({error.strerror or error}): it has ended "
                    "before its processes had met; start it again"
                ) from None
            time.sleep(_PARENT_CHECK_SECONDS)


def _meet(rank: int, size: int, n_here: int, backend: str) -> None:
    if n_here < size:
        dist.init_process_group(backend)
        return
    # torchrun keeps its address book from one attempt to the next, with those in it that are dead by now
    # (pytorch#135712), so each attempt gets pages of its own. Hosts count attempts each for itself: for several, there
    # is a setting of torchrun's (docs/cluster.md).
    store, _, _ = next(dist.rendezvous("env://", rank, size))  # type: ignore[attr-defined]
    attempt = dist.PrefixStore(f"attempt-{_restarts()}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=attempt, rank=rank, world_size=size)


def _peer_words(error: RuntimeError) -> str:
    """Of a page about transports and their sources, what happened."""
    text = str(error)
    found = next((words for words in ("Connection closed by peer", "Connection reset by peer") if words in text), None)
    return found or text.splitlines()[0]


def is_restart() -> bool:
    """Has `torchrun --max-restarts` started this command again on this host, after a process was lost?"""
    return _restarts() > 0


def _restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
