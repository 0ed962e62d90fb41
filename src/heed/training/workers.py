"""Connect the processes that train one model together, as `torchrun` starts them. Usually there is one.

All processes make the same decisions from the same numbers. What only one can know (a signal, a file on its disk) is
sent to the others here. Every exchange is a collective operation: all processes must take part.
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

# The first process may take hours to prepare a large corpus while the others wait.
_SLOW_TIMEOUT = timedelta(days=7)
_GLOO_RELEASE_SECONDS = 0.2
_STORE_SECONDS = 5.0  # to reach torchrun's store, which is up before any process is
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Workers:
    """Describe this process: number `rank` of `size`. Rank 0 is the leader, the only process that writes files."""

    rank: int
    size: int
    device: torch.device
    n_here: int = 1  # processes on this machine
    slow_group: dist.ProcessGroup | None = None

    @property
    def leads(self) -> bool:
        """Return whether this is the first process."""
        return self.rank == 0

    def share(self, items: T) -> T:
        """Return this process's share of a sequence: every `size`-th item."""
        return items[self.rank :: self.size]  # type: ignore[index, no-any-return]

    def sum(self, *values: float) -> list[float]:
        """Return the sums over all processes."""
        return self._reduce(values, dist.ReduceOp.SUM)

    def any(self, *flags: bool) -> list[bool]:
        """Return which of these flags are true in at least one process."""
        return [value > 0 for value in self._reduce([float(flag) for flag in flags], dist.ReduceOp.MAX)]

    def from_leader(self, value: T) -> T:
        """Return the first process's value in all processes."""
        if self.size == 1:
            return value
        holder = [value]
        dist.broadcast_object_list(holder, device=torch.device("cpu"))
        return holder[0]

    def gather(self, value: T) -> list[T]:
        """Return the values of all processes, in all of them."""
        if self.size == 1:
            return [value]
        gathered: list[T | None] = [None] * self.size
        dist.all_gather_object(gathered, value, self.slow_group)  # which has a long timeout
        return gathered  # type: ignore[return-value]

    @contextmanager
    def failing_together(self) -> Iterator[None]:
        """Raise an error in all processes if the block raises one in any; wait for all of them at the end.

        Needed wherever only some processes can fail, such as writing: the others would wait for them for ever.
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
            f"process {rank} on {host}: {message} (all processes must see the run folder and the texts: with several "
            "machines, put them on a shared file system)"
        )

    def _reduce(self, values: tuple[float, ...] | list[float], how: "dist.ReduceOp.RedOpType") -> list[float]:
        if self.size == 1:
            return list(values)
        reduced = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(reduced, how)
        return reduced.tolist()


@contextmanager
def all_workers() -> Iterator[Workers]:
    """Connect to the other processes if `torchrun` started several."""
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
            _connect(rank, size, n_here, "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
            slow_group = dist.new_group(timeout=_SLOW_TIMEOUT, backend="gloo")
        yield Workers(rank, size, device, n_here, slow_group)
    except RuntimeError as error:  # gloo has no error class of its own
        if not (isinstance(error, dist.DistError) or "gloo" in str(error)):
            raise
        raise TrainingError(
            f"process {rank} of {size} lost the connection to the others: {_peer_words(error)}. If none of them "
            "reports an error, one was killed: resume the run, or let torchrun do that with --max-restarts"
        ) from error
    finally:
        if dist.is_initialized():
            # Avoid a deadlock: a gloo thread may still need the GIL to release the tensors of the last reduction, while
            # destroy_process_group holds the GIL and waits for that thread.
            time.sleep(_GLOO_RELEASE_SECONDS)
            dist.destroy_process_group()


@contextmanager
def _ending_with_parent(rank: int, size: int) -> Iterator[None]:
    """Kill this process if its parent dies within the block: it would wait for the other processes for ever.

    It waits inside PyTorch, where neither signal handlers nor exceptions can reach it; hence SIGKILL.
    """
    parent, met = os.getppid(), threading.Event()

    def watch() -> None:
        while not met.wait(_POLL_SECONDS):
            if os.getppid() != parent:
                with suppress(OSError):
                    print(
                        f"process {rank} of {size}: torchrun (process {parent}) is gone, so this process cannot "
                        "connect to the others; start again",
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
    """Check that torchrun's store answers; PyTorch itself would wait for half an hour.

    Raises:
        TrainingError: it does not, so torchrun has ended.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":  # the first process hosts the store
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
                    f"torchrun does not answer at {address[0]}:{address[1]} ({error.strerror or error}): it ended "
                    "before its processes were connected; start it again"
                ) from None
            time.sleep(_POLL_SECONDS)


def _connect(rank: int, size: int, n_here: int, backend: str) -> None:
    if n_here < size:
        dist.init_process_group(backend)
        return
    # torchrun keeps its store from one attempt to the next, with entries of dead processes (pytorch#135712), so each
    # attempt gets its own prefix. Hosts count attempts separately: with several, torchrun needs a setting instead
    # (docs/cluster.md).
    store, _, _ = next(dist.rendezvous("env://", rank, size))  # type: ignore[attr-defined]
    attempt = dist.PrefixStore(f"attempt-{_restarts()}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=attempt, rank=rank, world_size=size)


def _peer_words(error: RuntimeError) -> str:
    """Return the gist of gloo's page-long error message."""
    text = str(error)
    found = next((words for words in ("Connection closed by peer", "Connection reset by peer") if words in text), None)
    return found or text.splitlines()[0]


def is_restart() -> bool:
    """Return whether `torchrun --max-restarts` restarted this command on this host after losing a process."""
    return _restarts() > 0


def _restarts() -> int:
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
