"""One thread that computes: of the requests with one key, the newest wins."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

_MAX_WAITING = 64  # requests of different keys, so of as many browser tabs
_CLOSE_SECONDS = 5.0


class StaleError(Exception):
    """A newer request with the same key has taken the place of this one, or the worker has closed."""


class BusyError(Exception):
    """Too many requests are waiting."""


class _Job:
    def __init__(self, compute: Callable[[Callable[[], bool]], Any]) -> None:
        self.compute = compute
        self.future: Future[Any] = Future()
        self.is_stale = False


class Worker:
    """A thread with a queue. Requests come first; background jobs run while there is none."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._asked: dict[str, _Job] = {}
        self._background: dict[str, _Job] = {}
        self._running: tuple[str, _Job] | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="heed lab", daemon=True)
        self._thread.start()

    def ask(self, key: str, compute: Callable[[Callable[[], bool]], Any]) -> "Future[Any]":
        """Compute something in place of what was asked with the same key before.

        `compute` is called with a function that returns whether a newer request has come: it may then give up.

        Raises:
            BusyError: too many requests are waiting.
        """
        with self._condition:
            job = _Job(compute)
            if (older := self._asked.pop(key, None)) is not None:
                _drop(older)
            if self._running is not None and self._running[0] == key:
                self._running[1].is_stale = True
            if self._is_closed or len(self._asked) >= _MAX_WAITING:
                raise BusyError
            self._asked[key] = job
            self._condition.notify()
            return job.future

    def later(self, key: str, compute: Callable[[Callable[[], bool]], Any]) -> None:
        """Compute something when there is nothing else to do, unless the same key is waiting for that already."""
        with self._condition:
            is_running = self._running is not None and self._running[0] == key
            if not (self._is_closed or is_running or key in self._background):
                self._background[key] = _Job(compute)
                self._condition.notify()

    def close(self) -> None:
        """Drop what is waiting, and wait for what is running to give up."""
        with self._condition:
            self._is_closed = True
            for job in (*self._asked.values(), *self._background.values()):
                _drop(job)
            self._asked.clear()
            self._background.clear()
            if self._running is not None:
                self._running[1].is_stale = True
            self._condition.notify()
        self._thread.join(_CLOSE_SECONDS)

    def _next(self) -> tuple[str, _Job] | None:
        with self._condition:
            self._running = None
            while not (self._asked or self._background or self._is_closed):
                self._condition.wait()
            queue = self._asked or self._background
            if self._is_closed or not queue:
                return None
            key = next(iter(queue))
            self._running = key, queue.pop(key)
            return self._running

    def _run(self) -> None:
        while (following := self._next()) is not None:
            job = following[1]
            if not job.future.set_running_or_notify_cancel():  # no one waits for it any more
                continue
            try:
                result = job.compute(lambda job=job: job.is_stale)  # type: ignore[misc]
            except BaseException as error:
                job.future.set_exception(StaleError() if job.is_stale else error)
            else:
                job.future.set_result(result)


def _drop(job: _Job) -> None:
    job.is_stale = True
    if job.future.set_running_or_notify_cancel():
        job.future.set_exception(StaleError())
